"""Training with texts without labels, in two phases: a teacher, and a student of it and of a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from salience.batch import Batch
from salience.data.batching import padded
from salience.training.alignment import penalty
from salience.training.baselines import class_shares
from salience.training.fitting import Fitted, Listeners, build_trainer, fit_once, run_trainer
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
from salience.training.self_training.objective import Part, with_unlabelled
from salience.training.self_training.unlabelled import Unlabelled
from salience.training.trainer import MixTrainer


def fit_with_unlabelled(prepared: Prepared, procedure: Standard, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fitting.fit`, with texts without labels.

    The labels of the texts are stored in `checkpoints` when the teacher is trained. From then on, a run that is killed
    goes on with the student.
    """
    unlabelled = prepared.unlabelled
    assert unlabelled is not None
    recipe, file = prepared.recipe, checkpoints / "labels.npz"
    found = read_labels(file)
    if found is None:
        listeners.note(f"phase 1 of 2: the teacher, {recipe.steps} steps on the labelled rows")
        untrained = {name: weight.to("cpu", copy=True) for name, weight in prepared.model.state_dict().items()}
        # Trained weights, whatever share the student keeps, as of the teachers of the estimate that chooses it.
        alone = replace(prepared, unlabelled=None, recipe=replace(recipe, trained_share=1.0))
        teacher = fit_once(alone, procedure, checkpoints / "teacher", listeners)
        found = labels_of_teachers(prepared, teacher)
        write_labels(file, found)
        prepared.model.load_state_dict(untrained)
    what = "the decisions about their labels" if prepared.classifier.multi_label else "them"
    listeners.note(
        f"phase 2 of 2: the student, {recipe.steps} steps with {len(unlabelled):,} texts without labels; for "
        f"{found.agreement:.1%} of {what} both teachers say the same"
    )
    trainer = student(prepared, procedure, found, checkpoints / "student", listeners)
    return Fitted(prepared.classifier, run_trainer(trainer), teacher_steps=found.teacher_steps)


def labels_of_teachers(prepared: Prepared, teacher: Fitted) -> Labelled:
    """The labels that the trained model and the frozen encoder give to the texts without labels."""
    unlabelled, known = prepared.unlabelled, prepared.training.labels
    assert unlabelled is not None and known is not None
    rows = known[: prepared.rows]  # without descriptions of labels
    fine_tuned = teacher.classifier.probabilities(unlabelled.encoded)
    classes = fine_tuned.shape[1]
    frozen = unlabelled.frozen_probabilities(prepared.recipe, classes)
    label = labelled_sets if prepared.classifier.multi_label else labelled
    return label(fine_tuned, frozen, class_shares(rows, classes), teacher.steps)


def student(
    prepared: Prepared, procedure: Standard, found: Labelled, checkpoints: Path, listeners: Listeners
) -> MixTrainer:
    """The trainer of the student, with a seed of its own, so that it does not see the batches of the teacher again."""
    recipe, unlabelled = prepared.recipe, prepared.unlabelled
    assert unlabelled is not None and recipe.batch_size is not None
    seed = (recipe.seed + 1) % 2**32
    alignment = penalty(procedure.alignment, procedure.alignment_form)
    trainer = build_trainer(replace(prepared, recipe=replace(recipe, seed=seed)), checkpoints, listeners, alignment)
    rows = UnlabelledRows(
        unlabelled.encoded.lengths, recipe.batch_size * recipe.unlabelled_ratio, seed, recipe.accumulation
    )
    trainer.add_callback(rows)
    weights = None if prepared.class_weights is None else tuple(prepared.class_weights)
    padding = prepared.model.config.pad_token_id or 0
    parts = parts_of(unlabelled, found, rows, padding, trainer.args.device)
    trainer.objective = with_unlabelled(
        trainer.objective, parts, unlabelled.view, recipe.unlabelled_weight, weights,
        padding if recipe.unlabelled_partners == "all" else None,
    )  # fmt: skip
    return trainer


def parts_of(
    unlabelled: Unlabelled, found: Labelled, rows: UnlabelledRows, padding: int, device: torch.device
) -> Callable[[], Part | None]:
    """Gives the texts without labels of the next part of a step, on the device of the model."""
    labels, weights = torch.from_numpy(found.labels).to(device), torch.from_numpy(found.weights).to(device)

    def next_part() -> Part | None:
        chosen = rows.next()
        if not len(chosen):
            return None
        batch: Batch = padded(unlabelled.encoded, chosen, padding).to(device)
        share = len(chosen) * rows.parts / rows.size
        return batch, labels[chosen], weights[chosen], share

    return next_part
