"""Validation texts as the Trainer evaluates them, also where each is read in windows."""

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
from transformers import (
    EvalPrediction,
    PreTrainedModel,
    PrinterCallback,
    TrainerCallback,
    TrainerState,
)

from salience.classify import TextClassifier
from salience.data.encoding import Encoded
from salience.data.long_texts import merged
from salience.models.architectures import alignment_penalty, architecture
from salience.models.problem import problem_of
from salience.runs.results import history_of
from salience.scores.scoring import scoring_of
from salience.training.callbacks import (
    UNTRACKED,
    BestWeights,
    InterpolatedWeights,
    ResumePoints,
    Tracking,
    last_checkpoint,
    using_files,
)
from salience.training.objective import unmixed_objective
from salience.training.prepare import Prepared, silent, training_arguments
from salience.training.procedures import Standard, Turns
from salience.training.trainer import MixTrainer, diverged


def by_length(encoded: Encoded | None) -> Encoded | None:
    """Texts sorted by length, so that evaluation needs little padding. The order does not change the scores.

    The windows of a text stay together, in their order. Texts are then sorted by their longest window.
    """
    if encoded is None:
        return None
    owners = np.arange(len(encoded)) if encoded.owners is None else encoded.owners
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
    """The probabilities (N, C) and labels of texts, from those of their windows.

    Args:
        probabilities: (M, C), of windows.
        labels: (M,), class numbers, or (M, C), 0 and 1: for each window those of its text.
        owners: (M,) the number of the text of each window, ascending from 0 to N - 1; None where each is a text.
    """
    if owners is None:
        return probabilities, labels
    firsts = np.unique(owners, return_index=True)[1]
    return merged(probabilities, owners, several=labels.ndim == 2), labels[firsts]


# From a prepared run to a trained classifier.


@dataclass(frozen=True)
class Listeners:
    """What is called during training.

    Args:
        note: called with a line of text at the beginning of every phase.
        callbacks: callbacks of the Trainer, added to its defaults.
        iteration: called with the model after every iteration of a training by turns.
        tracking: where the run is reported.
        written: called with the folder of a finished run, the name that it is about to get, and the classifier, to add
            further files. An `OSError` ends the run, which can be resumed.
    """

    note: Callable[[str], None] = silent
    callbacks: Sequence[TrainerCallback] = ()
    iteration: Callable[[PreTrainedModel], None] = lambda model: None
    tracking: Tracking = UNTRACKED
    written: Callable[[Path, str, TextClassifier], None] = lambda folder, name, classifier: None


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

    @property
    def steps(self) -> int:
        """The number of steps."""
        return self.state.global_step

    @property
    def best_step(self) -> int | None:
        """The step of the selected checkpoint; None without validation rows."""
        return self.state.best_global_step

    @property
    def history(self) -> list[dict[str, Any]]:
        """The loss and the validation scores over the steps, see `history_of`."""
        return history_of(self.state.log_history)


def fit(prepared: Prepared, checkpoints: Path, listeners: Listeners = Listeners()) -> Fitted:
    """Trains a prepared run by its procedure and returns the checkpoint with the best validation score.

    Args:
        checkpoints: a folder for checkpoints. Training is resumed from the checkpoints in it.
        listeners: what is called during training.

    Raises:
        InputError: the loss, the outputs or the weights are not finite.
    """
    with listeners.tracking.open():
        if isinstance(prepared.procedure, Turns):
            fit_by_turns = resolve_name(architecture(prepared.model).by_turns)
            return fit_by_turns(prepared, prepared.procedure, checkpoints, listeners)
        return fit_once(prepared, prepared.procedure, checkpoints, listeners)


def fit_once(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `fit`, by the standard procedure: all weights are trained together, once."""
    penalty = alignment_penalty(procedure.alignment, procedure.alignment_form)
    trainer = build_trainer(prepared, checkpoints, listeners, penalty)
    return Fitted(prepared.classifier, run_trainer(trainer))


def build_trainer(
    prepared: Prepared,
    checkpoints: Path,
    listeners: Listeners = Listeners(),
    penalty: Callable[[nn.Module], Tensor] | None = None,
) -> MixTrainer:
    """A trainer for a prepared run. If there are validation rows, it stops early and ends with the best weights.

    Args:
        listeners: its callbacks are called during training, and its trackers are told.
        penalty: maps the model to a scalar that is added to the loss of every step.
    """
    recipe, validation = prepared.recipe, prepared.validation
    evaluated = by_length(validation)
    selecting = [] if validation is None else [BestWeights(recipe.patience)]
    share = 1.0 if recipe.trained_share is None else recipe.trained_share
    between = [InterpolatedWeights(prepared.model, share)] if share < 1 else []
    trainer = MixTrainer(
        model=prepared.model,
        method=prepared.method,
        clean=recipe.clean,
        args=training_arguments(recipe, checkpoints, validation is not None, listeners.tracking),
        class_weights=prepared.class_weights,
        penalty=penalty,
        head_rate=recipe.head_rate or 1.0,
        unmixed=unmixed_objective(recipe),
        train_dataset=prepared.training,
        eval_dataset=evaluated,
        processing_class=prepared.classifier.tokenizer,
        callbacks=[*listeners.callbacks, ResumePoints(), *selecting, *between],
    )
    owners = None if evaluated is None else evaluated.owners
    trainer.compute_metrics = partial(validation_scores, trainer, recipe.selection == "later", owners=owners)
    trainer.remove_callback(PrinterCallback)  # it prints dictionaries; callers show progress by callbacks of their own
    return trainer


def validation_scores(
    trainer: MixTrainer, prefer_later: bool, prediction: EvalPrediction, owners: np.ndarray | None = None
) -> dict[str, float]:
    """The scores on the validation rows, and "selection", by which the best checkpoint is selected.

    Args:
        prefer_later: whether later checkpoints are preferred; without, the accuracy alone selects.
        prediction: logits (N, C) and labels, (N,) or (N, C).
        owners: (N,) the number of the text of each, where these are windows of texts; the scores are those of texts.

    Raises:
        InputError: logits are not finite.
    """
    if not np.isfinite(prediction.predictions).all():
        raise diverged(trainer, "model's output on the validation texts")
    labels = np.asarray(prediction.label_ids)
    probabilities = problem_of(trainer.model).probabilities(torch.tensor(prediction.predictions).double()).numpy()
    probabilities, labels = of_texts(probabilities, labels, owners)
    progress = trainer.state.global_step / max(trainer.state.max_steps, 1) if prefer_later else 0.0
    scoring = scoring_of(labels)
    return scoring.scores(probabilities, labels) | {"selection": scoring.selection(probabilities, labels, progress)}


def run_trainer(trainer: MixTrainer) -> TrainerState:
    """Trains the trainer's model from the beginning or from the last checkpoint; gives the Trainer's state.

    Raises:
        InputError: the loss, the outputs or the weights are not finite.
    """
    last = last_checkpoint(Path(trainer.args.output_dir))
    with using_files(trainer.args.output_dir):
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    # Without validation, nothing else checks the weights after the last step.
    if not all(weight.isfinite().all() for weight in trainer.model.parameters()):
        raise diverged(trainer, "model")
    return trainer.state
