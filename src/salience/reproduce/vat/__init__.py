"""Zhou et al., VAT (Findings of ACL 2021)."""
