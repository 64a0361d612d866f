"""A trained classifier at work: loading it, and labels and probabilities for texts."""

from salience.inference.classifier import TextClassifier, choose_device, load

__all__ = ["TextClassifier", "choose_device", "load"]
