"""Objectives, the trainer, recipes and runs. Nothing is imported here: predicting needs no trainer."""
