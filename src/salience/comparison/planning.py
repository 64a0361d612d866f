"""What the runs of a comparison have in common, and the steps of each method, before the first run is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from salience.comparison.budgets import Costs, by_passes, by_time, steps_of
from salience.comparison.files import Known, read_known, write_known
from salience.comparison.grid import Condition, Grid, mixed_data_sets, with_method_of
from salience.comparison.kept_runs import NO_TEST
from salience.errors import InputError, unknown
from salience.outputs import locked
from salience.training.inputs import checksums
from salience.training.measured_scores import Measure
from salience.training.multi_label import check_compared, check_measures
from salience.training.preparing import silent
from salience.training.recipe import Recipe
from salience.training.references import is_reference, trained
from salience.training.run import prepare_files

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
    check_compared([recipe.method for recipe in grid.recipes.values()], several)
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
        found = prepared.recipe
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
