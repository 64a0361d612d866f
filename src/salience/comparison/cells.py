"""The runs of a comparison as jobs, each of which writes a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path

from transformers import TrainerCallback

from salience.comparison.grid import Condition, Grid
from salience.comparison.kept_runs import KeptRun, is_kept, read_run
from salience.comparison.planning import Plan
from salience.jobs import Job
from salience.outputs import Occupied
from salience.training.folder import RunFolder, kept_precision, work_of
from salience.training.measured_scores import Measure
from salience.training.measures import check_measured
from salience.training.preparing import silent
from salience.training.recipe import Recipe
from salience.training.reference_runs import make_reference, of_predictions
from salience.training.references import is_reference
from salience.training.run import train


@dataclass(frozen=True)
class Cell:
    """One run of a comparison.

    Args:
        condition: what it has in common with the runs that it is compared with.
        method: its name in tables, with its options.
        seed: its seed.
        name: what it is called in messages.
        recipe: as the user gave it, for this run.
        wanted: the same recipe with nothing left open, with which a kept run is compared.
        folder: of the run.
        measures: what is measured beside its scores, by name.
        keep_model: whether its model is kept.
    """

    condition: Condition
    method: str
    seed: int
    name: str
    recipe: Recipe
    wanted: Recipe
    folder: Path
    measures: Mapping[str, Measure] = field(default_factory=dict)
    keep_model: bool = False

    def is_done(self) -> bool:
        """Whether the folder has the finished run.

        Raises:
            InputError: the folder has a run with other settings or data, or without the wanted measures.
        """
        kept = is_kept(self.wanted, self.folder)
        wanted = of_predictions(self.measures) if is_reference(self.recipe) else self.measures
        if kept and wanted:
            check_measured(wanted, self.read().metrics, self.folder)
        if kept and work_of(self.folder).exists():
            with suppress(Occupied):  # a process is about to remove it, or was killed before it could
                RunFolder(self.folder).discard_work()
        return kept

    def read(self) -> KeptRun:
        """The results of the finished run."""
        return read_run(self.folder)

    def job(self, callbacks: Sequence[TrainerCallback] = (), report_to: Sequence[str] = ()) -> Job:
        """The run as a job. What it writes is the folder, so that it has no result of its own to keep."""
        work = partial(make, self.recipe, self.folder, callbacks, report_to, self.measures, self.keep_model)
        if is_reference(self.recipe):
            work = partial(make_reference, self.wanted, self.folder, self.measures)
        return Job(
            self.name, work, self.is_done,
            keep=lambda result: None, lock=self.folder.with_name(f"{self.folder.name}.run"),
        )  # fmt: skip


def make(
    recipe: Recipe,
    folder: Path,
    callbacks: Sequence[TrainerCallback] = (),
    report_to: Sequence[str] = (),
    measures: Mapping[str, Measure] | None = None,
    keep_model: bool = False,
) -> None:
    """Makes a run, or continues it where it was interrupted.

    Most models are not kept: ten of them take gigabytes, and each can be trained again by its recipe.
    """
    train(
        recipe, folder, resume=True, note=silent, callbacks=callbacks, keep_model=keep_model, report_to=report_to,
        measures=measures or (), estimating=False,
    )  # fmt: skip


def cells_of(
    grid: Grid, plans: Mapping[Condition, Plan], output: Path, measures: Mapping[str, Measure] | None = None,
    heat_maps: bool = False,
) -> list[Cell]:  # fmt: skip
    """The runs of a comparison, seed by seed: an interrupted comparison has all methods for its first seeds.

    The references come last. They take little time, so that parts of the trained runs are equally large.

    Args:
        plans: for every condition the recipe of each method, with nothing left open but the seed.
        output: the folder of all runs.
        measures: what is measured of all runs, by name.
        heat_maps: whether the models that explain texts are kept: those of the first seed at the largest size.
    """
    cells, explained = [], grid.largest() if heat_maps else set()
    compared = [method for method in grid.recipes if method not in grid.references]
    for methods, seed in product((compared, grid.references), grid.seeds):
        for (condition, plan), method in product(plans.items(), methods):
            wanted, title = replace(plan[method], seed=seed), grid.title(condition)
            same = {name: getattr(wanted, name) for name in ("checksums", "precision", "steps")}
            cells.append(Cell(
                condition, method, seed, f"{title}{', ' if title else ''}{method}, seed {seed}",
                replace(grid.recipe(condition, method, seed), **same), wanted,
                folder_of(output / grid.folder(condition), method, seed), measures or {},
                keep_model=condition in explained and seed == grid.seeds[0],
            ))  # fmt: skip
    return cells


def folder_of(place: Path, method: str, seed: int) -> Path:
    """The folder of a run in the folder of its condition."""
    return place / folder_name(method, seed)


def folder_name(method: str, seed: int) -> str:
    """The name of the folder of a run: of its method, without a character that some file systems refuse."""
    return f"{method.replace(':', '-')}-{seed}"


def precision_in(output: Path, grid: Grid) -> str:
    """The precision of the runs that a comparison has made already, of those that leave it open; or "auto"."""
    left_open = [method for method, recipe in grid.recipes.items() if recipe.precision == "auto"]
    folders = (
        folder_of(output / grid.folder(condition), method, seed)
        for seed in grid.seeds for condition in grid.conditions() for method in left_open
    )  # fmt: skip
    return next(filter(None, map(kept_precision, folders)), "auto")
