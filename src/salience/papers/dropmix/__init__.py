"""Kong et al., "DropMix" (EMNLP 2022, doi:10.18653/v1/2022.emnlp-main.57): its tables."""
