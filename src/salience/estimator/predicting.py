"""What a fitted estimator predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.errors import InputError
from salience.estimator.inputs import as_texts
from salience.estimator.targets import SeveralLabelsEach, Targets
from salience.inference import TextClassifier


class Predicting:
    """An estimator that has been fitted.

    Attributes:
        targets_: whether it predicts one label for each text, or several, and which.
        classifier_: the trained classifier.
        pairs_: whether it was fitted on pairs of texts; None if that is not known.
    """

    targets_: Targets
    classifier_: TextClassifier
    pairs_: bool | None

    @property
    def classes_(self) -> np.ndarray:
        """The labels (C,), in the order of the probabilities."""
        return self.targets_.classes

    @property
    def multilabel_(self) -> bool:
        """Whether a text can have several labels."""
        return isinstance(self.targets_, SeveralLabelsEach)

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
        """The probabilities of the labels (N, C), in the order of `classes_`.

        With one label for each text they sum to 1. With several, each label has a probability by itself.

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
        """The most probable class of each text (N,); with several labels a matrix (N, C) of 0 and 1.

        A label is 1 where its probability reaches its threshold in the model: 0.5, or its own one, which an estimate
        may have found. Errors as in `predict_proba`.
        """
        probabilities = self.predict_proba(X)
        return self.targets_.predicted(probabilities, self.classifier_)

    def score(self, X: Sequence, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; with several labels the subset accuracy, as scikit-learn has it: all labels must be right.

        Args:
            X: N texts, or N pairs of texts.
            y: N labels; of several, a matrix (N, C) of 0 and 1, or N lists of names.
            sample_weight: (N,), weights of the texts.

        Raises:
            ValueError: `y` has a label that `fit` has not seen; and as in `predict_proba`.
        """
        predicted = self.predict(X)
        return float(accuracy_score(self.targets_.known(y), predicted, sample_weight=sample_weight))
