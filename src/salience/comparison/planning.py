"""What the runs of a comparison have in common, and the steps of each method, before the first run is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from transformers import TrainerCallback

from salience.comparison.grid import Condition, Grid, Run, mixed_data_sets, with_method_of
from salience.comparison.kept_runs import NO_TEST, KeptRun, is_kept, read_run
from salience.comparison.results import Known, read_known, write_known
from salience.errors import InputError, unknown
from salience.files import Occupied, locked
from salience.jobs import Job
from salience.mixing.choosing import PLAIN, choose_method
from salience.mixing.method import resolved
from salience.runs.folder import RunFolder, kept_precision, work_of
from salience.training.fit import Listeners, build_trainer, run_trainer
from salience.training.measures import Measure, check_measured
from salience.training.passes import passes_per_step
from salience.training.prepare import Prepared, first_batches, silent
from salience.training.recipe import Recipe
from salience.training.references import is_reference, make_reference, trained
from salience.training.run import prepare_files, train
from salience.training.task import check_measures, checksums

# Equal budgets: how many steps each method has, so that all of them spend as much as the baseline.

UNTIMED, TIMED = 3, 10  # steps before the clock starts, in which memory is allocated; steps whose median counts
Costs = dict[str, float]  # of a step of each method, in passes or in seconds


def steps_of(steps: int, cost: float, of_baseline: float) -> int:
    """The steps of a method that spends as much as the baseline: `steps` * of_baseline / cost, rounded.

    Args:
        steps: of the baseline.
        cost: of a step of the method, in any unit.
        of_baseline: of a step of the baseline, in the same unit.
    """
    return max(1, round(steps * of_baseline / cost))


def by_passes(recipes: Mapping[str, Recipe]) -> Costs:
    """The passes of each text in a step of each recipe, on average.

    The model is built once for recipes that differ in the method only. Methods that choose a head on the training rows
    choose it on those of the recipes' seed.
    """
    built: list[tuple[Recipe, Prepared]] = []

    def passes(recipe: Recipe) -> float:
        rest = replace(recipe, method=PLAIN, method_options={})
        prepared = next((each for before, each in built if before == rest), None)
        if prepared is None:
            prepared = prepare_files(recipe)[0]
            built.append((rest, prepared))
        classifier, method = prepared.classifier, choose_method(recipe.method, recipe.method_options)
        batches = first_batches(classifier.tokenizer, prepared.training)
        whole = resolved(method, classifier.model, classifier.tokenizer, batches)
        return passes_per_step(whole, recipe.clean, classifier.model)

    return mean_costs(recipes, passes)


def by_time(recipes: Mapping[str, Recipe]) -> Costs:
    """The seconds of a step of each recipe, on average, measured here and now: the median of some steps."""
    return mean_costs(recipes, seconds_per_step)


def mean_costs(recipes: Mapping[str, Recipe], cost: Callable[[Recipe], float]) -> Costs:
    """What a step of each recipe costs; it is asked once for equal recipes."""
    known: list[tuple[Recipe, float]] = []

    def once(recipe: Recipe) -> float:
        found = next((value for before, value in known if before == recipe), None)
        if found is None:
            known.append((recipe, found := cost(recipe)))
        return found

    return {name: once(recipe) for name, recipe in recipes.items()}


def seconds_per_step(recipe: Recipe) -> float:
    """The median seconds of `TIMED` training steps of a recipe, after some that do not count.

    A model that is trained by turns is timed where all of its weights are trained.
    """
    prepared = replace(prepare_files(replace(recipe, steps=UNTIMED + TIMED))[0], validation=None)
    clock = Clock()
    with TemporaryDirectory() as folder:
        run_trainer(build_trainer(prepared, Path(folder), Listeners(callbacks=[clock])))
    return median(clock.seconds[UNTIMED:])


class Clock(TrainerCallback):
    """Measures the seconds of every step, its batch on the device to the updated weights."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.begun = 0.0

    def on_step_begin(self, args, state, control, **_):
        """Called by the Trainer."""
        self.begun = moment()

    def on_step_end(self, args, state, control, **_):
        """Called by the Trainer."""
        self.seconds.append(moment() - self.begun)


