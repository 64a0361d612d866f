"""Training one model of a table on a data set whose parts are in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from transformers import set_seed

from salience.data.datasets import DataSet, Split
from salience.data.encoding import Encoded
from salience.data.examples import Examples
from salience.data.task import Part, Task
from salience.explainers.explanations import Text
from salience.inference import TextClassifier
from salience.models.loading import load_classifier
from salience.training.fitting import Listeners, fit
from salience.training.preparing import prepare
from salience.training.recipe import Recipe


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
    """Trains a classifier's model up to the checkpoint that validation chose.

    Args:
        recipe: values that it leaves open follow from the data.
        watch: called with the classifier after every iteration of a training by turns.

    Returns:
        The trained classifier, and what every iteration of a training by turns came to.
    """
    prepared = prepare(recipe, as_task(data), classifier=classifier)
    listeners = Listeners(iteration=lambda model: watch(replace(classifier, model=model)))
    with TemporaryDirectory() as folder:
        fitted = fit(prepared, Path(folder), listeners)
    return fitted.classifier, fitted.iterations


def as_task(data: DataSet) -> Task:
    """The training and the validation texts of a data set. The test texts are read after training."""

    def part(split: Split) -> Part:
        rows = list(range(1, len(split.texts) + 1))
        return Part(Examples(split.texts, None, None, rows), np.array(split.labels))

    return Task(list(data.labels), None, part(data.training), part(data.validation), None)


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
