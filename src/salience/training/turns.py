"""VAT: learner and compressor train the same attention by turns.

Iteration 0 trains encoder, attention and head together, which is the ATT of the paper. Every later iteration first
trains attention and compressor while the encoder is frozen, then encoder and head while the attention is frozen. The
iteration with the best validation accuracy is selected, from the first on that can be kept. The accuracy is that of
what the model predicts by: the learner (attention, pooled vector, head), or its compressor. A model that predicts by
its compressor is trained in the same way, but its iteration 0, whose compressor is untrained, is never selected.

Without the compressor's turns, encoder and head are trained further with the attention of iteration 0. It is the
control that tells what the turns of the learner gain by themselves.

Zhou et al. (Findings of ACL-IJCNLP 2021), "Attending via both Fine-tuning and Compressing", section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from torch import Tensor
from transformers import PreTrainedModel, TrainerState, set_seed

from salience.errors import InputError
from salience.inference.probabilities import predict_probabilities
from salience.processes import is_main_process
from salience.training.compressing import compress, frozen
from salience.training.features import encode_features
from salience.training.fitting import Fitted, Listeners, build_trainer, run_trainer
from salience.training.phases import read_phase, write_phase
from salience.training.preparing import Prepared
from salience.training.procedures import Turns
from salience.training.recipe import Recipe
from salience.training.trainer import MixTrainer
from salience.training.validation_texts import of_texts


def check_turns(procedure: Turns, model: PreTrainedModel) -> None:
    """Checks the settings of a training by turns against the model, before anything is written.

    Raises:
        InputError: there are no iterations that train the compressor, but the model predicts by it.
    """
    if not model.predicts_compressed:
        return
    if procedure.iterations == 0:
        raise InputError(
            "--iterations 0 trains no compressor, but inference=compressor predicts by it: use --iterations 1 or "
            "more, or inference=learner"
        )
    if procedure.compressor == "none":
        raise InputError(
            "--compressor none trains no compressor, but inference=compressor predicts by it: leave one of them out"
        )


def fit_by_turns(prepared: Prepared, procedure: Turns, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fitting.fit`, by turns. Finished phases are stored in `checkpoints`.

    The phases of later iterations have half as many steps as iteration 0, because they begin with a trained model.
    """
    recipe = prepared.recipe
    assert recipe.steps is not None  # nothing is left open in the recipe of a prepared run
    iterations: list[dict[str, Any]] = []
    best: tuple[dict[str, Tensor], TrainerState, dict[str, Any]] | None = None
    for iteration in range(procedure.iterations + 1):
        # Every iteration has its own seed, so that a resumed run draws the same numbers.
        steps = recipe.steps if iteration == 0 else math.ceil(recipe.steps / 2)
        phase = replace(prepared, recipe=replace(recipe, seed=(recipe.seed + iteration) % 2**32, steps=steps))
        folder = checkpoints / f"iteration-{iteration}"
        trainer = build_trainer(phase, folder / "learner", listeners)
        model = trainer.model
        label = f"iteration {iteration} of {procedure.iterations}"
        if iteration > 0 and procedure.compressor == "trained":
            listeners.note(f"{label}: the compressor trains the attention")
            compressor_phase(phase, beta_of(procedure, model), trainer, folder)
        listeners.note(f"{label}: {'encoder and head' if iteration else 'encoder, attention and head'} are trained")
        state = learner_phase(phase.recipe, trainer, folder, joint=iteration == 0)
        listeners.iteration(model)
        accuracy = validation_accuracy(trainer)
        row = {"iteration": iteration, "steps": state.global_step, "validation_accuracy": accuracy}
        untrained = iteration == 0 and model.predicts_compressed
        can_be_kept = iteration >= procedure.earliest and not untrained
        if can_be_kept and (accuracy is None or best is None or accuracy > best[2]["validation_accuracy"]):
            best = {name: weight.detach().clone() for name, weight in model.state_dict().items()}, state, row
        iterations.append(row)
    assert best is not None  # `check_turns` refuses models for which no iteration can be selected
    weights, state, selected = best
    model.load_state_dict(weights)
    return Fitted(
        replace(prepared.classifier, model=model), state, [row | {"kept": row is selected} for row in iterations]
    )


def beta_of(procedure: Turns, model: PreTrainedModel) -> float:
    """The weight of the KL term as a sum over the dimensions of z."""
    return procedure.beta / (model.compressor.latent if procedure.divergence == "mean" else 1)


def compressor_phase(phase: Prepared, beta: float, trainer: MixTrainer, folder: Path) -> None:
    """Trains attention and compressor on the states of the frozen encoder, which are computed once.

    Only the main process trains, and the others read the weights from `folder`: the phase is a small part of the whole
    training.
    """
    recipe = phase.recipe
    assert recipe.steps is not None and recipe.batch_size is not None
    with PartialState().main_process_first():
        if read_phase(trainer.model, folder / "compressed") is not None:
            return
        set_seed(recipe.seed)
        features = encode_features(trainer.model, phase.training, folder)
        compress(trainer.model, features, recipe.steps, recipe.batch_size, beta, trainer.loss)
        write_phase(trainer.model, folder / "compressed", {"global_step": recipe.steps})
        (folder / "features.npy").unlink(missing_ok=True)


def learner_phase(recipe: Recipe, trainer: MixTrainer, folder: Path, joint: bool) -> TrainerState:
    """Trains encoder and head, and also the attention if `joint`; gives the Trainer's state."""
    model = trainer.model
    if (finished := read_phase(model, folder / "learnt")) is not None:
        return TrainerState(**finished)
    set_seed(recipe.seed)  # the same numbers are drawn if the compressor phase is skipped in a resumed run
    with frozen(model.compressor, *([] if joint else [model.pooling])), predicting_as_learner(model):
        state = run_trainer(trainer)
    if is_main_process():
        names = ("global_step", "best_global_step", "log_history")
        write_phase(model, folder / "learnt", {name: getattr(state, name) for name in names})
    PartialState().wait_for_everyone()
    return state


@contextmanager
def predicting_as_learner(model: PreTrainedModel) -> Iterator[None]:
    """Inside the `with`, the model predicts by its learner, so that checkpoints are selected by what is trained."""
    before = model.config.inference
    model.config.inference = "learner"
    try:
        yield
    finally:
        model.config.inference = before


def validation_accuracy(trainer: MixTrainer) -> float | None:
    """The accuracy on the validation rows, from 0 to 1; None if there are none."""
    rows = trainer.eval_dataset
    if rows is None:
        return None
    of_rows = predict_probabilities(trainer.model, rows, "fp32")
    probabilities, labels = of_texts(of_rows, np.asarray(rows.labels), rows.owners)
    return float((probabilities.argmax(1) == labels).mean())
