"""The scikit-learn face of the library: fit on texts, predict labels, search and cross-validate like any estimator."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from transformers import set_seed

from salience.data.encoding import Encoded, encode_texts
from salience.data.labels import class_weights
from salience.data.splitting import split
from salience.data.task import default_share
from salience.errors import InputError
from salience.mixing.choosing import choose_method
from salience.models.attention_models import attention_options, build_attention_classifier
from salience.models.loading import load_classifier, load_trained, longest_text
from salience.training.alignment import check_alignment
from salience.training.arguments import check_device
from salience.training.fitting import build_trainer, width_of
from salience.training.predicting import predict_probabilities
from salience.training.recipe import Recipe
from salience.training.turns import check_turns, fit_model

SETTINGS = "salience.json"
logger = logging.getLogger(__name__)


class SalienceClassifier(ClassifierMixin, BaseEstimator):
    """A text classifier trained with a mixing method.

    Args:
        method: "plain", or a name of `salience.METHODS`.
        model: "minilm", a folder, a name on the hub, or an attention classifier such as "attention:dot".
        method_options: fields of the method, such as {"window": 0.2}.
        model_options: of an attention classifier, such as {"encoder": "embeddings", "scale": 10}.
        class_weights: "none", "auto", "name=weight,...", or names to weights.
        random_state: seeds the split, the fresh head, and everything drawn in training.
        others: as `salience train` names them; None follows the data.

    `fit` takes a sequence of texts, or of (text, second text), and a label each. Fitted, it has `classes_`, `model_`
    and `tokenizer_`.
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
        random_state: int = 0,
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

    def fit(self, X: Sequence, y: Sequence) -> SalienceClassifier:
        """Trains on texts `X` with labels `y`.

        Raises:
            ValueError: no texts, fewer than two classes, or a setting that is at fault.
        """
        texts, pairs = as_texts(X)
        recipe = self.recipe()
        check_device(recipe)
        method = choose_method(self.method, self.method_options)
        options = attention_options(self.model, self.model_options or {})
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        if len(numbers) != len(texts):
            raise InputError(f"{len(texts)} texts, but {len(numbers)} labels")
        if len(self.classes_) < 2:
            raise InputError(f"one class only: {self.classes_[0]!r}; a classifier needs two")
        names = [str(name) for name in self.classes_]

        share = default_share(len(texts)) if self.validation_share is None else self.validation_share
        everything = np.arange(len(texts))
        kept, held = split([names[number] for number in numbers], share, self.random_state) if share else (
            everything, None
        )  # fmt: skip
        weights = class_weights(self.class_weights, [names[number] for number in numbers[kept]], names)
        set_seed(self.random_state)
        model, tokenizer = (
            load_classifier(self.model, names)
            if options is None
            else build_attention_classifier(
                options, names, [part[row] for part in (texts, pairs or []) if part for row in kept], logger.info
            )
        )
        encoded = encode_texts(
            tokenizer, texts, pairs, numbers.tolist(), longest_text(model, tokenizer, self.max_length)
        )
        check_alignment(recipe, model)
        check_turns(recipe, model)
        recipe = recipe.resolved(len(kept), len(names), width_of(model))
        with TemporaryDirectory() as checkpoints:
            build = partial(
                build_trainer, model=model, tokenizer=tokenizer, method=method, training=encoded.take(kept),
                validation=None if held is None else encoded.take(held), class_weights=weights,
            )  # fmt: skip
            self.model_, *_ = fit_model(recipe, build, Path(checkpoints))
        self.tokenizer_ = tokenizer
        return self

    def predict_proba(self, X: Sequence) -> np.ndarray:
        """The probability of each class (N, C), in the order of `classes_`."""
        check_is_fitted(self)
        texts, pairs = as_texts(X)
        longest = longest_text(self.model_, self.tokenizer_, self.max_length)
        encoded: Encoded = encode_texts(self.tokenizer_, texts, pairs, max_length=longest)
        return predict_probabilities(self.model_, encoded)

    def predict(self, X: Sequence) -> np.ndarray:
        """The most probable class of each text (N,)."""
        return self.classes_[self.predict_proba(X).argmax(1)]

    def recipe(self) -> Recipe:
        settings = self.get_params()
        settings["seed"] = settings.pop("random_state")
        for name in ("method_options", "model_options"):
            settings[name] = settings[name] or {}
        return Recipe(data="texts", **settings)

    def save(self, folder: str | Path) -> None:
        """Writes a plain Hugging Face checkpoint, and the settings beside it. Nothing is pickled."""
        check_is_fitted(self)
        self.model_.save_pretrained(folder)
        self.tokenizer_.save_pretrained(folder)
        settings = {"parameters": self.get_params(), "classes": self.classes_.tolist()}
        (Path(folder) / SETTINGS).write_text(json.dumps(settings, indent=2), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> SalienceClassifier:
        """The estimator that `save` wrote, or one around a run folder of `salience train`."""
        model, tokenizer = load_trained(folder)
        file = Path(folder) / SETTINGS
        settings = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        estimator = cls(**settings.get("parameters", {}))
        names = [model.config.id2label[number] for number in range(model.config.num_labels)]
        estimator.classes_ = np.array(settings.get("classes", names))
        estimator.model_, estimator.tokenizer_ = model, tokenizer
        return estimator


def as_texts(X: Sequence) -> tuple[list[str], list[str] | None]:
    """Texts, and the second texts if `X` holds pairs.

    Raises:
        InputError: `X` is one string, empty, or holds something else.
    """
    rows = [] if isinstance(X, str) else list(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if not rows:
        raise InputError("give a sequence of texts, not one string" if isinstance(X, str) else "no texts")
    if all(isinstance(row, str) for row in rows):
        return [str(row) for row in rows], None
    if all(not isinstance(row, str) and np.shape(row) == (2,) and all(isinstance(text, str) for text in row)
           for row in rows):  # fmt: skip
        return [str(first) for first, _ in rows], [str(second) for _, second in rows]
    wrong = next(index for index, row in enumerate(rows) if not isinstance(row, str))
    raise InputError(f"X[{wrong}] is no text and no pair of texts, but {type(rows[wrong]).__name__}")
