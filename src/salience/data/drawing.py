"""Drawing a part of labelled rows, stratified by class and nested, as learning curves need it; or of any texts.

The part of 50 rows that a seed draws is contained in its part of 100 rows, and so on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from salience.data.multilabel import is_multi_label
from salience.data.stratifying import nested_rows
from salience.data.texts import Texts
from salience.errors import InputError, counted

LEAST = 2  # rows of a class, if there is room for them: one to train on, and one that can be held out


def draw(labels: Sequence[Hashable], size: int, seed: int, source: str = "", option: str = "--size") -> list[int]:
    """The indices of `size` of the N rows, in the order of the rows.

    Every class has about its share of the rows, and at least two of them if `size` is at least twice the number of
    classes, or else at least one.

    Rows with several labels are drawn by `nested_rows`.

    Args:
        labels: the label of each row (N,); a tuple where a row has several.
        size: the number of rows to draw.
        seed: of the drawing. For one seed, smaller draws are parts of larger ones.
        source, option: the name of the data and the option that asks for the rows, for error messages.

    Raises:
        InputError: there are fewer rows than `size`, or more classes.
    """
    at = f"{source}: " if source else ""
    several = is_multi_label(labels)  # type: ignore[arg-type]
    classes = len({each for label in labels for each in label} if several else set(labels))  # type: ignore[attr-defined]
    if size > len(labels):
        raise InputError(f"{at}{option} {size:,} is more than its {counted(len(labels), 'labelled row')}")
    if size < classes:
        raise InputError(f"{at}{option} {size:,} is less than its {classes:,} classes: every class needs a row")
    if several:
        return nested_rows(labels, size, seed)  # type: ignore[arg-type]
    return sorted(drawing_order(labels, seed)[:size].tolist())


def drawing_order(labels: Sequence[Hashable], seed: int) -> np.ndarray:
    """The N indices in the order in which rows are drawn (N,).

    The rows of each class are shuffled, and the k-th of the n rows of a class, counted from 0, is placed at
    (k + 1/2) / n; all rows are then drawn by their places. So every class advances at the same rate. The first row of
    each class is placed before all others, and the second one behind the first ones.

    Args:
        labels: the label of each row (N,).
        seed: of the shuffling, and of the order of rows at the same place.
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(labels))
    counts: dict[Hashable, int] = {}
    ranks = np.empty(len(labels), int)  # of each row in its class
    for row in order:
        ranks[row] = counts.setdefault(labels[row], 0)
        counts[labels[row]] += 1
    sizes = np.array([counts[label] for label in labels])
    places = np.where(ranks < LEAST, ranks - LEAST, (ranks + 0.5) / sizes)
    return order[np.argsort(places[order], kind="stable")]


def drawn(texts: Texts, most: int, seed: int) -> Texts:
    """At most `most` texts, drawn at random; all, in their order, if there are no more."""
    if len(texts) <= most:
        return texts
    return texts.take(np.random.default_rng(seed).permutation(len(texts))[:most])
