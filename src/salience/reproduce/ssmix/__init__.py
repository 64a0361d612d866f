"""Yoon et al., "SSMix" (Findings of ACL-IJCNLP 2021, arXiv:2106.08062): its tables."""
