"""Holding rows out for validation, stratified by class."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from salience.data.multilabel import is_multi_label
from salience.data.splitting_units import held_out_units
from salience.data.stratifying import held_out_rows
from salience.data.texts import Texts
from salience.errors import InputError, listed, quoted


def split(
    labels: Sequence[Hashable], share: float, seed: int, source: str = "", units: np.ndarray | None = None
) -> tuple[list[int], list[int]]:
    """The indices of the rows to train on, and of the rows held out, both in order.

    Every class keeps at least one row for training. If at least as many rows are held out as there are classes, every
    class has one among them; if fewer, the larger classes have. (The stratified split of scikit-learn guarantees
    neither, and refuses the latter case.) Rows with several labels are divided by `held_out_rows`. Where several rows
    are one unit, classes are held out as nearly so as whole units allow.

    Args:
        labels: the label of each row; a tuple where a row has several.
        share: the share of the rows that is held out, above 0 and below 1.
        seed: of the rows that are drawn.
        source: the name of the data, for error messages.
        units: (N,) the number of the unit of each row, whose rows are in one part; see `group_numbers`. None divides
            all rows.

    Raises:
        InputError: a class has a single row, which cannot be in both parts; or no unit can be held out.
    """
    if units is not None and len(np.unique(units)) == len(units):
        units = None
    if is_multi_label(labels):  # type: ignore[arg-type]
        held = held_out_rows(labels, share, seed, units)  # type: ignore[arg-type]
        return parts(labels, held, source)
    by_label = defaultdict(list)
    for index, label in enumerate(labels):
        by_label[label].append(index)
    if single := [quoted(label) for label, rows in by_label.items() if len(rows) == 1]:
        many = len(single) > 1
        raise InputError(
            f"{source}{': ' if source else ''}{'the classes' if many else 'the class'} {listed(single)} "
            f"{'have a single row each' if many else 'has a single row'}, too few to split; "
            "add rows, or give rows to validate on with --validation FILE"
        )
    total = min(max(round(share * len(labels)), 1), len(labels) - len(by_label))
    sizes = apportion([len(rows) for rows in by_label.values()], total)
    if units is not None:
        return parts(
            labels, held_out_units(labels, dict(zip(by_label, sizes, strict=True)), units.tolist(), seed), source
        )
    draw = random.Random(seed)
    return parts(labels, [
        row for rows, size in zip(by_label.values(), sizes, strict=True) for row in draw.sample(rows, size)
    ], source)  # fmt: skip


def parts(labels: Sequence[Hashable], held_out: Sequence[int], source: str) -> tuple[list[int], list[int]]:
    """The rows that are not held out, and those that are, in order. Raises an `InputError` if these are none."""
    if not held_out:
        raise InputError(
            f"{source}{': ' if source else ''}no rows can be held out, because every group, or every text, "
            "has all rows of a label; add rows, or give rows to validate on with --validation FILE"
        )
    held = set(held_out)
    return [row for row in range(len(labels)) if row not in held], sorted(held)


def apportion(counts: Sequence[int], total: int) -> list[int]:
    """The number of rows of each class to hold out, `total` in all, in proportion to `counts`.

    Numbers are rounded by the method of largest remainders. No class gives all of its rows, and every class gives at
    least one if `total` allows it.
    """
    quotas = [count * total / sum(counts) for count in counts]
    least = 1 if total >= len(counts) else 0
    sizes = [max(least, min(int(quota), count - 1)) for quota, count in zip(quotas, counts, strict=True)]
    classes = range(len(counts))
    while sum(sizes) < total:  # rounding down has left some over
        sizes[max((c for c in classes if sizes[c] < counts[c] - 1), key=lambda c: quotas[c] - sizes[c])] += 1
    while sum(sizes) > total:  # small classes give one row, more than their share
        sizes[min((c for c in classes if sizes[c] > least), key=lambda c: quotas[c] - sizes[c])] -= 1
    return sizes


def shared_rows(train: Texts, other: Texts) -> int:
    """The number of rows of `other` whose text, or pair of texts, is in `train` too; space around texts is ignored."""
    seen = set(stripped(train))
    return sum(row in seen for row in stripped(other))


def contradictions(texts: Texts) -> int:
    """The number of rows whose text is also in a row with another label."""
    labels = defaultdict(list)
    for text, label in zip(stripped(texts), texts.known_labels.tolist(), strict=True):
        labels[text].append(tuple(label) if isinstance(label, list) else label)
    return sum(len(found) for found in labels.values() if len(set(found)) > 1)


def stripped(texts: Texts) -> list[tuple[str, ...]]:
    """Each text, or pair of texts, as a tuple without the space around it."""
    columns = [texts.texts] if texts.second is None else [texts.texts, texts.second]
    return [tuple(text.strip() for text in row) for row in zip(*columns, strict=True)]


def group_numbers(texts: Texts) -> np.ndarray:
    """The number of the group of each text (N,). Without groups, equal texts or pairs are one; space is ignored."""
    rows = stripped(texts if texts.groups is None else Texts(list(texts.groups)))
    numbers: dict[tuple[str, ...], int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], int)


def default_share(rows: int) -> float:
    """The share held out for validation: a fifth of less than 1,000 rows, else a tenth, but 5,000 rows at most."""
    return 0.2 if rows < 1000 else min(0.1, 5000 / rows)
