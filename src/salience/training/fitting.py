"""From a prepared run to a trained classifier."""

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
    """What is called during training.

    Args:
        note: called with a line of text at the beginning of every phase.
        callbacks: callbacks of the Trainer, added to its defaults.
        iteration: called with the model after every iteration of a training by turns.
    """

    note: Callable[[str], None] = silent
    callbacks: Sequence[TrainerCallback] = ()
    iteration: Callable[[PreTrainedModel], None] = lambda model: None


@dataclass(frozen=True)
class Fitted:
    """A trained classifier and how its training went.

    Attributes:
        classifier: the trained classifier.
        state: the Trainer's state, with the number of steps and the best step. Of a training by turns, that of the
            selected iteration.
        iterations: for every iteration of a training by turns, a dictionary with "iteration" (its number), "steps",
            "validation_accuracy" (from 0 to 1, or None) and "kept" (whether it was selected); else empty.
    """

    classifier: TextClassifier
    state: TrainerState
    iterations: list[dict[str, Any]] = field(default_factory=list)


def fit(prepared: Prepared, checkpoints: Path, listeners: Listeners = Listeners()) -> Fitted:
    """Trains a prepared run by its procedure and returns the checkpoint with the best validation score.

    Args:
        checkpoints: a folder for checkpoints. Training is resumed from the checkpoints in it.
        listeners: what is called during training.

    Raises:
        InputError: the loss, the outputs or the weights are not finite.
    """
    return prepared.procedure.fit(prepared, checkpoints, listeners)


def fit_once(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `fit`, by the standard procedure: all weights are trained together, once."""
    alignment = penalty(procedure.alignment, procedure.alignment_form)
    trainer = build_trainer(prepared, checkpoints, listeners.callbacks, alignment)
    model, state = run_trainer(trainer, prepared.recipe.patience)
    return Fitted(replace(prepared.classifier, model=model), state)


def build_trainer(
    prepared: Prepared,
    checkpoints: Path,
    callbacks: Sequence[TrainerCallback] = (),
    penalty: Callable[[nn.Module], Tensor] | None = None,
) -> MixTrainer:
    """A trainer for a prepared run. It stops early if there are validation rows.

    Args:
        penalty: maps the model to a scalar that is added to the loss of every step.
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
    trainer.remove_callback(PrinterCallback)  # it prints dictionaries; callers show progress by callbacks of their own
    return trainer


def by_length(encoded: Encoded | None) -> Encoded | None:
    """Texts sorted by length, so that evaluation needs little padding. The order does not change the scores."""
    return None if encoded is None else encoded.take(np.argsort(encoded.lengths, kind="stable"))


def validation_scores(trainer: MixTrainer, prediction: EvalPrediction) -> dict[str, float]:
    """The scores on the validation rows, and "selection", by which the best checkpoint is selected.

    Args:
        prediction: logits (N, C) and labels (N,).

    Raises:
        InputError: logits are not finite.
    """
    if not np.isfinite(prediction.predictions).all():
        raise diverged(trainer, "model's output on the validation texts")
    probabilities = torch.tensor(prediction.predictions).double().softmax(1).numpy()
    progress = trainer.state.global_step / max(trainer.state.max_steps, 1)
    return scores(probabilities, prediction.label_ids) | {
        "selection": selection(probabilities, prediction.label_ids, progress)
    }


def run_trainer(trainer: MixTrainer, patience: int) -> tuple[PreTrainedModel, TrainerState]:
    """Trains from the beginning or from the last checkpoint; gives the model that validation selected, and the state.

    Args:
        patience: number of evaluations without improvement before training stops (early stopping).

    Raises:
        InputError: the loss, the outputs or the weights are not finite.
    """
    last = last_checkpoint(Path(trainer.args.output_dir))
    if last is None or not is_finished(last, patience):
        with using_files(trainer.args.output_dir):
            trainer.train(resume_from_checkpoint=str(last) if last else None)
        # Without validation, nothing else checks the weights after the last step.
        if not all(weight.isfinite().all() for weight in trainer.model.parameters()):
            raise diverged(trainer, "model")
        return trainer.model, trainer.state
    # The run was killed after its last step. If it were resumed, early stopping might allow more steps.
    state = read_state(last)
    assert state is not None  # as `last_checkpoint` gives it
    model, _ = load_trained(state.best_model_checkpoint or last)
    return model.to(trainer.args.device), state
