"""Objectives, the trainer, recipes and runs."""

from salience.training.objectives import mixed, plain
from salience.training.trainer import MixTrainer

__all__ = ["MixTrainer", "mixed", "plain"]
