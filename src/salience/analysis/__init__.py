"""Analyses of what a trained model attends to in a corpus."""
