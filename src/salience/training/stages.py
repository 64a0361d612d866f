"""Training in two stages: plainly at first, then with the mixing method from the best checkpoint of the first stage.

The second stage has an optimiser and a schedule of its own, and a fifth of the learning rate. It draws its batches by
another seed, so that it does not see those of the first stage again.

Yoon et al. (2021), arXiv:2106.08062, section 3.4; see `salience.training.plain_stage`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from accelerate import PartialState

from salience.processes import is_main_process
from salience.training.fitting import Fitted, Listeners, fit_once
from salience.training.phases import read_phase, write_phase
from salience.training.plain_stage import RATE, stage_steps
from salience.training.preparing import Prepared
from salience.training.procedures import Standard
from salience.training.recipe import Recipe


def fit_in_stages(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fitting.fit`, in two stages. A finished first stage is stored in `checkpoints`.

    Without validation rows, the second stage goes on from the last weights of the first one.
    """
    plain, mixed = stage_recipes(prepared.recipe)
    listeners.note(f"stage 1 of 2: plain, {plain.steps} steps, learning rate {plain.learning_rate:.2g}")
    plain_steps, earlier = plain_stage(replace(prepared, recipe=plain, method=None), procedure, checkpoints, listeners)
    listeners.note(
        f"stage 2 of 2: {mixed.method}, {mixed.steps} steps, learning rate {mixed.learning_rate:.2g}, from the "
        f"{'last' if prepared.validation is None else 'best'} checkpoint of stage 1"
    )
    fitted = fit_once(replace(prepared, recipe=mixed), procedure, checkpoints / "mixed", listeners)
    return replace(fitted, plain_steps=plain_steps, earlier=earlier)


def stage_recipes(recipe: Recipe) -> tuple[Recipe, Recipe]:
    """The recipes of both stages, in neither of which anything is left open.

    The evaluations are divided as the steps are, so that they are as far apart as in a training of one stage.

    Args:
        recipe: nothing is left open in it; its `plain_share` is above 0.
    """
    assert recipe.steps is not None and recipe.learning_rate is not None
    plain_steps, mixed_steps = stage_steps(recipe.steps, recipe.plain_share)
    plain_evaluations = max(1, round(recipe.evaluations * plain_steps / recipe.steps))
    mixed_evaluations = max(1, recipe.evaluations - plain_evaluations)
    one = replace(recipe, plain_share=0.0)
    return (
        replace(one, method="plain", method_options={}, steps=plain_steps, evaluations=plain_evaluations),
        replace(
            one, steps=mixed_steps, evaluations=mixed_evaluations, learning_rate=recipe.learning_rate * RATE,
            seed=(recipe.seed + 1) % 2**32,
        ),
    )  # fmt: skip


def plain_stage(
    prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners
) -> tuple[int, list[dict[str, Any]]]:
    """Trains the model of the first stage, or reads it where it is finished.

    Returns:
        The number of steps it took, and its history, see `salience.training.history.history_of`.
    """
    finished = checkpoints / "plain" / "finished"
    if (state := read_phase(prepared.model, finished)) is not None:
        return state["global_step"], state.get("history", [])
    fitted = fit_once(prepared, procedure, checkpoints / "plain", listeners)
    if is_main_process():
        write_phase(prepared.model, finished, {"global_step": fitted.steps, "history": fitted.history})
    PartialState().wait_for_everyone()
    return fitted.steps, fitted.history
