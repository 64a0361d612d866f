"""Attention and polarity scores of the words of a data set, for models with several scales of the attention.

Sun and Lu (ACL 2020), "Understanding Attention for Text Classification", doi 10.18653/v1/2020.acl-main.312, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from transformers import TrainerCallback

from salience.audit.words import NONE, association, categories, counts
from salience.batch import Batch
from salience.data.batching import like_length
from salience.data.encoding import Encoded, encode_texts
from salience.data.task import Task
from salience.errors import listed
from salience.papers.attention_classifiers.classifier import AttentionClassifier
from salience.papers.attention_classifiers.options import AttentionOptions
from salience.papers.uaftc.token_scores import TokenScores, check_scored, global_scores, local_scores
from salience.papers.uaftc.training import FittedWordModel, WordRecipe, accuracy, fit_words


@dataclass(frozen=True)
class Words:
    """The vocabulary of a training set.

    Attributes:
        names: the words (V,).
        counts: (V, C), occurrences in the training texts of each class.
        category: (V,), class index, NEUTRAL or NONE, as `salience.audit.words.categories` gives it.
    """

    names: list[str]
    counts: np.ndarray
    category: np.ndarray

    @cached_property
    def association(self) -> np.ndarray | None:
        """gamma (V,), the association of words with one of two classes; None for more classes."""
        return association(self.counts) if self.counts.shape[1] == 2 else None


@dataclass(frozen=True)
class Analysis:
    """The analysis of one trained model on one data set.

    Attributes:
        scale: lambda, by which the attention scores are divided.
        words: the vocabulary of the training texts.
        alone: global scores, of every word as a text by itself.
        in_texts: local scores, means over the training texts.
        in_test: local scores, means over the test texts; None if there are none.
        alignment: |V^T W|; None if it is not defined for the model.
        test_accuracy: from 0 to 1; None if there are no test texts.
        trajectory: mean global scores of every category after every epoch, as `Watcher` records them; else empty.
    """

    scale: float
    words: Words
    alone: TokenScores
    in_texts: TokenScores
    in_test: TokenScores | None
    alignment: float | None
    test_accuracy: float | None
    trajectory: list[dict]


def analyse(
    model: AttentionClassifier, tokenizer, data: Task, max_length: int | None = None, trajectory: list | None = None
) -> Analysis:
    """Analyses a trained model on a data set.

    Args:
        data: training texts, from which the categories of words follow, and test texts.
        max_length: number of tokens that are read of a text; None for all.
        trajectory: what a `Watcher` recorded in training.

    Raises:
        ValueError: the model has no attention scores or no polarity scores, or has other labels than the data.
    """
    check_scored(model)
    known = [model.config.id2label[number] for number in range(model.config.num_labels)]
    if known != list(data.labels):
        raise ValueError(f"it knows the labels {listed(known)}, but the texts have {listed(data.labels)}")
    training, test = (
        encode_texts(tokenizer, part.texts, labels=part.labels, max_length=max_length)
        for part in (data.training, data.test)
    )
    special = special_around(tokenizer)
    try:
        aligned = model.alignment().item()
    except ValueError:
        aligned = None
    return Analysis(
        scale=model.config.scale,
        words=words_of(tokenizer, training, model.config.vocab_size, len(data.labels)),
        alone=global_scores(model, special),
        in_texts=local_scores(model, batches_of(model, training)),
        in_test=local_scores(model, batches_of(model, test)) if len(test) else None,
        alignment=aligned,
        test_accuracy=accuracy(model, test) if len(test) else None,
        trajectory=trajectory or [],
    )


def words_of(tokenizer, encoded: Encoded, vocabulary: int, classes: int) -> Words:
    """The vocabulary of encoded training texts.

    Args:
        vocabulary: V, number of words.
        classes: C, number of classes.

    Raises:
        ValueError: no word belongs to a class or is neutral.
    """
    texts = [encoded[row]["input_ids"][encoded[row]["segment"] > 0] for row in range(len(encoded))]
    assert encoded.labels is not None  # training texts are labelled
    word_counts = counts(texts, encoded.labels, vocabulary, classes)
    category = categories(word_counts)
    if (category == NONE).all():
        raise ValueError("no word occurs often enough to belong to a class, and none is neutral")
    return Words(tokenizer.convert_ids_to_tokens(list(range(vocabulary))), word_counts, category)


def batches_of(model: AttentionClassifier, encoded: Encoded) -> Iterator[Batch]:
    """Batches of texts of similar length."""
    return (batch for _, batch in like_length(model, encoded))


def special_around(tokenizer) -> tuple[int, ...]:
    """The special tokens that the tokenizer adds to a single text: none, or one on each side."""
    return tuple(tokenizer("", add_special_tokens=True)["input_ids"])


# Models of different scales, trained and analysed: what becomes of attention and polarity (Sun and Lu, section 5).


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
        row = {"epoch": len(self.rows), "V^T W": model.coupling().tolist()}
        for category in np.unique(self.category):
            members = torch.from_numpy(self.category == category)
            row[f"attention {category}"] = scores.attention[members].mean().item()
            row[f"polarity {category}"] = scores.polarity[members].mean(0).tolist()
        self.rows.append(row)
