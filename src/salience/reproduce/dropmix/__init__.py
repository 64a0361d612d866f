"""DropMix: its analysis of channels."""
