"""Comparison of methods: trained with the same settings and seeds, evaluated on the same test rows.

Cells of a grid become jobs of `train`, each of which writes the folder of a run; the finished runs become statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from salience.comparison.comparison import Comparison, check_comparison, comparison_of, write_comparison
from salience.comparison.grid import Condition, Grid, folder_name, grid_of
from salience.comparison.heat_maps import heat_maps_of
from salience.comparison.planning import NO_TEST, plans_of
from salience.comparison.results import predictions_of
from salience.errors import InputError, listed
from salience.files import Occupied, input_first, lock_of
from salience.jobs import QUIET, Display, Failure, FailureLog, Job, pool_of, run_jobs
from salience.runs.folder import RECIPE, RunFolder, changed, read_recipe, work_of
from salience.runs.results import Run, read_run
from salience.runs.retired import without_retired
from salience.scores.labels import labels_of
from salience.training.callbacks import check_trackers
from salience.training.measures import Measure, Measures, check_measured, measures_named
from salience.training.prepare import silent
from salience.training.recipe import Plan, Recipe
from salience.training.references import USUAL, is_reference, make_reference
from salience.training.run import train
from salience.training.task import check_input


def compare(
    base: Recipe,
    methods: Sequence[Any] | Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    output: str | Path,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
    *,
    sizes: Sequence[int | None] = (),
    models: Sequence[str] = (),
    data_sets: Mapping[str, Mapping[str, Any]] | None = None,
    jobs: int = 1,
    ray: str | None = None,
    part: tuple[int, int] = (1, 1),
    display: Display = QUIET,
    report_to: Sequence[str] = (),
    references: Sequence[str] = USUAL,
    budget: str = "passes",
    measures: Measures = (),
    heat_maps: bool = True,
) -> Comparison | None:
    """Trains every method with every seed and compares them with the first one.

    The seed decides everything random: the sample of the rows, the validation part, the new head, batches and
    mixtures. Each run writes its metrics, predictions and recipe to `output/METHOD-SEED`, with several data sets,
    models or sizes to `output/DATA/MODEL/SIZE/METHOD-SEED`. The comparison is written to `output/comparison.json`, and
    a table of all runs to `output/results.csv`. Finished runs are not repeated, and an interrupted run is
    resumed. Several commands may work on one output: each run is made by one of them. A run that fails is recorded in
    `output/failures.jsonl` with its error, and the others go on.

    Args:
        base: all settings but the method and the seed. Its `method_options` are used if its method is compared
            without options.
        methods: at least two names with their options, as "ssmix:window=0.2", or objects, as `SSMix(window=0.2)`. Or
            variants of the recipe: a mapping of names to the settings that each changes, such as {"usual": {},
            "longer": {"steps": 400}}. The first is the baseline.
        seeds: at least two.
        output: the folder of all runs.
        note: called with a line of text for every run.
        callbacks: callbacks of the Trainer, added to its defaults in every run; picklable with several jobs.
        sizes: numbers of labelled rows, of which each seed takes a stratified sample; None stands for all rows. The
            rows are the same for all methods, and those of a smaller size are among those of a larger one.
        models: names of models; none are given, or they replace the model of `base`.
        data_sets: name of a data set to its settings, such as {"reviews": {"data": "reviews.csv", "test":
            "held_out.csv"}}; they replace those of `base`.
        jobs: number of runs that are made at the same time, each in a process of its own.
        ray: address of a Ray cluster that makes the runs; None for this machine.
        part: (k, n) makes the k-th of n parts of the runs, for n machines; k starts at 1.
        display: is told the progress of the runs.
        report_to: trackers of experiments that follow the runs, as for `salience.training.run.train`.
        references: rows beside the methods, with which no comparison is made: keys of
            `salience.training.references.REFERENCES`. They can also be named among the methods.
        budget: the compute budget that is equal for all methods. "passes": the same number of passes of texts through
            the model (`salience.training.passes`); "time": seconds on this machine, measured before the first run;
            "steps": training steps. The first method has its steps, and the others as many as the budget pays for. A
            variant with steps of its own keeps them.
        measures: what is measured of each run beside its scores: names of `salience.training.measures.MEASURES`,
            such as "faithfulness"; or measures by name, such as {"faithfulness": Faithfulness(texts=50)} or
            a `salience.training.measures.Measure` of your own; picklable with several jobs.
        heat_maps: whether texts on which methods disagree are explained, by the models of the first seed at the
            largest size, which are then kept in the folders of their runs. All other runs keep no models.

    Returns:
        The comparison, with all that its report shows; None if runs of other parts are still missing.

    Raises:
        InputError: fewer than two methods or seeds, no test rows, an output that contains runs with other settings,
            or runs have failed.
    """
    check_trackers(report_to)
    output, (turn, parts) = Path(output), part
    if not 1 <= turn <= parts:
        raise InputError(f"part {turn} of {parts}: give a number from 1 to the number of parts")
    wanted = measures_named(measures)
    grid = grid_of(base, methods, seeds, sizes, models, data_sets or {}, references)
    pool = pool_of(jobs, ray)

    def check_inputs() -> None:
        for condition in grid.conditions():
            check_input(grid.recipe(condition, grid.baseline, seeds[0]))

    with input_first(check_inputs):
        check_comparison(output)
    plans = plans_of(grid, output, budget, note, wanted)
    cells = {cell.name: cell for cell in cells_of(grid, plans, output, wanted, heat_maps)}
    done = {name for name, cell in cells.items() if cell.is_done()}  # runs with other settings are refused here

    def tell(job: Job, failure: Failure | None) -> None:
        if failure is not None:
            note(f"{job.name}: {failure.error}")
            return
        run = cells[job.name].read()
        kind = labels_of(predictions_of(run).labels)
        note(f"{job.name}: {kind.main_title} {run.metrics['test'][kind.main]:.3f}")

    mine = [cell.job(callbacks, tuple(report_to)) for cell in list(cells.values())[turn - 1 :: parts]]
    left = [job for job in mine if job.name not in done or lock_of(job.lock).exists()]
    if jobs > 1:  # the longest first: one that begins last would keep all other processes waiting
        left.sort(key=lambda job: cells[job.name].texts, reverse=True)
    log = FailureLog(output / "failures.jsonl")
    log.replace(done)  # a run can fail when all of it is written
    log.check(run_jobs(left, pool, log, display, tell, note), len(mine))
    missing = [name for name, cell in cells.items() if name not in done and not cell.is_done()]
    if missing:
        note(f"{len(missing)} of {len(cells)} runs are left to other parts; the last one prints the comparison")
        return None
    runs = {(cell.condition, cell.method, cell.seed): cell.read() for cell in cells.values()}
    recipes = {condition: plan[grid.baseline] for condition, plan in plans.items()}
    comparison = comparison_of(grid, runs, recipes, wanted)
    write_comparison(comparison, output)
    if not heat_maps:
        return comparison
    return replace(comparison, heat_maps=heat_maps_of(grid, runs, recipes, comparison.predictions, output, note))


@dataclass(frozen=True)
class Cell:
    """One run of a comparison, by its condition, the name of its method in tables, and its seed.

    Args:
        name: what it is called in messages.
        recipe: as the user gave it, for this run.
        wanted: the plan, with which a kept run is compared.
        keep_model: whether its model is kept. Most are not: ten of them take gigabytes, and each can be trained again
            by its recipe.
    """

    condition: Condition
    method: str
    seed: int
    name: str
    recipe: Recipe
    wanted: Plan
    folder: Path
    measures: Mapping[str, Measure] = field(default_factory=dict)
    keep_model: bool = False

    @property
    def texts(self) -> int:
        """The number of texts in all training steps; 0 for a reference."""
        return 0 if is_reference(self.recipe) else self.wanted.steps * self.wanted.batch_size

    def is_done(self) -> bool:
        """Whether the folder has the finished run; an `InputError` if that has other settings, data or measures."""
        kept, settings = False, self.wanted.as_mapping()
        # The unfinished run first: if another command finishes it in between, it is found in the folder.
        for place in (work_of(self.folder), self.folder):
            try:
                before = without_retired(read_recipe(place / RECIPE), str(self.folder))
            except FileNotFoundError:
                kept = False
                continue
            kept = True
            for name in changed(before, settings):
                if name == "checksums":
                    files = listed(changed(before.get(name) or {}, settings[name]) or before[name])
                    raise InputError(f"{files} changed after {self.folder} had been run: choose another --output")
                raise InputError(
                    f"{self.folder} was run with {name}={before.get(name)!r}, not {settings[name]!r}: "
                    "choose another --output"
                )
        if kept and self.measures and not is_reference(self.recipe):  # which has no model that is measured
            check_measured(self.measures, self.read().metrics, self.folder)
        if kept and (work_of(self.folder).exists() or lock_of(self.folder).exists()):
            with suppress(Occupied):  # a process is about to remove them, or was killed before it could
                RunFolder(self.folder).discard_work()
        return kept

    def read(self) -> Run:
        """The finished run; an `InputError` if it has no test rows, or its files are damaged."""
        try:
            run = read_run(self.folder)
            if run.judge == "test":
                lacking = labels_of(predictions_of(run).labels).compared.keys() - run.metrics["test"].keys()
                if lacking or "temperature_scaling" not in run.metrics:
                    raise InputError(f"{self.folder} is damaged: scores are missing")
        except InputError as error:
            raise InputError(f"{error}; remove this folder to run it again") from error
        if run.judge != "test":
            raise InputError(NO_TEST)
        return run

    def job(self, callbacks: Sequence[TrainerCallback] = (), report_to: Sequence[str] = ()) -> Job:
        """The run as a job. What it writes is the folder, so that it has no result of its own to keep."""
        work = partial(
            train_in, self.folder, self.recipe, callbacks=callbacks, report_to=report_to, measures=self.measures,
            keep_model=self.keep_model,
        )  # fmt: skip
        if is_reference(self.recipe):
            work = partial(make_reference, self.wanted, self.folder)
        lock = self.folder.with_name(f"{self.folder.name}.run")
        return Job(self.name, work, self.is_done, keep=lambda result: None, lock=lock)


def train_in(folder: Path, recipe: Recipe, **settings: Any) -> None:
    """Makes a run, or continues it where it was interrupted. The trained model does not go back to the command."""
    train(recipe, folder, resume=True, note=silent, estimating=False, **settings)


def cells_of(
    grid: Grid, plans: Mapping[Condition, Mapping[str, Plan]], output: Path,
    measures: Mapping[str, Measure] | None = None, heat_maps: bool = False,
) -> list[Cell]:  # fmt: skip
    """The runs of a comparison, seed by seed: an interrupted comparison has all methods for its first seeds.

    The references come last. They take little time, so that parts of the trained runs are equally large. The models
    that draw heat maps are kept: those of the first seed at the largest size.
    """
    cells, explained = [], grid.largest() if heat_maps else set()
    for methods, seed in product((grid.methods, grid.references), grid.seeds):
        for (condition, plan), method in product(plans.items(), methods):
            wanted, title = replace(plan[method], seed=seed), grid.title(condition)
            same = {name: getattr(wanted, name) for name in ("checksums", "precision", "steps")}
            cells.append(Cell(
                condition, method, seed, f"{title}{', ' if title else ''}{method}, seed {seed}",
                replace(grid.recipe(condition, method, seed), **same), wanted,
                output / grid.folder(condition) / folder_name(method, seed), measures or {},
                keep_model=condition in explained and seed == grid.seeds[0],
            ))  # fmt: skip
    return cells
