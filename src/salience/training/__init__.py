"""Recipes, objectives, the trainer, procedures and runs. Nothing is imported here: predictions need no trainer."""
