"""DropMix's formulas as slow, plain loops over lists. Nothing here uses the library: it is what it is held against.

Kong et al., 2022, section 4.1, and the decisions DM2, DM3 and DM11 of methods.md: N is one's own length, the union
may not exceed floor(l N D) units, windows of equal score enter together, and windows are cut to the text.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def budget(rows: int, columns: int, weight: float) -> int:
    """floor(l N D); the 1e-9 is for products such as 100 * 0.29, which is 28.999999999999996 in floating point."""
    return math.floor(weight * rows * columns + 1e-9)


def window_size(
    rows: int, columns: int, weight: float, height: int | None, width: int | None, counted: int | None = None
) -> tuple[int, int]:
    """(n, d) for one text: None is the whole axis, and no window is taller than its rows (DM11).

    n whole words (width None) are cut to floor(l N) rows as well, or they would hardly ever fit into a short text;
    N is `counted` where more rows count than windows may cover.
    """
    if height is None:
        return rows, columns if width is None else width
    tall = min(height, rows)
    if width is None:
        return min(tall, max(1, math.floor(weight * (counted or rows) + 1e-9))), columns
    return tall, width


def ranked_windows(saliency: list[list[float]], tall: int, wide: int) -> list[tuple[float, frozenset]]:
    """(F, units) of all (N - n + 1)(D - d + 1) windows, F = (sum of I^2)^1/2, in decreasing order (Eq. 3)."""
    found = []
    for top in range(len(saliency) - tall + 1):
        for left in range(len(saliency[0]) - wide + 1):
            units = [(top + down, left + along) for down in range(tall) for along in range(wide)]
            energy = math.fsum(saliency[row][column] ** 2 for row, column in units)
            found.append((math.sqrt(energy), frozenset(units)))
    return sorted(found, key=lambda window: -window[0])


def patch(
    saliency: list[list[float]],
    columns: int,
    weight: float,
    height: int | None,
    width: int | None,
    counted: int | None = None,
) -> set[tuple[int, int]]:
    """The units (row, column) of one text's patch: the largest prefix of the ranking that the budget pays for (Eq. 4).

    `saliency` has the rows that windows may cover only, by default all N that count, so that there may be none.
    """
    rows = len(saliency)
    if rows == 0:
        return set()
    limit = budget(counted or rows, columns, weight)
    ranking = ranked_windows(saliency, *window_size(rows, columns, weight, height, width, counted))
    covered: set[tuple[int, int]] = set()
    at = 0
    while at < len(ranking):
        equals = [units for score, units in ranking if score == ranking[at][0]]
        wider = covered.union(*equals)
        if len(wider) > limit:
            break
        covered = wider
        at += len(equals)
    return covered


def dropmix_reference(
    scores: Tensor,
    mask: Tensor,
    weight: float,
    height: int | None,
    width: int | None,
    direction: str = "replace",
    within: str = "own",
    partner: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """What of its own each text keeps (B, T, D), and how much of its own label (B,): Eq. 5 with the realised part.

    A text whose scores are not all numbers keeps everything, and so do places that windows may not cover. Padding
    matters nothing: where windows may cover it, its saliency is 0.
    """
    texts, places, columns = scores.shape
    keep = torch.ones(texts, places, columns, dtype=torch.bool)
    shares = []
    for row in range(texts):
        own = int(mask[row].sum())
        length = counted = own
        if within != "own":
            theirs = int(mask[int(partner[row])].sum())
            length = {"overlap": min(own, theirs), "both": max(own, theirs), "padded": places}[within]
            counted = own if within == "overlap" else length
        saliency = [scores[row, place].tolist() if place < own else [0.0] * columns for place in range(length)]
        taken = 0
        if all(math.isfinite(value) for word in saliency for value in word):
            chosen = patch(saliency, columns, weight, height, width, counted)
            for place in range(length):
                for column in range(columns):
                    if ((place, column) in chosen) == (direction == "replace"):
                        keep[row, place, column] = False
                        taken += 1
        shares.append(1 - taken / (counted * columns) if counted else 1.0)
    return keep, torch.tensor(shares, dtype=torch.float64)


def exchanged(own: Tensor, keep: Tensor, partner: Tensor) -> Tensor:
    """x~ = x where `keep`, the partner's x elsewhere (Eq. 2), unit by unit."""
    found = own.clone()
    for row in range(own.shape[0]):
        for place in range(own.shape[1]):
            for column in range(own.shape[2]):
                if not keep[row, place, column]:
                    found[row, place, column] = own[int(partner[row]), place, column]
    return found
