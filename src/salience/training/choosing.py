"""Training with `--method auto`: the methods are compared on halves of the rows, and the chosen one trains on all.

See `salience.training.halving` for the comparison.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from salience.data.splitting import group_numbers
from salience.mixing.choosing import PLAIN
from salience.training.candidates import METHODS
from salience.training.fitting import Fitted, Listeners, fit_once
from salience.training.fold_models import FoldResult, fold_result
from salience.training.folds import recipe_of_folds
from salience.training.halving import Choice, Predicted, candidates_of_rounds, halve
from salience.training.preparing import Prepared, prepare
from salience.training.procedures import Standard
from salience.training.recipe import Recipe
from salience.training.trackers import UNTRACKED


def fit_with_chosen_method(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fitting.fit`, with the method that is chosen among the candidates of the run.

    What the models of the comparison predict is stored in `checkpoints`, so that a run that is killed goes on.
    """
    candidates = prepared.candidates
    assert candidates is not None
    choice, results = choose(prepared, checkpoints / "choice", listeners)
    listeners.note(choice_sentence(choice))
    method = candidates.methods.get(choice.chosen)
    fitted = fit_once(replace(prepared, method=method), procedure, checkpoints / "chosen", listeners)
    passes = sum(result.numbers[2] for result in results)
    return replace(fitted, choice=asdict(choice) | {"text_passes": round(passes, 3)})


def choose(prepared: Prepared, place: Path, listeners: Listeners) -> tuple[Choice, list[FoldResult]]:
    """Compares the candidates of a run with plain training.

    Args:
        place: a folder for checkpoints and what is predicted.

    Returns:
        What was chosen, and the result of every model that was trained for it.

    Raises:
        InputError: the loss or the weights of a model are not finite.
    """
    candidates = prepared.candidates
    assert candidates is not None
    task, own = candidates.task, replace(listeners, tracking=UNTRACKED)
    # Trained weights, whatever share the run keeps: its estimate chooses by them too, before the share is known.
    usual = replace(recipe_of_folds(prepared.recipe, prepared.rows, len(task.labels)), trained_share=1.0)
    rounds = len(candidates_of_rounds(len(candidates.methods)))
    results = []

    def predict(name: str, number: int) -> Predicted:
        part, rows = candidates.part(number)
        recipe = replace(usual, method=name, method_options=METHODS.get(name, {}), auto_budget=Recipe.auto_budget)
        announcement = (
            f"choice of a method, round {number + 1} of {rounds}: {name} is trained on {len(part.training):,} rows "
            f"and predicts {len(rows):,}"
        )
        ready = partial(prepare, recipe, part)
        results.append(fold_result(place / f"{name}-{number + 1}", rows, len(task.labels), ready, own, announcement))
        return rows, results[-1].probabilities[0]  # of the one share

    rows = task.training
    groups = None if rows.groups is None else group_numbers(rows)
    return halve(PLAIN, list(candidates.methods), predict, rows.known_labels, groups), results


def choice_sentence(choice: Choice) -> str:
    """What was chosen and why, in one line."""
    found = f"log loss {abs(choice.difference):.3f} {'lower' if choice.difference > 0 else 'higher'}"
    against = f"{choice.rival} has a {found} than {PLAIN}, with a standard error of {choice.standard_error:.3f}"
    if choice.chosen == PLAIN:
        return f"chosen method: {PLAIN}; {against}, which is not lower beyond chance"
    return f"chosen method: {choice.chosen}; {against}"
