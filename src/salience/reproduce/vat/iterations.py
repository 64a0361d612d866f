"""What a training by turns measured after each iteration, and which iteration is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from salience.reproduce import mixing_report
from salience.reproduce.table import Row


@dataclass
class Iterations:
    """Accuracies of one training after each iteration; a training without turns has one.

    Attributes:
        beta: of the training, None without a compressor.
        validation, test: on these rows, from 0 to 1.
    """

    beta: float | None
    validation: list[float | None] = field(default_factory=list)
    test: list[float] = field(default_factory=list)


def chosen(trainings: Sequence[Iterations], earliest: int = 0) -> float:
    """The test accuracy of the training and iteration that the validation rows choose; of equals, the first.

    Args:
        trainings: of a cell.
        earliest: the first iteration that can be chosen.
    """
    places = [(each, number) for each in trainings for number in range(earliest, len(each.test))]
    best, number = places[int(np.argmax([each.validation[number] or 0.0 for each, number in places]))]
    return best.test[number]


def by_iteration(rows: list[Row]) -> str:
    """Mean accuracy of each training after each iteration on the test rows and, in brackets, the validation rows."""
    lines: dict[tuple[str, str, str, str], list[tuple[list[float], list[float]]]] = {}
    for row in rows:
        for each in row["trainings"]:
            if len(each["test"]) > 1:
                beta = "" if each["beta"] is None else f"{each['beta']:g}"
                key = (row["set"], row["vectors"], row["method"], beta)
                lines.setdefault(key, []).append((each["test"], each["validation"]))
    cells = []
    for key, runs in lines.items():
        test, validation = 100 * np.mean(runs, axis=0)
        cells.append([*key[1:], *(f"{one:.2f} ({held:.2f})" for one, held in zip(test, validation, strict=True))])
    sets = [key[0] for key in lines]
    most = max((len(row) - 3 for row in cells), default=0)
    cells = [row + [""] * (most + 3 - len(row)) for row in cells]  # trainings can have fewer iterations
    head = ["word vectors", "training", "beta", *map(str, range(most))]
    return "\n".join(
        [
            "Accuracy by iteration, in brackets on the validation rows",
            "",
            mixing_report.table("set", head, [[name, *own] for name, own in zip(sets, cells, strict=True)]),
        ]
    )
