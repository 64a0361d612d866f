"""Comparison of methods: trained with the same settings and seeds, evaluated on the same test rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from salience.assignments import name_and_options
from salience.comparison.cells import cells_of, precision_in
from salience.comparison.kept_runs import COMPARISON, check_comparison
from salience.comparison.results import Comparison, comparison_of
from salience.errors import InputError, listed
from salience.files import whole_file
from salience.jobs import QUIET, Display, Failure, FailureLog, Job, pool_of, run_jobs
from salience.mixing.choosing import choose_method, written_method
from salience.training.preparing import check_recipe
from salience.training.recipe import Recipe
from salience.training.run import prepare_files
from salience.training.trackers import check_trackers

FAILURES = "failures.jsonl"
PATIENCE = 60  # seconds to wait for another command that writes the comparison


def compare(
    base: Recipe,
    methods: Sequence[Any],
    seeds: Sequence[int],
    output: Path,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
    *,
    jobs: int = 1,
    ray: str | None = None,
    part: tuple[int, int] = (1, 1),
    display: Display = QUIET,
    report_to: Sequence[str] = (),
) -> Comparison | None:
    """Trains every method with every seed and compares them with the first one.

    The seed decides everything random: the validation part, the new head, batches and mixtures. Each run writes its
    metrics, predictions and recipe to `output/METHOD-SEED`. Finished runs are not repeated, and an interrupted run is
    resumed. Several commands may work on one output: each run is made by one of them. A run that fails is recorded in
    `output/failures.jsonl` with its error, and the others go on.

    Args:
        base: all settings but the method and the seed. Its `method_options` are used if its method is compared
            without options.
        methods: at least two names with their options, as "ssmix:window=0.2", or objects, as `SSMix(window=0.2)`.
        seeds: at least two.
        output: the folder of all runs.
        note: called with a line of text for every run.
        callbacks: callbacks of the Trainer, added to its defaults in every run; picklable with several jobs.
        jobs: number of runs that are made at the same time, each in a process of its own.
        ray: address of a Ray cluster that makes the runs; None for this machine.
        part: (k, n) makes the k-th of n parts of the runs, for n machines; k starts at 1.
        display: is told the progress of the runs.
        report_to: trackers of experiments that follow the runs, as for `salience.training.run.train`.

    Returns:
        The comparison; None if runs of other parts are still missing.

    Raises:
        InputError: fewer than two methods or seeds, no test rows, an output that contains runs with other settings,
            or runs have failed.
    """
    check_trackers(report_to)
    recipes = recipes_of(base, methods)
    if len(set(seeds)) < max(2, len(seeds)):
        raise InputError(
            "--seeds: name at least two different seeds, as in --seeds 0,1,2: a single run gives no interval"
        )
    if base.test is None and Path(base.data).exists():
        raise InputError(f"{base.data}: a comparison needs test rows: name a file with --test")
    for recipe in recipes.values():
        check_recipe(recipe)
    pool = pool_of(jobs, ray)
    check_comparison(output)
    # Settings that are left open are filled in once, because those of finished runs are compared with them.
    precision = precision_in(output, recipes, seeds) if base.precision == "auto" else base.precision
    first = replace(next(iter(recipes.values())), seed=seeds[0], precision=precision)
    filled_in = prepare_files(first, note)[0].recipe
    cells = {cell.name: cell for cell in cells_of(recipes, seeds, filled_in, output)}
    for cell in cells.values():
        cell.is_done()  # runs with other settings are refused before the first one is made

    def tell(job: Job, failure: Failure | None) -> None:
        found = failure.error if failure else f"accuracy {cells[job.name].read()['metrics']['test']['accuracy']:.3f}"
        note(f"{job.name}: {found}")

    turn, parts = part
    mine = [cell.job(callbacks, tuple(report_to)) for cell in list(cells.values())[turn - 1 :: parts]]
    log = FailureLog(output / FAILURES)
    log.check(run_jobs(mine, pool, log, display, tell, note), len(mine))
    missing = [name for name, cell in cells.items() if not cell.is_done()]
    if missing:
        note(f"{len(missing)} of {len(cells)} runs are left to other parts; the last of them prints the comparison")
        return None
    runs = {(cell.method, cell.seed): cell.read() for cell in cells.values()}
    comparison = comparison_of(runs, list(recipes), list(seeds))
    with whole_file(output / COMPARISON, PATIENCE) as unfinished:
        unfinished.write_text(json.dumps(asdict(comparison), indent=2) + "\n", encoding="utf-8")
    return comparison


def recipes_of(base: Recipe, methods: Sequence[Any]) -> dict[str, Recipe]:
    """The recipe of every method, by its name in tables, such as "ssmix:window=0.2".

    Raises:
        InputError: fewer than two methods, the same one twice, or options of the base that no method takes.
    """
    recipes: dict[str, Recipe] = {}
    for method in methods:
        name, options = name_and_options(method, "--methods") if isinstance(method, str) else written_method(method)
        if not options and name == base.method:
            options = base.method_options
        recipe = replace(base, method=name, method_options=options)
        choose_method(name, options)
        recipes[table_name(recipe)] = recipe
    if len(methods) < 2 or len(recipes) < len(methods):
        raise InputError(
            f"--methods {','.join(map(str, methods))}: name at least two different methods, as in "
            "--methods plain,ssmix"
        )
    if base.method_options and all(recipe.method != base.method for recipe in recipes.values()):
        raise InputError(
            f"the options {listed(base.method_options)} belong to the method {base.method}, which is not compared: "
            f"write them behind a method, as in --methods plain,{base.method}:field=value"
        )
    return recipes


def table_name(recipe: Recipe) -> str:
    """The name of a method in tables, with its options: ssmix:window=0.2."""
    options = ",".join(f"{name}={as_yaml(value)}" for name, value in recipe.method_options.items())
    return recipe.method + (f":{options}" if options else "")


def as_yaml(value: object) -> str:
    """A value in YAML, without spaces: true, null, [2,32]."""
    return json.dumps(value, separators=(",", ":")).strip('"')
