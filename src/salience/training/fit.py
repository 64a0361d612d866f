"""From a prepared run to a trained classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import EvalPrediction, PreTrainedModel, PrinterCallback, TrainerCallback, TrainerState

from salience.classify import TextClassifier
from salience.classify.kept_states import KeptStates
from salience.data.encoding import Encoded
from salience.data.long_texts import merged
from salience.models.architectures import alignment_penalty, architecture
from salience.models.problem import labels_of_model, to_probabilities
from salience.scores.labels import labels_of
from salience.training.callbacks import (
    UNTRACKED,
    Beginning,
    BestWeights,
    ResumePoints,
    Tracking,
    last_checkpoint,
    using_files,
)
from salience.training.head import frozen_layers, set_regression
from salience.training.objective import Contrastive, plain
from salience.training.prepare import Prepared, silent, training_arguments
from salience.training.procedures import Turns, choose_procedure
from salience.training.trainer import MixTrainer, diverged


@dataclass(frozen=True)
class Listeners:
    """What is called during training.

    Args:
        note: called with a line of text at the beginning of every phase.
        callbacks: callbacks of the Trainer, added to its defaults.
        iteration: called with the model after every iteration of a training by turns.
        tracking: where the run is reported.
        planned: called with the number of steps of all models together, before the first of them is trained.
    """

    note: Callable[[str], None] = silent
    callbacks: Sequence[TrainerCallback] = ()
    iteration: Callable[[PreTrainedModel], None] = lambda model: None
    tracking: Tracking = UNTRACKED
    planned: Callable[[int], None] = lambda steps: None


@dataclass(frozen=True)
class Fitted:
    """A trained classifier and how its training went.

    Attributes:
        state: the Trainer's state. Of a training by turns, that of the selected iteration.
        iterations: for every iteration of a training by turns, a dictionary with "iteration" (its number), "steps",
            "validation_accuracy" (from 0 to 1, or None) and "kept" (whether it was selected); else empty.
    """

    classifier: TextClassifier
    state: TrainerState
    iterations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return self.state.global_step


def fit(
    prepared: Prepared, checkpoints: Path, listeners: Listeners = Listeners(), trained_share: float = 1.0
) -> Fitted:
    """Trains a prepared run, as its model is trained, and returns the checkpoint with the best validation score.

    Args:
        checkpoints: a folder for checkpoints. Training is resumed from the checkpoints in it.
        trained_share: weight of the fine-tuned weights in the interpolation, where the plan leaves it open.

    Raises:
        InputError: the loss, the outputs or the weights are not finite.
    """
    plan, own = prepared.plan, architecture(prepared.model)
    share = trained_share if plan.trained_share is None else plan.trained_share
    if plan.trained_layers == 0 or share == 0:  # the head has begun as the regression, and stays it
        return Fitted(prepared.classifier, TrainerState())
    procedure = choose_procedure(own.procedure, plan.procedure_options)
    with listeners.tracking.open():
        if isinstance(procedure, Turns):
            return resolve_name(own.by_turns)(prepared, procedure, checkpoints, listeners)
        penalty = alignment_penalty(procedure.alignment, procedure.alignment_form)
        trainer = build_trainer(prepared, checkpoints, listeners, penalty)
        beginning = Beginning(prepared.model) if share < 1 else None
        fitted = Fitted(prepared.classifier, run_trainer(trainer))
    if plan.head_end == "logistic":
        set_regression(prepared.classifier, prepared.training, prepared.class_weights, plan.head_strength)
    if beginning is not None:
        beginning.keep(share)
    return fitted


def build_trainer(
    prepared: Prepared,
    checkpoints: Path,
    listeners: Listeners = Listeners(),
    penalty: Callable[[nn.Module], Tensor] | None = None,
) -> MixTrainer:
    """A trainer for a prepared run. If there are validation rows, it stops early and ends with the best weights."""
    plan, evaluated = prepared.plan, by_length(prepared.validation)
    callbacks = [*listeners.callbacks, ResumePoints()]
    if evaluated is not None:
        callbacks.append(BestWeights(plan.patience))
    level = 0 if plan.trained_layers == "all" else frozen_layers(prepared.model)
    trainer = MixTrainer(
        model=prepared.model,
        kept=KeptStates(prepared.model, level, int(plan.kept_memory * 1e9)) if level else None,
        method=prepared.method,
        clean=plan.clean,
        args=training_arguments(plan, checkpoints, evaluated is not None, listeners.tracking),
        class_weights=prepared.class_weights,
        penalty=penalty,
        head_rate=plan.head_rate,
        unmixed=Contrastive(plan.contrastive, plan.contrastive_temperature) if plan.contrastive else plain,
        train_dataset=prepared.training,
        eval_dataset=evaluated,
        processing_class=prepared.classifier.tokenizer,
        callbacks=callbacks,
    )
    owners = None if evaluated is None else evaluated.owners
    trainer.compute_metrics = partial(validation_scores, trainer, plan.selection == "later", owners=owners)
    trainer.remove_callback(PrinterCallback)  # it prints dictionaries; callers show progress by callbacks of their own
    return trainer


def run_trainer(trainer: MixTrainer) -> TrainerState:
    """Trains the trainer's model from the beginning or from the last checkpoint; gives the Trainer's state."""
    last = last_checkpoint(Path(trainer.args.output_dir))
    with using_files(trainer.args.output_dir):
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    trainer.model.eval()  # as of a loaded one: a prediction that changes the mode changes it in all threads
    # Without validation, nothing else checks the weights after the last step.
    if not all(weight.isfinite().all() for weight in trainer.model.parameters()):
        raise diverged(trainer, "model")
    return trainer.state


def validation_scores(
    trainer: MixTrainer, prefer_later: bool, prediction: EvalPrediction, owners: np.ndarray | None = None
) -> dict[str, float]:
    """The scores on the validation rows, and "selection", by which the best checkpoint is selected."""
    if not np.isfinite(prediction.predictions).all():
        raise diverged(trainer, "model's output on the validation texts")
    logits = torch.tensor(prediction.predictions).double()
    found = to_probabilities(labels_of_model(trainer.model), logits).numpy()
    found, labels = of_texts(found, np.asarray(prediction.label_ids), owners)
    progress = trainer.state.global_step / max(trainer.state.max_steps, 1) if prefer_later else 0.0
    kind = labels_of(labels)
    return kind.scores(found, labels) | {"selection": kind.selection(found, labels, progress)}


def by_length(encoded: Encoded | None) -> Encoded | None:
    """Texts sorted by length, so that evaluation needs little padding; the windows of a text stay together."""
    if encoded is None:
        return None
    owners = encoded.text_numbers
    longest = np.zeros(encoded.texts, np.int64)
    np.maximum.at(longest, owners, encoded.lengths)
    places = longest.argsort(kind="stable").argsort()[owners]
    order = places.argsort(kind="stable")
    found = encoded.take(order)
    found.owners = None if encoded.owners is None else places[order]
    return found


def of_texts(
    probabilities: np.ndarray, labels: np.ndarray, owners: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities (N, C) and labels of texts, from those of their windows, of the texts `owners` (M,)."""
    if owners is None:
        return probabilities, labels
    firsts = np.unique(owners, return_index=True)[1]
    return merged(probabilities, owners, several=labels_of(labels).several), labels[firsts]
