"""Training with texts without labels, in two phases: a teacher on the labelled rows, and a student on all texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.data.batching import padded
from salience.training.alignment import penalty
from salience.training.baselines import class_shares
from salience.training.fitting import Fitted, Listeners, build_trainer, fit_once, run_trainer
from salience.training.phases import copied_weights, read_phase, write_phase
from salience.training.preparing import Prepared
from salience.training.procedures import Standard
from salience.training.self_training.batches import UnlabelledRows
from salience.training.self_training.labelling import (
    Labelled,
    labelled,
    labelled_sets,
    read_labels,
    write_labels,
)
from salience.training.self_training.moving import MovingLabels
from salience.training.self_training.objective import Part, with_unlabelled
from salience.training.self_training.unlabelled import Unlabelled
from salience.training.trainer import MixTrainer

# Gives the labels and weights of a batch of texts without labels, of which the rows are given, as `Part` has them.
Labels = Callable[[PreTrainedModel, Batch, np.ndarray], tuple[Tensor, Tensor]]


def fit_with_unlabelled(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fitting.fit`, with texts without labels.

    What the teacher has found is stored in `checkpoints`. From then on, a run that is killed goes on with the student.
    """
    moving = prepared.recipe.unlabelled_labels == "moving"
    return (fit_by_itself if moving else fit_by_teachers)(prepared, procedure, checkpoints, listeners)


def fit_by_teachers(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """A student that begins as the teacher began, and learns the labels that two teachers give once."""
    unlabelled, model, file = prepared.unlabelled, prepared.model, checkpoints / "labels.npz"
    assert unlabelled is not None
    found = read_labels(file)
    if found is None:
        untrained = copied_weights(model)
        found = labels_of_teachers(prepared, fit_teacher(prepared, procedure, checkpoints, listeners))
        write_labels(file, found)
        model.load_state_dict(untrained)
    what = "the decisions about their labels" if prepared.classifier.multi_label else "them"
    listeners.note(
        f"phase 2 of 2: the student, {prepared.recipe.steps} steps with {len(unlabelled):,} texts without labels; for "
        f"{found.agreement:.1%} of {what} both teachers say the same"
    )
    labels, weights = torch.from_numpy(found.labels), torch.from_numpy(found.weights)
    trainer = student(prepared, procedure, lambda _, __, rows: (labels[rows], weights[rows]), checkpoints, listeners)
    return Fitted(prepared.classifier, run_trainer(trainer), teacher_steps=found.teacher_steps)


def fit_by_itself(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """A student that goes on from the weights of the teacher, and labels the texts of each step itself."""
    unlabelled, model, finished = prepared.unlabelled, prepared.model, checkpoints / "finished"
    assert unlabelled is not None
    untrained = copied_weights(model)
    state = read_phase(model, finished)
    if state is None:
        state = {"steps": fit_teacher(prepared, procedure, checkpoints, listeners).steps}
        write_phase(model, finished, state)
    listeners.note(
        f"phase 2 of 2: {prepared.recipe.steps} more steps with {len(unlabelled):,} texts without labels, which the "
        "model labels in every step"
    )
    trained, probabilities = copied_weights(model), prepared.classifier.probabilities(unlabelled.encoded)
    prior = class_shares(unlabelled.rows.known_labels, probabilities.shape[1])
    texts, several = unlabelled.per_step(prepared.recipe, prepared.batch), prepared.classifier.multi_label
    moving = MovingLabels.beginning(prior, probabilities, texts, several)
    model.load_state_dict(untrained)  # from which the share of the trained weights counts
    trainer = student(prepared, procedure, lambda model, batch, _: moving.of(model, batch), checkpoints, listeners)
    trainer.add_callback(moving)
    model.load_state_dict(trained)
    return Fitted(prepared.classifier, run_trainer(trainer), teacher_steps=state["steps"])


def fit_teacher(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """The model of the run, trained on the labelled rows alone."""
    listeners.note(f"phase 1 of 2: the teacher, {prepared.recipe.steps} steps on the labelled rows")
    # Trained weights, whatever share the student keeps, as of the teachers of the estimate that chooses it.
    alone = replace(prepared, unlabelled=None, recipe=replace(prepared.recipe, trained_share=1.0))
    return fit_once(alone, procedure, checkpoints / "teacher", listeners)


def labels_of_teachers(prepared: Prepared, teacher: Fitted) -> Labelled:
    """The labels that the trained model and the frozen encoder give to the texts without labels."""
    unlabelled = prepared.unlabelled
    assert unlabelled is not None
    fine_tuned = teacher.classifier.probabilities(unlabelled.encoded)
    classes = fine_tuned.shape[1]
    frozen = unlabelled.frozen_probabilities(prepared.recipe, classes)
    label = labelled_sets if prepared.classifier.multi_label else labelled
    return label(fine_tuned, frozen, class_shares(unlabelled.rows.known_labels, classes), teacher.steps)


def student(
    prepared: Prepared, procedure: Standard, label: Labels, checkpoints: Path, listeners: Listeners
) -> MixTrainer:
    """The trainer of the student, with a seed of its own, so that it does not see the batches of the teacher again."""
    recipe, unlabelled = prepared.recipe, prepared.unlabelled
    assert unlabelled is not None
    seed = (recipe.seed + 1) % 2**32
    alignment = penalty(procedure.alignment, procedure.alignment_form)
    reseeded = replace(prepared, recipe=replace(recipe, seed=seed))
    trainer = build_trainer(reseeded, checkpoints / "student", listeners, alignment)
    assert recipe.batch_size is not None
    parts = math.ceil(prepared.batch / (recipe.batch_size // recipe.accumulation))  # fewer, with few labelled texts
    texts = unlabelled.per_step(recipe, prepared.batch)
    rows = UnlabelledRows(unlabelled.encoded.lengths, texts, seed, parts)
    trainer.add_callback(rows)
    weights = None if prepared.class_weights is None else tuple(prepared.class_weights)
    padding = prepared.model.config.pad_token_id or 0
    trainer.objective = with_unlabelled(
        trainer.objective, parts_of(unlabelled, label, rows, padding), unlabelled.view, recipe.unlabelled_weight,
        weights, padding if recipe.unlabelled_partners == "all" else None, prepared.batch,
    )  # fmt: skip
    return trainer


def parts_of(
    unlabelled: Unlabelled, label: Labels, rows: UnlabelledRows, padding: int
) -> Callable[[PreTrainedModel], Part | None]:
    """Gives the texts without labels of the next part of a step, on the device of the model."""

    def next_part(model: PreTrainedModel) -> Part | None:
        chosen = rows.next()
        if not len(chosen):
            return None
        batch: Batch = padded(unlabelled.encoded, chosen, padding).to(model.device)
        labels, weights = (each.to(model.device) for each in label(model, batch, chosen))
        return batch, labels, weights, len(chosen) / rows.size

    return next_part
