"""The classifier inside a fitted estimator."""

from __future__ import annotations

from typing import Any

from salience.inference.classifier import TextClassifier


def classifier_of(given: Any) -> TextClassifier:
    """A classifier as it is, and that of a fitted `SalienceClassifier`, which works on texts alone too."""
    return getattr(given, "classifier_", given)
