"""Labels for any number of texts: columns in, columns out, in this process or by many."""

from salience.prediction.predictor import Predictor

__all__ = ["Predictor"]
