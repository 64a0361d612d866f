"""Sun and Lu, "Understanding Attention for Text Classification" (ACL 2020, doi:10.18653/v1/2020.acl-main.312)."""
