"""Models of different scales, trained and analysed: what becomes of attention and polarity (Sun and Lu, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from transformers import TrainerCallback

from salience.analysis.token_scores import global_scores
from salience.comparison.attention import Analysis, analyse, words_of
from salience.data.encoding import encode_texts
from salience.data.task import Task
from salience.models.attention_classifier import AttentionClassifier
from salience.models.attention_options import AttentionOptions
from salience.training.alignment import coupling
from salience.training.word_models import FittedWordModel, fit_words
from salience.training.word_recipe import WordRecipe


def sweep(
    options: AttentionOptions,
    recipe: WordRecipe,
    data: Task,
    scales: list[float],
    seed: int = 0,
    max_length: int | None = None,
    say: Callable[[str], None] = print,
) -> list[Analysis]:
    """Trains and analyses a model for every scale.

    Args:
        options: the architecture; its scale is replaced.
        recipe: the settings of the training.
        scales: values of lambda, by which the attention scores are divided.
        seed: of every training.
        max_length: number of tokens that are read of a text; None for all.
        say: called with a line of text for every trained model.

    Raises:
        ValueError: a scale is not allowed; nothing has been trained then.
    """
    analyses = []
    scaled = {scale: replace(options, scale=scale) for scale in scales}
    for scale, scaled_options in scaled.items():
        watcher = Watcher(data, max_length)
        fitted = fit_words(scaled_options, recipe, data, seed, max_length, callbacks=[watcher])
        analysis = analyse(fitted.model, fitted.tokenizer, data, max_length, watcher.rows)
        analyses.append(analysis)
        say(f"scale {scale:g}: {accuracy_reached(fitted)}; best epoch {fitted.best_epoch + 1} of {recipe.epochs}.")
    return analyses


def accuracy_reached(fitted: FittedWordModel) -> str:
    """The accuracy on the test texts, or the best one on the validation texts if there are no test texts."""
    if fitted.test_accuracy is None:
        return f"validation accuracy {max(fitted.accuracies):.3f}"
    return f"test accuracy {fitted.test_accuracy:.3f}"


class Watcher(TrainerCallback):
    """Records the mean global scores of every category of words before training and after every epoch.

    Args:
        data: the data set, whose training texts give the categories.
        max_length: number of tokens that are read of a text; None for all.

    Attributes:
        rows: one dictionary for every epoch, the first one before training: "epoch", "V^T W", and for every category
            "attention CATEGORY" and "polarity CATEGORY".
    """

    def __init__(self, data: Task, max_length: int | None = None):
        self.data, self.max_length = data, max_length
        self.category: np.ndarray | None = None
        self.rows: list[dict] = []

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **_):
        """Called by the Trainer."""
        training = self.data.training
        encoded = encode_texts(processing_class, training.texts, labels=training.labels, max_length=self.max_length)
        self.category = words_of(processing_class, encoded, model.config.vocab_size, len(self.data.labels)).category
        self.record(model)

    def on_epoch_end(self, args, state, control, model=None, **_):
        """Called by the Trainer."""
        self.record(model)

    def record(self, model: AttentionClassifier) -> None:
        """Appends the scores of the model to `rows`."""
        assert self.category is not None  # set before training begins
        scores = global_scores(model)
        row = {"epoch": len(self.rows), "V^T W": coupling(model).tolist()}
        for category in np.unique(self.category):
            members = torch.from_numpy(self.category == category)
            row[f"attention {category}"] = scores.attention[members].mean().item()
            row[f"polarity {category}"] = scores.polarity[members].mean(0).tolist()
        self.rows.append(row)
