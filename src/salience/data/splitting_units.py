"""Holding rows out in units that are not divided, such as the rows of an author, or those of one text.

`stratified_parts` places large units first, in the part that wants most. Few of them would be held out, so that
checkpoints would be chosen by the authors of few texts. Here units of all sizes have their share.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence


def held_out_units(
    labels: Sequence[Hashable], wanted: Mapping[Hashable, int], units: Sequence[int], seed: int
) -> list[int]:
    """The rows that are held out, in order: whole units, with as many rows of each class as is wanted, or nearly.

    Units are taken in a random order as long as they fit. What is then still wanted is filled by larger units if that
    comes nearer to it. Every class keeps a row for training, so a class whose rows are all in one unit is not held
    out.

    Args:
        labels: the label of each of N rows.
        wanted: the number of rows of each class to hold out.
        units: the unit of each row.
        seed: of the random order.

    Returns:
        At least one row, but none if every unit has all rows of a class.
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

    for unit in order:
        if all(rows <= left[label] for label, rows in of_units[unit].items()):
            hold(unit)

    def farther(unit: int) -> int:
        """By how many rows the numbers of rows that are held out would be farther from those that are wanted."""
        return sum(abs(left[label] - rows) - abs(left[label]) for label, rows in of_units[unit].items())

    while free := [
        unit for unit in order
        if unit not in held and all(rows < kept[label] for label, rows in of_units[unit].items())
    ]:  # fmt: skip
        best = min(free, key=farther)
        if held and farther(best) >= 0:
            break
        hold(best)
    return [row for row, unit in enumerate(units) if unit in held]
