"""Lewy and Mańdziuk, AttentionMix (2023)."""