def moment() -> float:
    """The time in seconds, when the device has done all that it was asked to."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


BUDGETS: dict[str, Callable[[Mapping[str, Recipe]], Costs] | None] = {
    "passes": by_passes, "time": by_time, "steps": None
}  # fmt: skip
UNITS = {"passes": "passes of each text", "time": "seconds"}
PATIENCE = 3600  # seconds to wait for another command that measures steps


Plan = dict[str, Recipe]  # method to its recipe with nothing left open; the seed is the first one


def plans_of(
    grid: Grid, precision: str, output: Path, budget: str = "passes", note: Callable[[str], None] = silent,
    measures: Mapping[str, Measure] | None = None,
) -> dict[Condition, Plan]:  # fmt: skip
    """For each condition the settings of its runs, with which finished runs are compared.

    What follows from the data and the model, and what was measured, is kept in a file. So a finished grid is read
    without data and models, and a grid that is continued has the steps with which it began.

    Args:
        precision: of all runs that leave it open; "auto" finds it out.
        output: the folder of the comparison.
        budget: what all methods spend alike, a key of `BUDGETS`.
        note: called with a line of text for every choice and warning.
        measures: what is measured of each run beside its scores, by name.

    Raises:
        InputError: there is no such budget, the data or a recipe is at fault, or something is wanted that texts with
            several labels cannot have.
    """
    if budget not in BUDGETS:
        raise unknown("--budget", budget, BUDGETS)
    # Commands that measured at the same time would measure different steps.
    with locked(output / "measuring", PATIENCE) if budget == "time" else nullcontext():
        known, plans = read_known(output), {}
        left_open = [method for method, recipe in grid.recipes.items() if recipe.precision == "auto"]
        for condition in grid.conditions():
            plan, own_steps = filled_in(grid, condition, precision, known, note)
            check_labels_of(grid, condition, known, measures or {})
            precision = plan[left_open[0]].precision if left_open else precision
            costs = costs_of(grid, condition, plan, budget, known, note)
            plans[condition] = with_steps(plan, own_steps, costs, grid.baseline)
        write_known(output, known)
    return plans


def filled_in(
    grid: Grid, condition: Condition, precision: str, known: Known, note: Callable[[str], None]
) -> tuple[Plan, set[str]]:
    """The recipes of a condition with nothing left open, and the variants whose steps are not those of the baseline.

    What was found out is added to what is known. Recipes that differ from the baseline's in the method only follow
    from it, without another preparation.
    """
    asked = {method: grid.recipe(condition, method, grid.seeds[0]) for method in grid.recipes}
    base = trained(asked[grid.baseline])
    base = replace(base, precision=open_or(base.precision, precision), checksums=checksums(base))
    whole = prepared_recipe(base, condition.data, known, note)
    plan = {}
    for method, recipe in asked.items():
        own = replace(trained(recipe), precision=open_or(recipe.precision, precision), checksums=base.checksums)
        found = whole if with_method_of(own, base) == base else prepared_recipe(own, condition.data, known, note)
        plan[method] = found if recipe.method is None else with_method_of(found, recipe)
    return plan, {
        method for method, recipe in asked.items()
        if recipe.steps not in (None, base.steps) or recipe.steps_factor != base.steps_factor
    }  # fmt: skip


def open_or(precision: str, found: str) -> str:
    """The precision of a recipe; if it is left open, the one that was found for others."""
    return found if precision == "auto" else precision


def check_labels_of(grid: Grid, condition: Condition, known: Known, measures: Mapping[str, Measure]) -> None:
    """Checks what texts with several labels cannot have, and that all data sets have labels of one kind.

    Raises:
        InputError: names the option and the reason, or two data sets.
    """
    several = known.several.get(condition.data, False)
    first = next(iter(grid.conditions())).data
    if several != known.several.get(first, False):
        raise mixed_data_sets(first, condition.data)
    check_measures(measures, several)


def prepared_recipe(asked: Recipe, data: str, known: Known, note: Callable[[str], None]) -> Recipe:
    """A recipe with nothing left open. A new one is added to what is known, with the kind of labels of its data set.

    Args:
        data: the name of the data set.
    """
    found = next((after for before, after in known.recipes if before == asked), None)
    if found is None:
        prepared, task = prepare_files(asked, note)
        if not len(task.test):  # of a data set on the hub, this is seen when it is read
            raise InputError(NO_TEST)
        known.several[data] = task.multi_label
        found = prepared.plan
        known.recipes.append((replace(asked, precision=found.precision), found))
    return found


def costs_of(
    grid: Grid, condition: Condition, plan: Plan, budget: str, known: Known, note: Callable[[str], None]
) -> Costs:
    """What a step of each method costs in a condition, 1 with the budget "steps"; new costs are added to the known.

    A reference has no steps. If one is the baseline, the others spend as much as plain training.
    """
    recipes = {
        method: replace(with_method_of(recipe, trained(recipe)), seed=0)  # the same for whatever seeds
        for method, recipe in plan.items() if method == grid.baseline or not is_reference(recipe)
    }  # fmt: skip
    measure = BUDGETS[budget]
    if measure is None:
        return dict.fromkeys(recipes, 1.0)
    found = {
        method: next((cost for by, before, cost in known.costs if by == budget and before == recipe), None)
        for method, recipe in recipes.items()
    }
    new = {method: recipes[method] for method, cost in found.items() if cost is None}
    for method, cost in (measure(new) if new else {}).items():
        if not cost > 0:
            raise InputError(f"a step of {method} took no time that can be measured: use --budget passes")
        known.costs.append((budget, recipes[method], cost))
        found[method] = cost
        note(f"{grid.title(condition) or 'budget'}: a step of {method} costs {cost:.3g} {UNITS[budget]}")
    # Passes are those of a text, so that larger batches cost more.
    texts = {method: (recipe.batch_size or 1) if budget == "passes" else 1 for method, recipe in recipes.items()}
    return {method: cost * texts[method] for method, cost in found.items() if cost is not None}


def with_steps(plan: Plan, own_steps: set[str], costs: Costs, baseline: str) -> Plan:
    """The recipes with the steps that spend as much as the baseline.

    Args:
        own_steps: methods that keep the steps of their recipes.
        costs: of a step of each method that has steps.
        baseline: whose steps are the measure.
    """
    steps = plan[baseline].steps
    assert steps is not None  # nothing is left open
    return {
        method: recipe if method in own_steps
        else replace(recipe, steps=steps_of(
            steps, costs.get(method, costs[baseline]), costs[baseline]
        ))
        for method, recipe in plan.items()
    }  # fmt: skip


# The runs of a comparison as jobs, each of which writes a folder.


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
        wanted = {} if is_reference(self.recipe) else self.measures  # a reference has no model that is measured
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
            work = partial(make_reference, self.wanted, self.folder)
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


# The finished runs of a grid, with what their comparison and its report need of them.


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
