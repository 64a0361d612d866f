"""VAT (Zhou et al., Findings of ACL 2021): learner and compressor train the same attention by turns.

Iteration 0 trains encoder, attention and head together, which is the paper's ATT. Every further one first trains the
attention with the compressor while the encoder is frozen, then encoder and head while the attention is frozen. The
iteration that does best on validation is kept, and predicts as a learner: attention, pooled vector, head. A model that
is to predict as a compressor is still trained as a learner; its iteration 0, whose compressor has learnt nothing, is
never kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from accelerate import PartialState
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel, TrainerState, set_seed

from salience.errors import InputError
from salience.inference.probabilities import predict_probabilities
from salience.processes import is_main_process
from salience.training.compressing import compress, frozen
from salience.training.features import encode_features
from salience.training.fitting import fit
from salience.training.recipe import Recipe
from salience.training.trainer import MixTrainer

Build = Callable[[Recipe, Path], MixTrainer]  # a trainer for a recipe, with its folder of checkpoints
Watch = Callable[[PreTrainedModel], None]
Note = Callable[[str], None]
OF_TURNS = ("iterations", "beta")  # fields of a recipe


def silent(line: str) -> None:
    """A `Note` that nobody reads."""


def check_turns(recipe: Recipe, model: PreTrainedModel) -> None:
    """Refuses settings of turns for a model that is trained once, before anything is written.

    Raises:
        InputError: says which models are trained by turns.
    """
    idle = [f"--{name}" for name in OF_TURNS if getattr(recipe, name) != getattr(Recipe, name)]
    if idle and getattr(model, "compressor", None) is None:
        raise InputError(
            f"{', '.join(idle)} would have no effect: only VAT is trained by turns, --model attention:variational, "
            "lstm-vat or bert-vat"
        )
    if recipe.iterations == 0 and getattr(model, "predicts_compressed", False):
        raise InputError("--iterations 0 trains no compressor, by which inference=compressor is to predict")


def fit_model(
    recipe: Recipe, build: Build, folder: Path, watch: Watch | None = None, note: Note = silent
) -> tuple[PreTrainedModel, TrainerState, list[dict]]:
    """Trains once or, where the pooling is variational, by turns.

    Args:
        folder: what an interrupted run goes on from.
        watch: shown the model after every iteration.
        note: told which turn begins.

    Returns:
        The model, its state of training, and what every iteration came to if there were any.
    """
    trainer = build(recipe, folder)
    if getattr(trainer.model, "compressor", None) is not None:
        return fit_by_turns(recipe, build, folder, watch, note)
    return *fit(trainer, recipe), []


def fit_by_turns(
    recipe: Recipe, build: Build, folder: Path, watch: Watch | None = None, note: Note = silent
) -> tuple[PreTrainedModel, TrainerState, list[dict]]:
    """As `fit_model`, by turns; every finished phase lies in `folder`.

    The phases of later iterations are half as long as iteration 0, for they begin with a trained model.
    """
    found: list[dict] = []
    best: tuple[dict, TrainerState, dict] | None = None
    for iteration in range(recipe.iterations + 1):
        # What is drawn differs between phases, and is the same in a run that was interrupted.
        steps = recipe.steps if iteration == 0 else math.ceil(recipe.steps / 2)
        own = replace(recipe, seed=(recipe.seed + iteration) % 2**32, steps=steps)
        place = folder / f"iteration-{iteration}"
        trainer = build(own, place / "learner")
        model = trainer.model
        turn = f"iteration {iteration} of {recipe.iterations}"
        if iteration > 0:
            note(f"{turn}: the compressor trains the attention")
            compressor_phase(own, trainer, place)
        note(f"{turn}: {'encoder and head' if iteration else 'encoder, attention and head'} are trained")
        state = learner_phase(own, trainer, place, joint=iteration == 0)
        if watch is not None:
            watch(model)
        accuracy = validation_accuracy(trainer)
        row = {"iteration": iteration, "steps": state.global_step, "validation_accuracy": accuracy}
        untrained = iteration == 0 and model.predicts_compressed
        if not untrained and (accuracy is None or best is None or accuracy > best[2]["validation_accuracy"]):
            best = {name: weight.detach().clone() for name, weight in model.state_dict().items()}, state, row
        found.append(row)
    weights, state, kept = best
    model.load_state_dict(weights)
    return model, state, [row | {"kept": row is kept} for row in found]


def compressor_phase(recipe: Recipe, trainer: MixTrainer, place: Path) -> None:
    """Trains attention and compressor on the states of the frozen encoder, which runs over the texts once.

    The main process does it alone, and others take up what it puts down: the phase is a small part of the whole.
    """
    with PartialState().main_process_first():
        if take_up(trainer.model, place / "compressed") is not None:
            return
        set_seed(recipe.seed)
        features = encode_features(trainer.model, trainer.train_dataset, place)
        compress(trainer.model, features, recipe.steps, recipe.batch_size, recipe.beta, trainer.loss)
        put_down(trainer.model, place / "compressed", {"global_step": recipe.steps})
        (place / "features.npy").unlink(missing_ok=True)


def learner_phase(recipe: Recipe, trainer: MixTrainer, place: Path, joint: bool) -> TrainerState:
    """Trains encoder and head; the attention too where the phase is the joint one."""
    model = trainer.model
    if (state := take_up(model, place / "learnt")) is not None:
        return TrainerState(**state)
    set_seed(recipe.seed)  # whether the compressor's turn was run now or before an interruption
    with frozen(model.compressor, *([] if joint else [model.pooling])), predicting_as_learner(model):
        learnt, state = fit(trainer, recipe)
    if learnt is not model:  # an interrupted run whose training was over
        model.load_state_dict(learnt.state_dict())
    if is_main_process():
        found = {"global_step": state.global_step, "best_global_step": state.best_global_step}
        put_down(model, place / "learnt", found)
    PartialState().wait_for_everyone()
    return state


@contextmanager
def predicting_as_learner(model: PreTrainedModel) -> Iterator[None]:
    """Inside the `with`, checkpoints are chosen by what is trained."""
    before = model.config.inference
    model.config.inference = "learner"
    try:
        yield
    finally:
        model.config.inference = before


def validation_accuracy(trainer: MixTrainer) -> float | None:
    if trainer.eval_dataset is None:
        return None
    predicted = predict_probabilities(trainer.model, trainer.eval_dataset, "fp32").argmax(1)
    return float((predicted == np.asarray(trainer.eval_dataset.labels)).mean())


def put_down(model: PreTrainedModel, phase: Path, state: dict) -> None:
    """Writes a finished phase: its weights, then the state by whose presence it counts as finished."""
    phase.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: weight.contiguous() for name, weight in model.state_dict().items()}, phase / "weights.safetensors"
    )
    (phase / "unfinished.json").write_text(json.dumps(state), encoding="utf-8")
    (phase / "unfinished.json").rename(phase / "state.json")


def take_up(model: PreTrainedModel, phase: Path) -> dict | None:
    """The state of a finished phase, whose weights the model takes on; None if it is still to be run."""
    if not (phase / "state.json").is_file():
        return None
    model.load_state_dict(load_file(phase / "weights.safetensors", device=str(model.device)))
    return json.loads((phase / "state.json").read_text(encoding="utf-8"))
