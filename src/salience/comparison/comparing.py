"""Comparison of methods: trained with the same settings and seeds, evaluated on the same test rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from salience.comparison.evidence import GridEvidence, grid_evidence
from salience.comparison.grid import Grid, check_no_estimate, method_variants, reference_variants, setting_variants
from salience.comparison.heat_maps import heat_maps_of
from salience.comparison.planning import FinishedGrid, cells_of, folder_name, plans_of, precision_in
from salience.comparison.results import FAILURES, Comparison, check_comparison, comparison_of, write_comparison
from salience.errors import InputError, quoted
from salience.jobs import QUIET, Display, Failure, FailureLog, Job, pool_of, run_jobs
from salience.training.callbacks import check_trackers
from salience.training.measures import Measures, measures_named
from salience.training.prepare import check_machine
from salience.training.recipe import Recipe
from salience.training.references import USUAL


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
    finished: Callable[[GridEvidence], None] | None = None,
) -> Comparison | None:
    """Trains every method with every seed and compares them with the first one.

    The seed decides everything random: the rows that are drawn, the validation part, the new head, batches and
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
        sizes: numbers of labelled rows, of which each seed draws a stratified part; None stands for all rows. The
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
        budget: what all methods spend alike. "passes": passes of texts through the model (`salience.training.passes`);
            "time": seconds on this machine, measured before the first run; "steps": training steps. The steps are
            those of the first method, and the others have as many as they can pay for. A variant with steps of its
            own keeps them.
        measures: what is measured of each run beside its scores: names of `salience.training.measures.MEASURES`,
            such as "faithfulness"; or measures by name, such as {"faithfulness": Faithfulness(texts=50)} or
            a `salience.training.measures.Measure` of your own; picklable with several jobs.
        heat_maps: whether texts on which methods disagree are explained, by the models of the first seed at the
            largest size, which are then kept in the folders of their runs. All other runs keep no models.
        finished: called with what a report of the comparison shows, after the comparison is written. Without it,
            nothing is explained.

    Returns:
        The comparison; None if runs of other parts are still missing.

    Raises:
        InputError: fewer than two methods or seeds, no test rows, an output that contains runs with other settings,
            or runs have failed.
    """
    check_trackers(report_to)
    output, (turn, parts) = Path(output), part
    if not 1 <= turn <= parts:
        raise InputError(f"part {turn} of {parts}: give a number from 1 to the number of parts")
    wanted = measures_named(measures)
    recipes = recipes_of(base, methods, references, own_models=not models)
    grid = Grid(recipes, list(seeds), list(sizes), list(models), dict(data_sets or {}))
    check_grid(grid)
    pool = pool_of(jobs, ray)
    check_comparison(output)
    plans = plans_of(grid, precision_in(output, grid), output, budget, note, wanted)
    cells = {cell.name: cell for cell in cells_of(grid, plans, output, wanted, heat_maps)}
    done = {name for name, cell in cells.items() if cell.is_done()}  # runs with other settings are refused here

    def tell(job: Job, failure: Failure | None) -> None:
        note(f"{job.name}: {failure.error if failure else cells[job.name].read().in_words()}")

    mine = [cell.job(callbacks, tuple(report_to)) for cell in list(cells.values())[turn - 1 :: parts]]
    log = FailureLog(output / FAILURES)
    log.check(run_jobs([job for job in mine if job.name not in done], pool, log, display, tell, note), len(mine))
    missing = [name for name, cell in cells.items() if name not in done and not cell.is_done()]
    if missing:
        note(f"{len(missing)} of {len(cells)} runs are left to other parts; the last of them prints the comparison")
        return None
    of_runs = FinishedGrid.of(grid, plans, cells.values())
    comparison = comparison_of(of_runs.runs, grid, wanted)
    write_comparison(comparison, output)
    if finished is not None:
        evidence = grid_evidence(comparison, of_runs)
        if heat_maps:
            evidence = replace(evidence, heat_maps=heat_maps_of(evidence, of_runs, output, note))
        finished(evidence)
    return comparison


def recipes_of(
    base: Recipe, methods: Sequence[Any] | Mapping[str, Mapping[str, Any]], references: Sequence[str], own_models: bool
) -> dict[str, Recipe]:
    """The recipes of a grid by their names in tables: what is compared, and then the references.

    Args:
        base, methods, references: as of `compare`.
        own_models: whether variants may name models.

    Raises:
        InputError: a method, a variant or a reference is at fault, or asks for an estimate.
    """
    recipes = (
        setting_variants(base, methods, own_models=own_models) if isinstance(methods, Mapping)
        else method_variants(base, methods)
    )  # fmt: skip
    check_no_estimate(recipes)
    recipes = {name: replace(recipe, estimate=None) for name, recipe in recipes.items()}
    baseline = next(iter(recipes.values()))
    return recipes | reference_variants(baseline, [name for name in references if name not in recipes])


def check_grid(grid: Grid) -> None:
    """Checks what needs neither data nor models.

    Raises:
        InputError: fewer than two seeds, two models of one name, no test rows, or a recipe at fault.
    """
    if len(set(grid.seeds)) < max(2, len(grid.seeds)):
        raise InputError(
            "--seeds: name at least two different seeds, as in --seeds 0,1,2: a single run gives no interval"
        )
    if len({Path(model).name for model in grid.models}) < len(grid.models):
        raise InputError(
            f"--models {','.join(grid.models)}: two have the same name, which is that of a folder: give the folder of "
            "one of them another name, or compare them one by one"
        )
    for one, other in combinations(grid.recipes, 2):
        if folder_name(one, 0) == folder_name(other, 0):
            raise InputError(f"{quoted(one)} and {quoted(other)} have the same folder of runs: rename one of them")
    for condition in grid.conditions():
        for method in grid.recipes:
            recipe = grid.recipe(condition, method, grid.seeds[0])
            if recipe.test is None and Path(recipe.data).exists():
                raise InputError(f"{recipe.data}: a comparison needs test rows: name a file with --test")
            check_machine(recipe)
