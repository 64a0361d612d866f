"""The finished runs of a grid, with what their comparison and its report need of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from salience.comparison.cells import Cell
from salience.comparison.grid import Condition, Grid, Run
from salience.comparison.kept_runs import KeptRun
from salience.comparison.planning import Plan
from salience.training.recipe import Recipe


@dataclass(frozen=True)
class FinishedGrid:
    """All runs of a grid.

    Args:
        grid: the grid.
        runs: the finished runs.
        folders: their folders, which have texts and models.
        filled_in: the baseline's recipe of each condition with nothing left open.
    """

    grid: Grid
    runs: Mapping[Run, KeptRun]
    folders: Mapping[Run, Path]
    filled_in: Mapping[Condition, Recipe]

    @classmethod
    def of(cls, grid: Grid, plans: Mapping[Condition, Plan], cells: Iterable[Cell]) -> FinishedGrid:
        """The runs of all cells, read from their folders."""
        by_run = {(cell.condition, cell.method, cell.seed): cell for cell in cells}
        return cls(
            grid,
            runs={run: cell.read() for run, cell in by_run.items()},
            folders={run: cell.folder for run, cell in by_run.items()},
            filled_in={condition: plan[grid.baseline] for condition, plan in plans.items()},
        )
