"""Comparisons of runs: methods and models over several seeds, and statistics of their differences."""
