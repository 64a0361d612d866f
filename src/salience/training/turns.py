"""VAT (Zhou et al., Findings of ACL 2021): learner and compressor train the same attention by turns.

Iteration 0 trains encoder, attention and head together, which is the paper's ATT. Every later iteration first trains
the attention with the compressor while the encoder is frozen, then encoder and head while the attention is frozen. The
iteration with the best validation accuracy is kept. It predicts as a learner: attention, pooled vector, head. A model
that is to predict as a compressor is still trained as a learner; its iteration 0, whose compressor is untrained, is
never kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel, TrainerState, set_seed

from salience.errors import InputError
from salience.inference.probabilities import predict_probabilities
from salience.processes import is_main_process
from salience.training.compressing import compress, frozen
from salience.training.features import encode_features
from salience.training.fitting import Fitted, Listeners, build_trainer, run_trainer
from salience.training.preparing import Prepared
from salience.training.procedures import Turns
from salience.training.recipe import Recipe
from salience.training.trainer import MixTrainer


def check_turns(procedure: Turns, model: PreTrainedModel) -> None:
    """Refuses settings of turns that do not fit the model, before anything is written.

    Raises:
        InputError: no compressor would be trained, by which the model is to predict.
    """
    if procedure.iterations == 0 and model.predicts_compressed:
        raise InputError("--iterations 0 trains no compressor, by which inference=compressor is to predict")


def fit_by_turns(prepared: Prepared, procedure: Turns, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fitting.fit`, by turns. Every finished phase lies in `checkpoints`.

    The phases of later iterations are half as long as iteration 0, because they begin with a trained model.
    """
    recipe = prepared.recipe
    assert recipe.steps is not None  # nothing is left open in the recipe of a prepared run
    iterations: list[dict[str, Any]] = []
    best: tuple[dict[str, Tensor], TrainerState, dict[str, Any]] | None = None
    for iteration in range(procedure.iterations + 1):
        # What is drawn differs between phases, and is the same in a run that was interrupted.
        steps = recipe.steps if iteration == 0 else math.ceil(recipe.steps / 2)
        phase = replace(prepared, recipe=replace(recipe, seed=(recipe.seed + iteration) % 2**32, steps=steps))
        folder = checkpoints / f"iteration-{iteration}"
        trainer = build_trainer(phase, folder / "learner", listeners.callbacks)
        model = trainer.model
        turn = f"iteration {iteration} of {procedure.iterations}"
        if iteration > 0:
            listeners.note(f"{turn}: the compressor trains the attention")
            compressor_phase(phase, procedure.beta, trainer, folder)
        listeners.note(f"{turn}: {'encoder and head' if iteration else 'encoder, attention and head'} are trained")
        state = learner_phase(phase.recipe, trainer, folder, joint=iteration == 0)
        listeners.iteration(model)
        accuracy = validation_accuracy(trainer)
        row = {"iteration": iteration, "steps": state.global_step, "validation_accuracy": accuracy}
        untrained = iteration == 0 and model.predicts_compressed
        if not untrained and (accuracy is None or best is None or accuracy > best[2]["validation_accuracy"]):
            best = {name: weight.detach().clone() for name, weight in model.state_dict().items()}, state, row
        iterations.append(row)
    assert best is not None  # `check_turns` has refused to predict by a compressor that no iteration trains
    weights, state, kept = best
    model.load_state_dict(weights)
    return Fitted(
        replace(prepared.classifier, model=model), state, [row | {"kept": row is kept} for row in iterations]
    )


def compressor_phase(phase: Prepared, beta: float, trainer: MixTrainer, folder: Path) -> None:
    """Trains attention and compressor on the states of the frozen encoder, which runs over the texts once.

    The main process does it alone, and the others read its weights from `folder`: the phase is a small part of the
    whole training.
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
    """Trains encoder and head, and the attention too if `joint`."""
    model = trainer.model
    if (finished := read_phase(model, folder / "learnt")) is not None:
        return TrainerState(**finished)
    set_seed(recipe.seed)  # whether the compressor's turn was run now or before an interruption
    with frozen(model.compressor, *([] if joint else [model.pooling])), predicting_as_learner(model):
        learnt, state = run_trainer(trainer, recipe.patience)
    if learnt is not model:  # an interrupted run whose training was over
        model.load_state_dict(learnt.state_dict())
    if is_main_process():
        steps = {"global_step": state.global_step, "best_global_step": state.best_global_step}
        write_phase(model, folder / "learnt", steps)
    PartialState().wait_for_everyone()
    return state


@contextmanager
def predicting_as_learner(model: PreTrainedModel) -> Iterator[None]:
    """Inside the `with`, the model predicts as a learner, so that checkpoints are chosen by what is trained."""
    before = model.config.inference
    model.config.inference = "learner"
    try:
        yield
    finally:
        model.config.inference = before


def validation_accuracy(trainer: MixTrainer) -> float | None:
    """The accuracy on the validation rows, from 0 to 1; None if there are none."""
    if trainer.eval_dataset is None:
        return None
    predicted = predict_probabilities(trainer.model, trainer.eval_dataset, "fp32").argmax(1)
    return float((predicted == np.asarray(trainer.eval_dataset.labels)).mean())


def write_phase(model: PreTrainedModel, phase: Path, state: dict) -> None:
    """Writes a finished phase: its weights, then the state by whose presence it counts as finished."""
    phase.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: weight.contiguous() for name, weight in model.state_dict().items()}, phase / "weights.safetensors"
    )
    (phase / "unfinished.json").write_text(json.dumps(state), encoding="utf-8")
    (phase / "unfinished.json").rename(phase / "state.json")


def read_phase(model: PreTrainedModel, phase: Path) -> dict | None:
    """The state of a finished phase, whose weights the model takes on; None if it is still to be run."""
    if not (phase / "state.json").is_file():
        return None
    model.load_state_dict(load_file(phase / "weights.safetensors", device=str(model.device)))
    return json.loads((phase / "state.json").read_text(encoding="utf-8"))
