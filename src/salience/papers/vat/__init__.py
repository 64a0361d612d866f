"""Zhou et al., "Attending via both Fine-tuning and Compressing" (VAT, Findings of ACL 2021)."""

from __future__ import annotations
