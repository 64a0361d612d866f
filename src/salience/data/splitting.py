"""Holding rows out, so that both parts have the classes in like shares."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence

from salience.data.examples import Examples
from salience.errors import InputError, listed, quoted


def split(labels: Sequence[Hashable], share: float, seed: int, source: str = "") -> tuple[list[int], list[int]]:
    """The places of the rows to train on and of those held out, both in the rows' order.

    Every class keeps a row for training. If as many rows are held out as there are classes, every class has one there
    too; if fewer, the larger classes have. (scikit-learn's stratified split promises neither, and refuses the latter.)

    Args:
        share: the part that is held out, above 0 and below 1.

    Raises:
        InputError: a class has a single row, which cannot be on both sides.
    """
    places = defaultdict(list)
    for place, label in enumerate(labels):
        places[label].append(place)
    if single := [quoted(label) for label, rows in places.items() if len(rows) == 1]:
        many = len(single) > 1
        raise InputError(
            f"{source}{': ' if source else ''}{'the classes' if many else 'the class'} {listed(single)} "
            f"{'have a single row each' if many else 'has a single row'}, too few to split; "
            "add rows, or give rows to validate on with --validation FILE"
        )
    total = min(max(round(share * len(labels)), 1), len(labels) - len(places))
    sizes = apportion([len(rows) for rows in places.values()], total)
    draw = random.Random(seed)
    held_out = {place for rows, size in zip(places.values(), sizes, strict=True) for place in draw.sample(rows, size)}
    return [place for place in range(len(labels)) if place not in held_out], sorted(held_out)


def apportion(counts: Sequence[int], total: int) -> list[int]:
    """How many of each class to hold out, `total` in all: its share, rounded such that the largest remainders win."""
    quotas = [count * total / sum(counts) for count in counts]
    least = 1 if total >= len(counts) else 0
    sizes = [max(least, min(int(quota), count - 1)) for quota, count in zip(quotas, counts, strict=True)]
    classes = range(len(counts))
    while sum(sizes) < total:  # rounding down left some over
        sizes[max((c for c in classes if sizes[c] < counts[c] - 1), key=lambda c: quotas[c] - sizes[c])] += 1
    while sum(sizes) > total:  # small classes were given one that is more than their share
        sizes[min((c for c in classes if sizes[c] > least), key=lambda c: quotas[c] - sizes[c])] -= 1
    return sizes


def shared_rows(train: Examples, other: Examples) -> int:
    """How many rows of `other` have a text (or pair of texts) that occurs in `train`, space around it aside."""
    seen = set(texts(train))
    return sum(key in seen for key in texts(other))


def texts(examples: Examples) -> list[tuple[str, ...]]:
    parts = [examples.texts] if examples.pairs is None else [examples.texts, examples.pairs]
    return [tuple(text.strip() for text in row) for row in zip(*parts, strict=True)]
