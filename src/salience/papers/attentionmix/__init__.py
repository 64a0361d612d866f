"""Lewy and Mańdziuk, "AttentionMix" (2023, arXiv:2309.11104)."""
