"""Wrong labels in training rows, which show how much a training method depends on right ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError


def with_wrong_labels(
    labels: np.ndarray, share: float, seed: int, classes: int | None = None, stream: int | tuple[int, ...] = 0
) -> np.ndarray:
    """The labels (N,), a share of which are replaced by another class, drawn uniformly: symmetric label noise.

    Exactly round(share * N) labels are wrong. In each class with n rows, t n of them are, rounded up or down, with
    one t for all classes. Symmetric noise is that of van Rooyen et al. (2015), arXiv:1505.07634, and of Patrini et
    al. (2017), arXiv:1609.03683; here no wrong label is by chance the right one.

    Rows that are wrong at a share are also wrong at any higher share, with the same wrong label.

    Args:
        labels: (N,), class numbers.
        share: from 0 to 1.
        seed: of the rows and of their wrong labels.
        classes: C, the number of classes to draw from; None is the highest label plus 1.
        stream: the number of the part of the data, or several; parts with different numbers have independent draws.

    Raises:
        InputError: `share` is not from 0 to 1, there is only one class, or a label is unknown.
    """
    labels = np.asarray(labels)
    if not 0 <= share <= 1:
        raise InputError(f"the share of wrong labels is {share:g}; give a number from 0 to 1")
    if not len(labels):
        return labels.copy()
    classes = int(labels.max()) + 1 if classes is None else classes
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(f"wrong labels need labels from 0 to {classes - 1}; leave out rows without a label")
    if classes < 2:
        raise InputError("wrong labels need at least two classes: give `classes`, or more data")
    random = np.random.default_rng([seed, *np.atleast_1d(stream)])
    moved = random.integers(1, classes, len(labels))  # how many classes further the wrong label lies
    first = wrong_first(labels, classes, random)[: round(share * len(labels))]
    noisy = labels.copy()
    noisy[first] = (labels[first] + moved[first]) % classes
    return noisy


def with_flipped_labels(labels: np.ndarray, share: float, seed: int, stream: int = 0) -> np.ndarray:
    """The labels (N, C) where a text can have several, a share of whose decisions are flipped: 1 to 0, and 0 to 1.

    Each label is two classes, as of `with_wrong_labels`: exactly round(share * N) rows are flipped, as large a part of
    the rows that have the label as of those that lack it. The draws of the labels are independent. A rare label thus
    gets more wrong rows than right ones, as with any noise that is the same for 0 and 1.

    Args:
        labels: (N, C), 0 and 1.
        share, seed, stream: as of `with_wrong_labels`.

    Raises:
        InputError: as `with_wrong_labels`.
    """
    flipped = [with_wrong_labels(each, share, seed, 2, (stream, number)) for number, each in enumerate(labels.T)]
    return np.stack(flipped, 1)


def wrong_first(labels: np.ndarray, classes: int, random: np.random.Generator) -> np.ndarray:
    """All rows (N,) in an order in which every class is spread evenly: any first rows are a stratified sample.

    The rows of a class, shuffled, are placed at (j + u) / n for j = 0 ... n - 1, where u is uniform in [0, 1) and the
    same for the whole class (systematic sampling). So small classes are neither first nor last.
    """
    place = np.empty(len(labels))
    for number in range(classes):
        rows = np.flatnonzero(labels == number)
        offset = random.random()
        place[random.permutation(rows)] = (np.arange(len(rows)) + offset) / max(len(rows), 1)
    return np.argsort(place, kind="stable")


def with_wrong_training_labels(task: Task, share: float, seed: int) -> Task:
    """The task with wrong labels in its training rows and its validation rows; test rows stay as they are.

    Who has wrong labels has them in all rows that are labelled alike, also in those by which the model is chosen.

    Args:
        share: of wrong labels in each of both parts, from 0 to 1; with several labels a text, of wrong decisions.
        seed: of the draws, which are independent in both parts.

    Raises:
        InputError: as `with_wrong_labels`.
    """

    def noisy(part: Texts, stream: int) -> Texts:
        if not len(part):
            return part
        labels = part.known_labels
        if task.multi_label:
            return replace(part, labels=with_flipped_labels(labels, share, seed, stream))
        return replace(part, labels=with_wrong_labels(labels, share, seed, len(task.labels), stream))

    return replace(task, training=noisy(task.training, 0), validation=noisy(task.validation, 1))
