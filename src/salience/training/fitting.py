"""From a prepared run to a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PreTrainedModel,
    PrinterCallback,
    TrainerCallback,
    TrainerState,
)

from salience.data.encoding import Encoded
from salience.inference import TextClassifier
from salience.models.loading import load_trained
from salience.training.alignment import penalty
from salience.training.arguments import training_arguments
from salience.training.checkpoints import is_finished, last_checkpoint, read_state, using_files
from salience.training.metrics import scores, selection
from salience.training.preparing import Prepared, silent
from salience.training.procedures import Standard
from salience.training.trainer import MixTrainer, diverged


@dataclass(frozen=True)
class Listeners:
    """Who is told what during training.

    Args:
        note: called with a line of text at the beginning of every phase.
        callbacks: added to the Trainer's own.
        iteration: called with the model after every iteration of a training by turns.
    """

    note: Callable[[str], None] = silent
    callbacks: Sequence[TrainerCallback] = ()
    iteration: Callable[[PreTrainedModel], None] = lambda model: None


@dataclass(frozen=True)
class Fitted:
    """A trained classifier, the Trainer's state of the training that it comes from, and what every iteration of a
    training by turns came to: its number, steps, validation accuracy, and whether it was kept."""

    classifier: TextClassifier
    state: TrainerState
    iterations: list[dict[str, Any]] = field(default_factory=list)


def fit(prepared: Prepared, checkpoints: Path, listeners: Listeners = Listeners()) -> Fitted:
    """Trains a prepared run by the procedure that its model needs, up to the checkpoint that validation chose.

    Args:
        checkpoints: a folder for checkpoints. An interrupted run goes on from what is there.

    Raises:
        InputError: the loss, or the model, is no longer a number.
    """
    return prepared.procedure.fit(prepared, checkpoints, listeners)


def fit_once(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `fit`, by the standard procedure: all weights together, once."""
    aligned = penalty(procedure.alignment, procedure.alignment_form)
    trainer = build_trainer(prepared, checkpoints, listeners.callbacks, aligned)
    model, state = run_trainer(trainer, prepared.recipe.patience)
    return Fitted(replace(prepared.classifier, model=model), state)


def build_trainer(
    prepared: Prepared,
    checkpoints: Path,
    callbacks: Sequence[TrainerCallback] = (),
    penalty: Callable[[nn.Module], Tensor] | None = None,
) -> MixTrainer:
    """A trainer for a prepared run, which stops early if there are validation rows.

    Args:
        penalty: one more loss of every step, a function of the model.
    """
    recipe, validation = prepared.recipe, prepared.validation
    stopping = [] if validation is None else [EarlyStoppingCallback(recipe.patience)]
    trainer = MixTrainer(
        model=prepared.model,
        method=prepared.method,
        clean=recipe.clean,
        args=training_arguments(recipe, checkpoints, has_validation=validation is not None),
        class_weights=prepared.class_weights,
        penalty=penalty,
        train_dataset=prepared.training,
        eval_dataset=by_length(validation),
        processing_class=prepared.classifier.tokenizer,
        callbacks=[*callbacks, *stopping],
    )
    trainer.compute_metrics = partial(validation_scores, trainer)
    trainer.remove_callback(PrinterCallback)  # it prints raw dicts; progress is shown by a callback of the caller
    return trainer


def by_length(encoded: Encoded | None) -> Encoded | None:
    """Texts sorted by their length: evaluation pads little then, and the order changes no score."""
    return None if encoded is None else encoded.take(np.argsort(encoded.lengths, kind="stable").tolist())


def validation_scores(trainer: MixTrainer, prediction: EvalPrediction) -> dict[str, float]:
    """The scores that validation reports, and "selection", by which the best checkpoint is chosen.

    Raises:
        InputError: the model's answers are not numbers.
    """
    if not np.isfinite(prediction.predictions).all():
        raise diverged(trainer, "model's output on the validation texts")
    probabilities = torch.tensor(prediction.predictions).double().softmax(1).numpy()
    progress = trainer.state.global_step / max(trainer.state.max_steps, 1)
    return scores(probabilities, prediction.label_ids) | {
        "selection": selection(probabilities, prediction.label_ids, progress)
    }


def run_trainer(trainer: MixTrainer, patience: int) -> tuple[PreTrainedModel, TrainerState]:
    """Trains, or goes on from the last checkpoint, up to the model that validation chose.

    Args:
        patience: number of evaluations without improvement after which a training counts as finished.

    Raises:
        InputError: the loss, or the model, is no longer a number.
    """
    last = last_checkpoint(Path(trainer.args.output_dir))
    if last is None or not is_finished(last, patience):
        with using_files(trainer.args.output_dir):
            trainer.train(resume_from_checkpoint=str(last) if last else None)
        # Without validation nobody has looked at what the last step made of the weights.
        if not all(weight.isfinite().all() for weight in trainer.model.parameters()):
            raise diverged(trainer, "model")
        return trainer.model, trainer.state
    # The run was killed after its last step. Training on would wait for a better checkpoint once more, and might
    # find one.
    state = read_state(last)
    assert state is not None, last  # `last_checkpoint` returns whole checkpoints only
    model, _ = load_trained(state.best_model_checkpoint or last)
    return model.to(trainer.args.device), state
