"""The runs of a comparison as jobs: every method with every seed, in a folder each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from salience.comparison.kept_runs import is_kept, read_run
from salience.jobs import Job
from salience.outputs import Occupied
from salience.training.folder import RunFolder, kept_precision, work_of
from salience.training.preparing import silent
from salience.training.recipe import Recipe
from salience.training.run import train


@dataclass(frozen=True)
class Cell:
    """One run of a comparison.

    Args:
        method: its name in tables, with its options.
        seed: its seed.
        recipe: as the user gave it, with method and seed.
        wanted: the same recipe with nothing left open, with which a kept run is compared.
        folder: of the run.
    """

    method: str
    seed: int
    recipe: Recipe
    wanted: Recipe
    folder: Path

    @property
    def name(self) -> str:
        """What the run is called in messages."""
        return f"{self.method}, seed {self.seed}"

    def is_done(self) -> bool:
        """Whether the folder has the finished run.

        Raises:
            InputError: the folder has a run with other settings or data.
        """
        kept = is_kept(self.wanted, self.folder)
        if kept and work_of(self.folder).exists():
            with suppress(Occupied):  # a process is about to remove it, or was killed before it could
                RunFolder(self.folder).discard_work()
        return kept

    def read(self) -> dict[str, Any]:
        """The results of the finished run, as `read_run` gives them."""
        return read_run(self.folder)

    def job(self, callbacks: Sequence[TrainerCallback] = (), report_to: Sequence[str] = ()) -> Job:
        """The run as a job. What it writes is the folder, so that it has no result of its own to keep."""
        return Job(
            self.name, partial(make, self.recipe, self.folder, callbacks, report_to), self.is_done,
            keep=lambda result: None, lock=self.folder.with_name(f"{self.folder.name}.run"),
        )  # fmt: skip


def make(
    recipe: Recipe, folder: Path, callbacks: Sequence[TrainerCallback] = (), report_to: Sequence[str] = ()
) -> None:
    """Makes a run, or continues it where it was interrupted.

    Models are not kept: ten of them take gigabytes, and each can be trained again by its recipe.
    """
    train(recipe, folder, resume=True, note=silent, callbacks=callbacks, keep_model=False, report_to=report_to)


def cells_of(recipes: Mapping[str, Recipe], seeds: Sequence[int], filled_in: Recipe, output: Path) -> list[Cell]:
    """The runs of a comparison, seed by seed: an interrupted comparison has all methods for its first seeds.

    Args:
        recipes: name of a method in tables to its recipe.
        seeds: the seeds.
        filled_in: a recipe with nothing left open. Its settings other than method and seed are those of all runs.
        output: the folder of all runs.
    """
    return [
        Cell(
            method, seed, replace(recipe, seed=seed, checksums=filled_in.checksums, precision=filled_in.precision),
            replace(filled_in, method=recipe.method, method_options=recipe.method_options, seed=seed),
            folder_of(output, method, seed),
        )
        for seed in seeds for method, recipe in recipes.items()
    ]  # fmt: skip


def folder_of(output: Path, method: str, seed: int) -> Path:
    """The folder of a run in the folder of a comparison."""
    return output / f"{method.replace(':', '-')}-{seed}"


def precision_in(output: Path, recipes: Mapping[str, Recipe], seeds: Sequence[int]) -> str:
    """The precision of the runs that a comparison has made already; "auto" if it has none."""
    folders = (folder_of(output, method, seed) for seed in seeds for method in recipes)
    return next(filter(None, map(kept_precision, folders)), "auto")
