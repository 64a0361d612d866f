"""A prepared run is estimated, then trained: its estimate sets the temperature and the share of trained weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salience.data.task import Task
from salience.inference.abstaining import Thresholds
from salience.training.abstaining import abstention, abstention_sentences, check_target
from salience.training.batches import as_batch
from salience.training.calibrating import choose_calibration
from salience.training.estimating import Estimated, estimate, with_chosen_share
from salience.training.fitting import Fitted, Listeners, fit
from salience.training.folds import Folds, choose_folds
from salience.training.preparing import Prepared


@dataclass(frozen=True)
class EstimatePlan:
    """How a run is estimated.

    Args:
        folds: the labelled rows and the fold of each.
        calibrated: whether the temperature of the estimate is folded into the model.
    """

    folds: Folds
    calibrated: bool


@dataclass(frozen=True)
class Abstention:
    """The thresholds below which the classifier of a run abstains, and what is known of them.

    Attributes:
        thresholds: of the labels.
        found: as of `salience.training.abstaining.abstention`.
    """

    thresholds: Thresholds
    found: dict[str, Any]

    @classmethod
    def of(cls, estimated: Estimated, labels: Sequence[str], target: float, seed: int) -> Abstention:
        """The thresholds for a target precision, by the rows of the estimate."""
        return cls(*abstention(
            estimated.probabilities, estimated.texts.known_labels, labels, target, estimated.divisor,
            estimated.groups, seed,
        ))  # fmt: skip


@dataclass(frozen=True)
class EstimatedFit:
    """A trained classifier and its estimate.

    Attributes:
        fitted: the classifier, calibrated by the estimate, and how its training went.
        estimated: the estimate; None if none is made, and in all processes but the main one.
        abstention: the thresholds for the precision that the recipe names; None without one.
    """

    fitted: Fitted
    estimated: Estimated | None = None
    abstention: Abstention | None = None


def plan_estimate(prepared: Prepared, task: Task, note: Callable[[str], None]) -> EstimatePlan | None:
    """The estimate that the recipe of a run asks for, checked before anything is trained; None if it asks for none.

    Raises:
        InputError: the rows or the model do not allow it, or an option needs an estimate and there is none.
    """
    recipe = prepared.recipe
    folds = choose_folds(recipe, task, note)
    if folds is None:
        return None
    batch = as_batch(prepared.classifier.tokenizer, prepared.training, 0)
    calibrated = choose_calibration(recipe.calibrate, prepared.model, batch, note)
    if recipe.target_precision is not None:
        check_target(recipe.target_precision, folds)
    return EstimatePlan(folds, calibrated)


def fit_with_estimate(
    prepared: Prepared, task: Task, plan: EstimatePlan | None, checkpoints: Path, listeners: Listeners,
    method: Any = None,
) -> EstimatedFit:  # fmt: skip
    """Trains the models of the estimate, then the model of the run.

    Args:
        plan: None trains the model of the run alone.
        checkpoints: a folder for checkpoints, from which an interrupted run is continued.
        listeners: what is called during training; trackers are told of the model of the run only.
        method: an object that is used instead of the method of the recipe, as of `prepare`.

    Raises:
        InputError: the loss, the outputs or the weights of a model are not finite.
    """
    recipe = prepared.recipe
    estimated = abstained = None
    if plan is not None:
        place = checkpoints / "estimate"
        estimated = estimate(prepared, task, plan.folds, place, listeners, plan.calibrated, method)
        if estimated is not None and recipe.target_precision is not None and not task.multi_label:
            abstained = Abstention.of(estimated, task.labels, recipe.target_precision, recipe.seed)
            listeners.note(abstention_sentences(abstained.found)[0])
        listeners.note("the model itself is trained")
    fitted = fit(with_chosen_share(prepared, estimated), checkpoints, listeners)
    if estimated is not None:
        estimated.fold_into(fitted.classifier)
    return EstimatedFit(fitted, estimated, abstained)
