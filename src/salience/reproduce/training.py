"""Training one model of a table on a task whose texts are in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers import set_seed

from salience.data.task import Task
from salience.data.texts import Texts
from salience.inference import TextClassifier
from salience.models.loading import load_classifier
from salience.training.fitting import Listeners, fit
from salience.training.preparing import prepare
from salience.training.recipe import Recipe


def train_minilm(data: Task, name: str, method: str, seed: int, max_length: int) -> TextClassifier:
    """The packaged MiniLM, trained with a method and the default recipe.

    Args:
        name: of the data set.
        max_length: number of tokens read of a text.
    """
    set_seed(seed)
    model, tokenizer = load_classifier("minilm", data.labels)
    recipe = Recipe(data=name, method=method, seed=seed)
    return train_classifier(TextClassifier(model, tokenizer, max_length), data, recipe)[0]


def train_classifier(
    classifier: TextClassifier,
    data: Task,
    recipe: Recipe,
    watch: Callable[[TextClassifier], None] = lambda classifier: None,
) -> tuple[TextClassifier, list[dict]]:
    """Trains the model of a classifier up to the checkpoint that validation chooses. Test texts are not read.

    Args:
        recipe: values that it leaves open follow from the data.
        watch: called with the classifier after every iteration of a training by turns.

    Returns:
        The trained classifier, and the results of every iteration of a training by turns.
    """
    prepared = prepare(recipe, replace(data, test=Texts([])), classifier=classifier)
    listeners = Listeners(iteration=lambda model: watch(replace(classifier, model=model)))
    with TemporaryDirectory() as folder:
        fitted = fit(prepared, Path(folder), listeners)
    return fitted.classifier, fitted.iterations
