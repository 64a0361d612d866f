"""The F1 of every class: in which classes methods differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salience.comparison.grid import Condition, Run
from salience.comparison.kept_runs import KeptRun


@dataclass(frozen=True)
class ClassScores:
    """The F1 of every class in one condition, in percent.

    Attributes:
        names: of the classes (C,).
        rows: number of test rows of each class (C,).
        f1: method to values (S, C), one for each seed and class.
    """

    names: list[str]
    rows: list[int]
    f1: dict[str, list[list[float]]]

    def by_run(self, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
        """A row for every method, seed and class: these, the number of test rows, and the F1."""
        for method, by_seed in self.f1.items():
            for seed, values in zip(seeds, by_seed, strict=True):
                for name, rows, value in zip(self.names, self.rows, values, strict=True):
                    yield {"method": method, "seed": seed, "class": name, "rows": rows, "f1": value}


def class_scores_of(
    runs: Mapping[Run, KeptRun], condition: Condition, methods: Sequence[str], seeds: Sequence[int]
) -> ClassScores:
    """The F1 of every class, method and seed in a condition.

    Args:
        runs: the finished runs.
        condition: of the runs.
        methods: all methods, the baseline first.
        seeds: the seeds (S,).
    """
    first = runs[condition, methods[0], seeds[0]]
    f1 = {
        method: [
            (100 * run.scoring.class_scores(run.probabilities, run.labels)["f1"]).tolist()
            for run in (runs[condition, method, seed] for seed in seeds)
        ]
        for method in methods
    }
    rows = first.scoring.class_scores(first.probabilities, first.labels)["support"]
    return ClassScores(list(first.names), rows.tolist(), f1)
