"""The scikit-learn face of the library: fit on texts, predict labels, search and cross-validate like any estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from salience.data.encoding import encode_texts
from salience.errors import InputError, unknown
from salience.estimator.fitting import recipe_of, seed_from, train
from salience.estimator.inputs import as_labels, as_texts, class_names, classes_of
from salience.estimator.saving import (
    loaded_classes,
    read_settings,
    save_folder,
    stored_classes,
    stored_parameters,
)
from salience.inference.probabilities import predict_probabilities
from salience.models.loading import load_trained, longest_text


class SalienceClassifier(ClassifierMixin, BaseEstimator):
    """A text classifier trained with a mixing method.

    Args:
        method: "plain", or a name of `salience.METHODS`.
        model: "minilm", a folder, a name on the hub, or an attention classifier such as "attention:dot".
        method_options: fields of the method, such as {"window": 0.2}.
        model_options: of an attention classifier, such as {"encoder": "embeddings", "scale": 10}.
        class_weights: "none", "auto", "name=weight,...", or names to weights.
        random_state: seeds the split, the fresh head, and everything drawn in training. A whole number repeats the
            run; from None, or a numpy RandomState, every `fit` draws a seed.
        others: as `salience train` names them; None follows the data.

    `fit` takes a sequence of texts, or of (text, second text), and a label each. Fitted, it has

        classes_: the labels (C,), sorted, of the type that they have in `y`.
        model_, tokenizer_: the Hugging Face model and its tokenizer.
        max_length_: how many tokens of a text are read; saved as the tokenizer's `model_max_length`.
        pairs_: whether it was fitted on pairs of texts; None if the loaded folder does not say.
        seed_: the seed of the run; `set_params(random_state=seed_)` repeats it.
    """

    def __init__(
        self,
        method: str = "ssmix",
        model: str = "minilm",
        *,
        method_options: dict[str, Any] | None = None,
        model_options: dict[str, Any] | None = None,
        clean: float = 0.5,
        alignment: float = 0.0,
        alignment_form: str = "absolute",
        iterations: int = 3,
        beta: float = 0.1,
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
        self.alignment = alignment
        self.alignment_form = alignment_form
        self.iterations = iterations
        self.beta = beta
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
        recipe = recipe_of(self.get_params(deep=False), seed)
        model, tokenizer = train(recipe, texts, pairs, numbers, class_names(classes))
        self.classes_, self.model_, self.tokenizer_ = classes, model, tokenizer
        self.max_length_, self.pairs_, self.seed_ = tokenizer.model_max_length, pairs is not None, seed
        return self

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
        return predict_probabilities(
            self.model_, encode_texts(self.tokenizer_, texts, pairs, max_length=self.max_length_)
        )

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
        model, tokenizer = load_trained(folder)
        folder = Path(folder).expanduser()
        settings = read_settings(folder)
        parameters = settings.get("parameters", {})
        for name in parameters:
            if name not in cls().get_params():
                raise unknown(f"parameter in {folder}:", name, cls().get_params())
        estimator = cls(**parameters)
        names = [model.config.id2label[number] for number in range(model.config.num_labels)]
        estimator.classes_ = loaded_classes(folder, settings, names)
        estimator.model_, estimator.tokenizer_ = model, tokenizer
        # Earlier versions stored the length with the parameters only.
        estimator.max_length_ = longest_text(model, tokenizer, parameters.get("max_length"))
        estimator.pairs_ = settings.get("pairs")
        estimator.seed_ = settings.get("seed", parameters.get("random_state"))
        return estimator
