"""Training one model of a table on a data set whose parts are in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from transformers import set_seed

from salience.data.datasets import DataSet, Split
from salience.data.encoding import Encoded
from salience.explainers.explanations import Text
from salience.inference import TextClassifier
from salience.mixing.choosing import choose_method
from salience.models.loading import load_classifier
from salience.training.fitting import build_trainer, width_of
from salience.training.recipe import Recipe
from salience.training.turns import fit_model


def train_minilm(data: DataSet, method: str, seed: int, max_length: int) -> TextClassifier:
    """The packaged MiniLM, trained with a method and the default recipe."""
    set_seed(seed)
    model, tokenizer = load_classifier("minilm", data.labels)
    recipe = Recipe(data=data.name, method=method, seed=seed)
    return train_classifier(TextClassifier(model, tokenizer, max_length), data, recipe)[0]


def train_classifier(
    classifier: TextClassifier,
    data: DataSet,
    recipe: Recipe,
    watch: Callable[[TextClassifier], None] = lambda classifier: None,
) -> tuple[TextClassifier, list[dict]]:
    """Trains a classifier's model up to what validation chose.

    Args:
        recipe: where it leaves something open, the data decide.
        watch: shown the model after every iteration of a training by turns.

    Returns:
        The trained classifier, and what every iteration came to, if it was trained by turns.
    """
    training, validation = encode(classifier, data.training), encode(classifier, data.validation)
    resolved = recipe.resolved(len(training), len(data.labels), width_of(classifier.model))
    build = partial(
        build_trainer, model=classifier.model, tokenizer=classifier.tokenizer, method=choose_method(recipe.method),
        training=training, validation=validation,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        model, _, iterations = fit_model(
            resolved, build, Path(folder), watch=lambda own: watch(replace(classifier, model=own))
        )
    return replace(classifier, model=model), iterations


def encode(classifier: TextClassifier, part: Split) -> Encoded:
    return classifier.encode(part.texts, part.labels)


def as_texts(part: Split) -> list[Text]:
    return [Text(text, label=label) for text, label in zip(part.texts, part.labels, strict=True)]


def drawn(part: Split, most: int, seed: int) -> Split:
    """At most so many rows of a part, drawn at random; a part that has no more, as it is."""
    if len(part.labels) <= most:
        return part
    chosen = np.random.default_rng(seed).permutation(len(part.labels))[:most]
    words = part.word_labels and [part.word_labels[row] for row in chosen]
    return Split([part.texts[row] for row in chosen], [part.labels[row] for row in chosen], words)
