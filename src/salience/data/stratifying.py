"""Dividing rows with several labels each, so that every part has its share of the rows of each label.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011, doi 10.1007/978-3-642-23808-6_10, Algorithm 1): the
label with the fewest rows left is handled first, and each of its rows goes to the part that needs this label most.
Here the rows may come in groups that are not divided, such as equal texts, and ties go to the first part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def indicators_of(labels: Sequence[Sequence[str]]) -> np.ndarray:
    """The labels of N rows as 0 and 1 (N, C) int64, one column for each label that occurs."""
    numbers = {name: number for number, name in enumerate(sorted({each for label in labels for each in label}))}
    found = np.zeros((len(labels), len(numbers)), np.int64)
    for index, label in enumerate(labels):
        found[index, [numbers[each] for each in label]] = 1
    return found


def stratified_parts(
    indicators: np.ndarray, shares: Sequence[float], seed: int, groups: np.ndarray | None = None
) -> np.ndarray:
    """The part of each of N rows (N,), from 0 on.

    Args:
        indicators: (N, C), 1 where a label applies.
        shares: of the rows that each part is to have; their sum is 1.
        seed: of the order in which rows of the same label are placed.
        groups: (N,) the number of the group of each row; the rows of a group are in one part. None divides all rows.
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


def held_out_rows(
    labels: Sequence[Sequence[str]], share: float, seed: int, groups: np.ndarray | None = None
) -> list[int]:
    """The indices of the rows that are held out for validation, in order; at least one, if one can be.

    Every label keeps a row to train on.

    Args:
        labels: the labels of each of N rows.
        share: of the rows that are held out, above 0 and below 1.
        seed: of the rows that are drawn.
        groups: as of `stratified_parts`.
    """
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


def nested_rows(labels: Sequence[Sequence[str]], size: int, seed: int) -> list[int]:
    """The indices of `size` of N rows, in order, stratified; for one seed, smaller draws are parts of larger ones.

    A row of each label comes first, as far as there is room. The others are halved by `stratified_parts`, and the half
    in which the draw ends is halved again.

    Args:
        labels: the labels of each row.
        size: at most N.
        seed: of the drawing.
    """
    indicators = indicators_of(labels)
    drawn = one_of_each(indicators, seed)[:size]
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


def one_of_each(indicators: np.ndarray, seed: int) -> list[int]:
    """The indices of rows in which every label occurs, the rarest label first: one row for each that none has yet.

    Args:
        indicators: (N, C), 1 where a label applies; every label applies to a row.
        seed: of the rows that are drawn.
    """
    order = np.random.default_rng(seed).permutation(len(indicators))
    chosen: list[int] = []
    for label in np.argsort(indicators.sum(0), kind="stable"):
        if not indicators[chosen, label].any():
            chosen.append(int(order[indicators[order, label].argmax()]))
    return chosen
