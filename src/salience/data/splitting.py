"""Parts of labelled rows, stratified by class: rows held out for validation, samples for learning curves, and folds.

Rows that belong together, such as those of an author, or those of one text, are one unit, which is not divided.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from salience.data.texts import Texts
from salience.data.values import is_multi_label
from salience.errors import InputError, counted, listed, quoted

LEAST = 2  # rows of a class in a draw, if there is room for them: one to train on, and one that can be held out


def split(
    labels: Sequence[Any], share: float, seed: int, source: str = "", units: np.ndarray | None = None
) -> tuple[list[int], list[int]]:
    """The indices of the rows to train on, and of the rows held out, both in order.

    Every class keeps at least one row for training. If at least as many rows are held out as there are classes, every
    class has one among them; if fewer, the larger classes have. (The stratified split of scikit-learn guarantees
    neither, and refuses the latter case.) Where several rows are one unit, classes are held out as nearly so as whole
    units allow.

    Args:
        labels: the label of each row; a tuple where a row has several.
        share: the share of the rows that is held out, above 0 and below 1.
        units: (N,) the number of the unit of each row, see `group_numbers`; None divides all rows.

    Raises:
        InputError: a class has a single row, which cannot be in both parts; or no unit can be held out.
    """
    at = f"{source}: " if source else ""
    advice = "add rows, or give rows to validate on with --validation FILE"
    if units is not None and len(np.unique(units)) == len(units):
        units = None
    by_label = defaultdict(list)
    for index, label in enumerate(labels):
        by_label[label].append(index)
    if is_multi_label(labels):
        held_out = held_out_rows(labels, share, seed, units)
    else:
        if single := [quoted(label) for label, rows in by_label.items() if len(rows) == 1]:
            raise InputError(f"{at}a single row of a class is too few to split: {listed(single)}; {advice}")
        total = min(max(round(share * len(labels)), 1), len(labels) - len(by_label))
        sizes = apportion([len(rows) for rows in by_label.values()], total)
        if units is not None:
            held_out = held_out_units(labels, dict(zip(by_label, sizes, strict=True)), units.tolist(), seed)
        else:
            sample = random.Random(seed).sample
            held_out = [row for rows, size in zip(by_label.values(), sizes, strict=True) for row in sample(rows, size)]
    if not held_out:
        raise InputError(
            f"{at}no rows can be held out, because every group, or every text, has all rows of a label; {advice}"
        )
    held = set(held_out)
    return [row for row in range(len(labels)) if row not in held], sorted(held)


def apportion(counts: Sequence[int], total: int) -> list[int]:
    """The number of rows of each class to hold out, `total` in all, in proportion to `counts`: largest remainders.

    No class gives all of its rows, and every class gives at least one if `total` allows it.
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


def held_out_units(
    labels: Sequence[Hashable], wanted: Mapping[Hashable, int], units: Sequence[int], seed: int
) -> list[int]:
    """The rows that are held out: whole units, with as many rows of each class as is wanted, or nearly.

    Units are taken in a random order as long as they fit. What is then still wanted is filled by larger units if that
    comes nearer to it. Every class keeps a row for training.
    """
    of_units: dict[int, Counter] = {}
    for label, unit in zip(labels, units, strict=True):
        of_units.setdefault(unit, Counter())[label] += 1
    order = list(of_units)
    random.Random(seed).shuffle(order)
    left, kept, held = dict(wanted), Counter(labels), set[int]()

    def hold(unit: int) -> None:
        held.add(unit)
        for label, rows in of_units[unit].items():
            left[label] -= rows
            kept[label] -= rows

    def farther(unit: int) -> int:
        """By how many rows the numbers of rows that are held out would be farther from those that are wanted."""
        return sum(abs(left[label] - rows) - abs(left[label]) for label, rows in of_units[unit].items())

    for unit in order:
        if all(rows <= left[label] for label, rows in of_units[unit].items()):
            hold(unit)
    while free := [
        unit for unit in order
        if unit not in held and all(rows < kept[label] for label, rows in of_units[unit].items())
    ]:  # fmt: skip
        best = min(free, key=farther)
        if held and farther(best) >= 0:
            break
        hold(best)
    return [row for row, unit in enumerate(units) if unit in held]


def held_out_rows(
    labels: Sequence[Sequence[str]], share: float, seed: int, groups: np.ndarray | None = None
) -> list[int]:
    """The multi-label rows that are held out; at least one, if one can be. Every label keeps a row to train
    on."""
    indicators = indicators_of(labels)
    members = np.arange(len(labels)) if groups is None else groups
    part = stratified_parts(indicators, [1 - share, share], seed, groups)
    for label in range(indicators.shape[1]):
        of_label = indicators[:, label] > 0
        if of_label.any() and (part[of_label] == 1).all():
            part[members == members[np.flatnonzero(of_label)[0]]] = 0
    if not part.any():  # fewer rows than one for the share
        own = np.zeros((int(members.max(initial=-1)) + 1, indicators.shape[1]), np.int64)
        np.add.at(own, members, indicators)
        shared = ((own == 0) | (own < indicators.sum(0))).all(1)  # whose labels other groups have too
        found = np.flatnonzero(shared[members])[-1:]
        part[np.isin(members, members[found])] = 1
    return np.flatnonzero(part).tolist()


