"""Runs side by side: methods, models and settings over seeds, and what their differences mean."""
