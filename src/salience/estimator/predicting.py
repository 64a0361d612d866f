"""What a fitted estimator predicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.errors import InputError
from salience.estimator.inputs import as_texts
from salience.inference import TextClassifier


class Predicting:
    """An estimator that has been fitted.

    Attributes:
        classes_: the labels (C,).
        classifier_: the trained classifier.
        pairs_: whether it was fitted on pairs of texts; None if that is not known.
    """

    classes_: np.ndarray
    classifier_: TextClassifier
    pairs_: bool | None

    @property
    def model_(self) -> PreTrainedModel:
        """The trained Hugging Face model."""
        return self.classifier_.model

    @property
    def tokenizer_(self) -> PreTrainedTokenizerBase:
        """The tokenizer of `model_`."""
        return self.classifier_.tokenizer

    @property
    def max_length_(self) -> int:
        """The number of tokens that are read of a text; saved as the tokenizer's `model_max_length`."""
        return self.classifier_.max_length

    def predict_proba(self, X: Sequence) -> np.ndarray:
        """The class probabilities (N, C), in the order of `classes_`.

        Args:
            X: N texts, or N pairs of texts, as in `fit`.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: `X` is empty, or contains values that are not texts.
        """
        check_is_fitted(self)
        texts = as_texts(X, allow_empty=True)
        if self.pairs_ is not None and self.pairs_ != (texts.second is not None):
            actual, expected = (
                ("single texts", "pairs of texts") if self.pairs_ else ("pairs of texts", "single texts")
            )
            raise InputError(f"X contains {actual}, but the classifier was fitted on {expected}: give {expected}")
        return self.classifier_.predict_proba(texts)

    def predict(self, X: Sequence) -> np.ndarray:
        """The most probable class of each text (N,). Errors as in `predict_proba`."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]
