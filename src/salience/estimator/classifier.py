"""The library as a scikit-learn estimator: fit on texts, predict labels, search and cross-validate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.errors import InputError
from salience.estimator.fitting import recipe_of, seed_from, train
from salience.estimator.inputs import as_labels, as_texts, class_names, classes_of
from salience.estimator.parameters import nested_parameters, replaced_parameters
from salience.estimator.saving import (
    loaded_classes,
    loaded_parameters,
    read_settings,
    save_folder,
    stored_classes,
    stored_parameters,
)
from salience.inference import load
from salience.models.loading import longest_text
from salience.training.procedures import Standard, Turns


class SalienceClassifier(ClassifierMixin, BaseEstimator):
    """A text classifier trained with a mixing method.

    Args:
        method: an object such as `SSMix(window=0.2)`, a name of `salience.METHODS`, such as "ssmix", or "plain", which
            trains on the texts as they are. Searches can set its fields, as `method__window`.
        model: "minilm", a folder, a name on the hub, or an attention classifier such as "attention:dot".
        method_options: settings of a method that is given by name, such as {"window": 0.2}.
        model_options: settings of an attention classifier, such as {"encoder": "embeddings", "scale": 10}.
        clean: part of the loss on the unmixed texts, from 0 to 0.99.
        procedure: settings of the training procedure that the model needs, `Turns(iterations=2)` for VAT,
            `Standard(alignment=0.1)` for other attention classifiers. None takes the defaults.
        steps: number of training steps. None follows from the data, as all None below.
        batch_size: texts in a step.
        learning_rate: highest learning rate.
        max_length: tokens read of a text.
        validation_share: part of the texts that is held out to select the best checkpoint; 0 trains on all of them.
        class_weights: "none", "auto", "name=weight,...", or a mapping from names to weights.
        label_smoothing: part of every label that is spread evenly over all classes.
        precision: "fp32", "bf16" or "fp16".
        device: "auto", "cpu" or "cuda".
        random_state: seeds the split, the fresh head, and everything drawn in training. A whole number repeats the
            run; with None, or a numpy RandomState, every `fit` draws a seed.

    Attributes:
        classes_: the labels (C,), sorted, of the type that they have in `y`.
        classifier_: the trained `salience.TextClassifier`, which `salience.explain` and `salience.evaluate` take.
        pairs_: whether it was fitted on pairs of texts; None if the loaded folder does not say.
        seed_: the seed of the run; `set_params(random_state=seed_)` repeats it.
    """

    def __init__(
        self,
        method: Any = "ssmix",
        model: str = "minilm",
        *,
        method_options: dict[str, Any] | None = None,
        model_options: dict[str, Any] | None = None,
        clean: float = 0.5,
        procedure: Standard | Turns | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        max_length: int | None = None,
        validation_share: float | None = None,
        class_weights: str | Mapping[str, float] = "none",
        label_smoothing: float = 0.0,
        precision: str = "fp32",
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.method = method
        self.model = model
        self.method_options = method_options
        self.model_options = model_options
        self.clean = clean
        self.procedure = procedure
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_length = max_length
        self.validation_share = validation_share
        self.class_weights = class_weights
        self.label_smoothing = label_smoothing
        self.precision = precision
        self.device = device
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Args:
            deep: the settings of the method and of the procedure too, as `method__window`.
        """
        parameters = super().get_params(deep=False)
        if not deep:
            return parameters
        return parameters | nested_parameters(parameters)

    def set_params(self, **parameters: Any) -> SalienceClassifier:
        """Sets parameters by name, and settings of the method and of the procedure as `method__window`.

        Raises:
            ValueError: an unknown name.
        """
        nested = {name: value for name, value in parameters.items() if "__" in name}
        super().set_params(**{name: value for name, value in parameters.items() if name not in nested})
        for name, value in replaced_parameters(super().get_params(deep=False), nested).items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Sequence, y: Sequence) -> SalienceClassifier:
        """Trains on N texts `X` with N labels `y`. A fit that fails leaves the estimator as it was.

        Raises:
            ValueError: no texts, fewer than two classes, or a setting that is at fault.
        """
        texts, pairs = as_texts(X)
        labels = as_labels(y)
        if len(labels) != len(texts):
            raise InputError(f"{len(texts)} texts, but {len(labels)} labels")
        classes, numbers = classes_of(labels)
        seed = seed_from(self.random_state)
        recipe, method = recipe_of(self.get_params(deep=False), seed)
        classifier = train(recipe, method, texts, pairs, numbers, class_names(classes))
        self.classes_, self.classifier_, self.seed_ = classes, classifier, seed
        self.pairs_: bool | None = pairs is not None
        return self

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
        """How many tokens of a text are read; saved as the tokenizer's `model_max_length`."""
        return self.classifier_.max_length

    def predict_proba(self, X: Sequence) -> np.ndarray:
        """The probability of each class (N, C), in the order of `classes_`.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: `X` is empty, or holds something else than texts.
        """
        check_is_fitted(self)
        texts, pairs = as_texts(X, allow_empty=True)
        if self.pairs_ is not None and self.pairs_ != (pairs is not None):
            given, needed = ("single texts", "pairs of texts") if self.pairs_ else ("pairs of texts", "single texts")
            raise InputError(f"X holds {given}, but the classifier was fitted on {needed}")
        return self.classifier_.predict_proba(texts if pairs is None else list(zip(texts, pairs, strict=True)), "fp32")

    def predict(self, X: Sequence) -> np.ndarray:
        """The most probable class of each text (N,). Errors as in `predict_proba`."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]

    def save(self, folder: str | Path) -> None:
        """Writes a plain Hugging Face checkpoint with the settings beside it. Nothing is pickled.

        A new folder appears in one step, or not at all. In a folder that is there, only files that an earlier `save`
        wrote are replaced; where another file has the same name, the folder is refused.

        Raises:
            NotFittedError: `fit` was not called.
            InputError: labels that are not strings, numbers or bools, a parameter that JSON cannot hold, or a folder
                with another file of the same name. Nothing has been written then.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.RandomState):
            parameters["random_state"] = self.seed_
        settings = {"parameters": stored_parameters(parameters), **stored_classes(self.classes_)}
        settings |= {"pairs": self.pairs_, "seed": self.seed_}
        save_folder(folder, self.model_, self.tokenizer_, settings)

    @classmethod
    def load(cls, folder: str | Path) -> SalienceClassifier:
        """The estimator that `save` wrote, or one around a run folder of `salience train`.

        Raises:
            InputError: there is no trained classifier, or its settings are damaged.
        """
        classifier = load(folder, device="cpu")
        folder = Path(folder).expanduser()
        settings = read_settings(folder)
        estimator = cls(**loaded_parameters(folder, settings, cls().get_params(deep=False)))
        estimator.classes_ = loaded_classes(folder, settings, classifier.labels)
        # Earlier versions stored the length with the parameters only.
        longest = longest_text(classifier.model, classifier.tokenizer, estimator.max_length)
        estimator.classifier_ = replace(classifier, max_length=longest)
        estimator.pairs_ = settings.get("pairs")
        estimator.seed_ = settings.get("seed", settings.get("parameters", {}).get("random_state"))
        return estimator
