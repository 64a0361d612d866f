"""The settings of the runs of a comparison, with nothing left open, and equal budgets, before the first run is made.

What follows from the data and the models, and what was measured, is kept in grid.json. So a finished grid is read
without data and models, and a grid that is continued has the steps with which it began.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from transformers import TrainerCallback

from salience.comparison.grid import PATIENCE, Condition, Grid, folder_name, with_method_of
from salience.errors import InputError, unknown
from salience.files import locked, whole_file
from salience.mixing.choosing import PLAIN, choose_method
from salience.mixing.method import needs_layers, resolved
from salience.runs.folder import kept_precision
from salience.training.fit import Listeners, build_trainer, run_trainer
from salience.training.measures import Measure
from salience.training.passes import passes_per_step
from salience.training.prepare import Prepared, first_batches, silent
from salience.training.recipe import Plan, Recipe
from salience.training.references import is_reference, trained
from salience.training.run import checked_files
from salience.training.task import check_measures, checksums

NO_TEST = "the data set has no test part, which a comparison needs: name one with --test"
MEASURING = 3600  # seconds to wait for another command that measures steps
UNTIMED, TIMED = 3, 10  # steps before the clock starts, in which memory is allocated; steps whose median counts


def plans_of(
    grid: Grid, output: Path, budget: str = "passes", note: Callable[[str], None] = silent,
    measures: Mapping[str, Measure] | None = None,
) -> dict[Condition, dict[str, Plan]]:  # fmt: skip
    """For each condition the plan of each method, with the first seed, with which finished runs are compared.

    All methods spend as much as the baseline does in its steps. A method has a number of steps of its own if a variant
    names it. Recipes that differ from the baseline's in the method only follow from it, without another preparation.
    """
    if budget not in BUDGETS:
        raise unknown("--budget", budget, BUDGETS)
    # Commands that measured at the same time would measure different steps.
    with locked(output / "measuring", MEASURING) if budget == "time" else nullcontext():
        known, plans = Known.read(output / "grid.json"), {}
        first = next(iter(grid.conditions())).data
        left_open = [method for method, recipe in grid.recipes.items() if recipe.precision == "auto"]
        folders = (
            output / grid.folder(condition) / folder_name(method, seed)
            for seed in grid.seeds for condition in grid.conditions() for method in left_open
        )  # fmt: skip
        precision = next(filter(None, map(kept_precision, folders)), "auto")  # of the runs that are there already
        for condition in grid.conditions():
            asked = {method: grid.recipe(condition, method, grid.seeds[0]) for method in grid.recipes}
            sums, own = checksums(trained(asked[grid.baseline])), {}
            for method, recipe in asked.items():
                chosen = precision if recipe.precision == "auto" else recipe.precision
                own[method] = replace(trained(recipe), precision=chosen, checksums=sums)
            own = alike_in_depth(own, note)
            base = own[grid.baseline]
            if base.trained_layers == 0:
                raise InputError(
                    f"{grid.baseline} makes no steps, by which the others are paid: name another one first"
                )
            whole = known.recipe(base, condition.data, note)
            plan: dict[str, Plan] = {}
            for method, recipe in own.items():
                same = with_method_of(recipe, base) == base
                found = whole if same else known.recipe(recipe, condition.data, note)
                plan[method] = found if asked[method].method is None else with_method_of(found, asked[method])
            if (several := known.several.get(condition.data, False)) != known.several.get(first, False):
                raise InputError(
                    f"the texts of one of the data sets {first} and {condition.data} have one label each, and those "
                    "of the other several, whose scores are others: compare them one by one"
                )
            check_measures(measures or {}, several)
            if left_open:
                precision = plan[left_open[0]].precision
            costs = known.costs_of(plan, grid.baseline, budget, note, grid.title(condition) or "budget")
            cost = costs[grid.baseline]
            plans[condition] = {
                method: recipe
                if asked[method].steps not in (None, base.steps)
                or (asked[method].steps_factor, asked[method].effort) != (base.steps_factor, base.effort)
                or recipe.steps == 0
                else replace(recipe, steps=steps_of(whole.steps, costs.get(method, cost), cost))
                for method, recipe in plan.items()
            }
        known.write()
    return plans


def alike_in_depth(recipes: Mapping[str, Recipe], note: Callable[[str], None]) -> dict[str, Recipe]:
    """The recipes, so that no difference between methods is one of depth.

    Those that name the same trained layers all train all layers if the method of one needs lower ones.
    """
    chosen = dict(recipes)
    for layers in {recipe.trained_layers for recipe in recipes.values()} - {"all"}:
        alike = {name: recipe for name, recipe in recipes.items() if recipe.trained_layers == layers}
        for name, recipe in alike.items():
            if recipe.method and needs_layers(choose_method(recipe.method, recipe.method_options)):
                note(f"all layers are trained by all methods: {name} may need what lies below the top {layers}")
                chosen |= {each: replace(own, trained_layers="all") for each, own in alike.items()}
                break
    return chosen


@dataclass
class Known:
    """What earlier commands found out for the runs of a comparison, and the file that keeps it."""

    file: Path
    recipes: list[tuple[Recipe, Plan]] = field(default_factory=list)  # as the user gave them, each with its plan
    costs: list[tuple[str, Plan, float]] = field(default_factory=list)  # of a step, in the unit of the budget
    several: dict[str, bool] = field(default_factory=dict)  # whether the texts of a data set can have several labels

    @classmethod
    def read(cls, file: Path) -> Known:
        """Nothing is known if the file is missing or damaged."""
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            return cls(
                file,
                [(Recipe.from_mapping(asked), Plan.from_mapping(plan)) for asked, plan in found["recipes"]],
                [(str(budget), Plan.from_mapping(of), float(cost)) for budget, of, cost in found.get("costs", [])],
                {str(name): bool(several) for name, several in found.get("several", {}).items()},
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):
            return cls(file)

    def write(self) -> None:
        if self == Known.read(self.file):
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        found = {
            "recipes": [[recipe.as_mapping() for recipe in pair] for pair in self.recipes],
            "costs": [[budget, recipe.as_mapping(), cost] for budget, recipe, cost in self.costs],
            "several": self.several,
        }
        with whole_file(self.file, PATIENCE) as unfinished:
            unfinished.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    def recipe(self, asked: Recipe, data: str, note: Callable[[str], None]) -> Plan:
        """The plan of a recipe; a new one is found out, with the kind of labels of its data set."""
        for before, found in self.recipes:
            if before == asked:
                return found
        prepared, task = checked_files(asked, note)
        if not len(task.test):  # of a data set on the hub, this is seen when it is read
            raise InputError(NO_TEST)
        self.several[data] = task.multi_label
        pair = (replace(asked, precision=prepared.plan.precision), prepared.plan)
        if pair not in self.recipes:  # as left by a command that was killed before a run had its precision
            self.recipes.append(pair)
        return prepared.plan

    def costs_of(
        self, plan: Mapping[str, Plan], baseline: str, budget: str, note: Callable[[str], None], title: str
    ) -> dict[str, float]:
        """What a step of each method costs, in passes of all its texts or in seconds; new costs are measured.

        References have no steps. If one is the baseline, the others have the budget of fine-tuning without mixing.
        """
        kind, costs = BUDGETS[budget], {}
        measure = kind and kind[0]()
        for method, recipe in plan.items():
            if method != baseline and (is_reference(recipe) or recipe.steps == 0):
                continue
            if kind is None or measure is None:
                costs[method] = 1.0
                continue
            recipe = replace(with_method_of(recipe, trained(recipe)), seed=0)  # the same for whatever seeds
            cost = next((cost for by, before, cost in self.costs if by == budget and before == recipe), None)
            if cost is None:
                cost = measure(recipe)
                if not cost > 0:
                    raise InputError(f"a step of {method} took no time that can be measured: use --budget passes")
                self.costs.append((budget, recipe, cost))
                note(f"{title}: a step of {method} costs {cost:.3g} {kind[1]}")
            # Passes are those of a text, so that larger batches cost more.
            costs[method] = cost * ((recipe.batch_size or 1) if budget == "passes" else 1)
        return costs


def steps_of(steps: int, cost: float, of_baseline: float) -> int:
    """The steps of a method, each of a cost, that spend as much as `steps` of the baseline; rounded, at least one."""
    return max(1, round(steps * of_baseline / cost))


def counting_passes() -> Callable[[Recipe], float]:
    """Gives the passes of each text in a step of a recipe, on average.

    The model is built once for recipes that differ in the method only. Methods that choose a head on the training rows
    choose it on those of the recipe's seed.
    """
    built: list[tuple[Recipe, Prepared]] = []

    def passes(recipe: Recipe) -> float:
        rest = replace(recipe, method=PLAIN, method_options={})
        prepared = next((each for before, each in built if before == rest), None)
        if prepared is None:
            prepared = checked_files(recipe)[0]
            built.append((rest, prepared))
        classifier, method = prepared.classifier, choose_method(recipe.method, recipe.method_options)
        batches = first_batches(classifier.tokenizer, prepared.training)
        whole = resolved(method, classifier.model, classifier.tokenizer, batches)
        return passes_per_step(whole, recipe.clean, classifier.model)

    return passes


def seconds_per_step(recipe: Recipe) -> float:
    """The median seconds of `TIMED` training steps of a recipe, here and now, after some that do not count."""
    prepared = replace(checked_files(replace(recipe, steps=UNTIMED + TIMED))[0], validation=None)
    clock = Clock()
    with TemporaryDirectory() as folder:
        run_trainer(build_trainer(prepared, Path(folder), Listeners(callbacks=[clock])))
    return median(clock.seconds[UNTIMED:])


class Clock(TrainerCallback):
    """Measures the seconds of every step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.begun = 0.0

    def on_step_begin(self, args, state, control, **_):
        self.begun = moment()

    def on_step_end(self, args, state, control, **_):
        self.seconds.append(moment() - self.begun)


def moment() -> float:
    """The time in seconds, when the device has done all that it was asked to."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


# Budget -> what begins to measure the costs of steps, one recipe at a time, and their unit. Steps cost the same.
BUDGETS: dict[str, tuple[Callable[[], Callable[[Recipe], float]], str] | None] = {
    "passes": (counting_passes, "forward-backward passes per text"), "time": (lambda: seconds_per_step, "seconds"),
    "steps": None,
}  # fmt: skip
