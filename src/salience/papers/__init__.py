"""The papers: their models, trainings, analyses and tables. Nothing else stands on this package."""