def indicators_of(labels: Sequence[Sequence[str]]) -> np.ndarray:
    """The labels of N rows as 0 and 1 (N, C) int64, in the order of names."""
    numbers = {name: number for number, name in enumerate(sorted({each for label in labels for each in label}))}
    found = np.zeros((len(labels), len(numbers)), np.int64)
    for index, label in enumerate(labels):
        found[index, [numbers[each] for each in label]] = 1
    return found


def stratified_parts(
    indicators: np.ndarray, shares: Sequence[float], seed: int, groups: np.ndarray | None = None
) -> np.ndarray:
    """The part of each of N rows (N,), from 0 on, so that each has its share of the rows of each label.

    Args:
        indicators: (N, C), 1 where a label applies.
        shares: of the rows that each part is to have; their sum is 1.
        groups: (N,) the group of each row; the rows of a group are in one part. None divides all rows.
    """
    rows, classes = indicators.shape
    members = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(members.max(initial=-1)) + 1
    # A group counts by its rows of each label. The last column counts all its rows: it places those without a label.
    amounts = np.zeros((count, classes + 1))
    np.add.at(amounts, members, np.concatenate([indicators, np.ones((rows, 1))], 1))
    wanted = np.outer(shares, amounts.sum(0))
    left = np.ones(count, bool)
    remaining = (amounts > 0).sum(0)[:classes]  # groups of each label that are not placed yet
    part = np.zeros(count, int)
    order = np.random.default_rng(seed).permutation(count)
    order = order[np.argsort(-amounts[order, classes], kind="stable")]  # large groups first, while there is room
    while left.any():
        label = int(np.where(remaining > 0, remaining, rows + 1).argmin()) if remaining.any() else classes
        for unit in order[left[order] & (amounts[order, label] > 0)]:
            needs = wanted[:, label]
            ties = np.flatnonzero(needs >= needs.max() - 1e-9)
            chosen = int(ties[wanted[ties, classes].argmax()])
            part[unit], left[unit] = chosen, False
            wanted[chosen] -= amounts[unit]
            remaining -= amounts[unit, :classes] > 0
    return part[members]


def draw(labels: Sequence[Any], size: int, seed: int, source: str = "", option: str = "size") -> list[int]:
    """The indices of `size` of the N rows, in the order of the rows.

    Every class has about its share of the rows, and at least two of them if `size` is at least twice the number of
    classes, or else at least one. For one seed, smaller samples are parts of larger ones.

    Raises:
        InputError: there are fewer rows than `size`, or more classes.
    """
    at, several = f"{source}: " if source else "", is_multi_label(labels)
    classes = len({each for label in labels for each in label} if several else set(labels))
    if size > len(labels):
        raise InputError(f"{at}{option} {size:,} is more than its {counted(len(labels), 'labelled row')}")
    if size < classes:
        raise InputError(f"{at}{option} {size:,} is less than its {classes:,} classes: every class needs a row")
    return nested_rows(labels, size, seed) if several else sorted(drawing_order(labels, seed)[:size].tolist())


def drawing_order(labels: Sequence[Hashable], seed: int) -> np.ndarray:
    """The N indices in the order in which rows are sampled (N,).

    The rows of each class are shuffled, and the k-th of the n rows of a class, counted from 0, is placed at (k + 1/2)
    / n, so every class advances at the same rate. The first row of each class is placed before all others, and the
    second one behind the first ones.
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


def nested_rows(labels: Sequence[Sequence[str]], size: int, seed: int) -> list[int]:
    """As `draw`, of multi-label rows.

    A row of each label comes first, as far as there is room: rarest label first, one for each that none has yet. The
    others are halved by `stratified_parts`, and the half in which the sample ends is halved again.
    """
    indicators = indicators_of(labels)
    order = np.random.default_rng(seed).permutation(len(indicators))
    drawn: list[int] = []
    for label in np.argsort(indicators.sum(0), kind="stable"):
        if not indicators[drawn, label].any():
            drawn.append(int(order[indicators[order, label].argmax()]))
    drawn = drawn[:size]
    rows = np.setdiff1d(np.arange(len(labels)), drawn)
    while len(drawn) < size:
        if len(rows) == 1:
            drawn += rows.tolist()
            break
        part = stratified_parts(indicators[rows], [0.5, 0.5], seed)
        if len(np.unique(part)) == 1:  # halves must be smaller than the whole
            part[len(part) // 2 :] = 1 - part[0]
        first = rows[part == 0]
        if len(drawn) + len(first) <= size:
            drawn += first.tolist()
            rows = rows[part == 1]
        else:
            rows = first
    return sorted(drawn)


def drawn(texts: Texts, most: int, seed: int) -> Texts:
    """At most `most` texts, sampled at random; all, in their order, if there are no more."""
    if len(texts) <= most:
        return texts
    return texts.take(np.random.default_rng(seed).permutation(len(texts))[:most])


def default_share(rows: int) -> float:
    """The share held out for validation: a fifth of less than 1,000 rows, else a tenth, but 5,000 rows at most."""
    return 0.2 if rows < 1000 else min(0.1, 5000 / rows)


def stripped(texts: Texts) -> list[tuple[str, ...]]:
    return [tuple(text.strip() for text in row) for row in zip(*texts.columns, strict=True)]


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


def group_numbers(texts: Texts) -> np.ndarray:
    """The number of the group of each text (N,). Without groups, equal texts or pairs are one; space is ignored."""
    rows = stripped(texts if texts.groups is None else Texts(list(texts.groups)))
    numbers: dict[tuple[str, ...], int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], int)
