"""A trained classifier at work: loading it, and labels and probabilities for texts."""

from __future__ import annotations

from salience.classify.classifier import TextClassifier, choose_device, load

__all__ = ["TextClassifier", "choose_device", "load"]
