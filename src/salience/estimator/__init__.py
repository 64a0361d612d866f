"""A scikit-learn estimator."""

from salience.estimator.classifier import SalienceClassifier

__all__ = ["SalienceClassifier"]
