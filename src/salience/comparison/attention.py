"""Attention and polarity scores of the words of a data set, for models with several scales of the attention.

Sun and Lu (ACL 2020), "Understanding Attention for Text Classification", doi 10.18653/v1/2020.acl-main.312, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from salience.analysis.association import NONE, association, categories, counts
from salience.analysis.token_scores import TokenScores, check_scored, global_scores, local_scores
from salience.batch import Batch
from salience.data.batching import like_length
from salience.data.encoding import Encoded, encode_texts
from salience.data.task import Task
from salience.errors import listed
from salience.models.attention_classifier import AttentionClassifier
from salience.training.alignment import alignment
from salience.training.word_models import accuracy


@dataclass(frozen=True)
class Words:
    """The vocabulary of a training set.

    Attributes:
        names: the words (V,).
        counts: (V, C), occurrences in the training texts of each class.
        category: (V,), class index, NEUTRAL or NONE, as `salience.analysis.association.categories` gives it.
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
        aligned = alignment(model).item()
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
