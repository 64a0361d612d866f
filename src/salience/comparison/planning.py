"""What the runs of a comparison have in common, and the steps of each method, before the first run is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from salience.comparison.budgets import Costs, by_passes, by_time, steps_of
from salience.comparison.files import Known, read_known, write_known
from salience.comparison.grid import Condition, Grid, with_method_of
from salience.errors import InputError, unknown
from salience.outputs import locked
from salience.training.inputs import checksums
from salience.training.preparing import silent
from salience.training.recipe import Recipe
from salience.training.references import is_reference, trained
from salience.training.run import prepare_files

BUDGETS: dict[str, Callable[[Mapping[str, Recipe]], Costs] | None] = {
    "passes": by_passes, "time": by_time, "steps": None
}  # fmt: skip
UNITS = {"passes": "passes of each text", "time": "seconds"}
PATIENCE = 3600  # seconds to wait for another command that measures steps


@dataclass(frozen=True)
class Plan:
    """The settings of the runs of a condition.

    Args:
        recipe: of the baseline, with nothing left open.
        steps: method to its number of training steps.
    """

    recipe: Recipe
    steps: dict[str, int]


def plans_of(
    grid: Grid, precision: str, output: Path, budget: str = "passes", note: Callable[[str], None] = silent
) -> dict[Condition, Plan]:
    """For each condition the settings of its runs, with which finished runs are compared.

    What follows from the data and the model, and what was measured, is kept in a file. So a finished grid is read
    without data and models, and a grid that is continued has the steps with which it began.

    Args:
        precision: of all runs; "auto" finds it out.
        output: the folder of the comparison.
        budget: what all methods spend alike, a key of `BUDGETS`.
        note: called with a line of text for every choice and warning.

    Raises:
        InputError: there is no such budget, or the data or a recipe is at fault.
    """
    if budget not in BUDGETS:
        raise unknown("--budget", budget, BUDGETS)
    # Commands that measured at the same time would measure different steps.
    with locked(output / "measuring", PATIENCE) if budget == "time" else nullcontext():
        known, plans = read_known(output), {}
        for condition in grid.conditions():
            recipe = filled_in(grid, condition, precision, known, note)
            assert recipe.steps is not None
            precision = recipe.precision
            costs = costs_of(grid, condition, recipe, budget, known, note)
            steps = {
                method: steps_of(recipe.steps, cost, costs[grid.baseline], 1 + bool(grid.recipes[method].plain_share))
                for method, cost in costs.items()
            }
            plans[condition] = Plan(recipe, steps)
        write_known(output, known)
    return plans


def filled_in(grid: Grid, condition: Condition, precision: str, known: Known, note: Callable[[str], None]) -> Recipe:
    """The recipe of a condition's baseline with nothing left open; a new one is added to what is known."""
    asked = replace(trained(grid.recipe(condition, grid.baseline, grid.seeds[0])), precision=precision)
    asked = replace(asked, checksums=checksums(asked))
    found = next((after for before, after in known.recipes if before == asked), None)
    if found is None:
        found = prepare_files(asked, note)[0].recipe
        known.recipes.append((replace(asked, precision=found.precision), found))
    return found


def costs_of(
    grid: Grid, condition: Condition, whole: Recipe, budget: str, known: Known, note: Callable[[str], None]
) -> Costs:
    """What a step of each method costs in a condition, 1 with the budget "steps"; new costs are added to the known.

    A reference has no steps. If one is the baseline, the others spend as much as plain training.
    """
    recipes = {
        method: replace(with_method_of(whole, trained(recipe)), seed=0)  # the same for whatever seeds
        for method, recipe in grid.recipes.items() if method == grid.baseline or not is_reference(recipe)
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
    return {method: cost for method, cost in found.items() if cost is not None}
