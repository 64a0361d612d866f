"""Sun and Lu, Understanding Attention for Text Classification (ACL 2020)."""
