"""The estimate of a run: models of its recipe, each trained on a part of the labelled rows, predict the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.classify.abstaining import Thresholds
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.models.problem import SeveralLabels
from salience.processes import is_main_process
from salience.runs.results import abstention_sentences
from salience.scores.calibration import with_label_temperature, with_temperature
from salience.scores.intervals import wilson_interval
from salience.scores.predictions import Predictions
from salience.scores.scoring import label_scores_with_intervals, scoring_of
from salience.scores.thresholds import (
    CERTAINTY,
    chosen_decisions,
    find_label_thresholds,
    find_thresholds,
    least_rows,
    one_row_of_each,
    precision_numbers,
    precision_sentences,
    precision_thresholds,
    reachable_precision,
)
from salience.training.baselines import baseline_scores
from salience.training.callbacks import UNTRACKED
from salience.training.fit import Fitted, Listeners, fit
from salience.training.folds import (
    SHARES,
    FoldResult,
    Folds,
    choose_folds,
    chosen_share,
    cross_chosen,
    fold_result,
    recipe_of_folds,
)
from salience.training.head import choose_calibration, divide_logits
from salience.training.prepare import Prepared, as_batch, prepare

# Abstention of a run: thresholds from the rows of its estimate, what they decide, and how it is told.


def check_target(target: float, folds: Folds) -> None:
    """Checks, before anything is trained, that the rows of an estimate are enough for a target precision.

    Where a text can have several labels, the rows of the most frequent label must be enough for that one.

    Raises:
        InputError: it would be out of reach if all rows were right; says what is in reach.
    """
    predicted, labels = np.isin(folds.numbers, folds.predicted), folds.texts.known_labels
    several = labels.ndim == 2
    units = np.arange(len(labels)) if folds.groups is None else folds.groups
    tested = (labels[predicted] == 1).T if several else np.ones((1, predicted.sum()), bool)
    rows = max(len(np.unique(units[predicted][each])) for each in tested)
    error = (1 - CERTAINTY) / len(tested)
    if rows >= (least := least_rows(target, error)):
        return
    highest = math.floor(100 * error ** (1 / rows)) / 100 if rows else 0
    lower = f"give {highest:g} or less, or " if highest >= 0.5 else ""
    unit = "rows" if folds.groups is None else "groups"
    whose, have = ("of a label ", "the most frequent label has") if several else ("", "there are")
    raise InputError(
        f"--target-precision {target:g} needs at least {least:,} {unit} {whose}in the estimate, and {have} {rows:,}: "
        f"{lower}add rows"
    )


def abstention(
    probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str], target: float,
    temperature: float = 1.0, groups: np.ndarray | None = None, seed: int = 0,
) -> tuple[Thresholds, dict[str, Any]]:  # fmt: skip
    """The thresholds of a run, and what metrics.json says of them.

    Args:
        probabilities: (N, C) of the rows of the estimate, before scaling.
        labels: (N,), class numbers.
        names: of the C classes.
        target: the precision.
        temperature: that is folded into the model; thresholds are of the probabilities after it.
        groups: (N,) the group of each row, one row of which counts; None for rows that are independent.
        seed: of the rows that are drawn from the groups.

    Returns:
        The thresholds, and their numbers: "target_precision", "certainty", "thresholds", those of
        `decided_scores`, and "reachable" if nothing is decided.
    """
    if groups is not None:
        rows = one_row_of_each(groups, seed)
        probabilities, labels = probabilities[rows], labels[rows]
    final = with_temperature(probabilities, temperature)
    values = find_thresholds(final, labels, target)
    thresholds = Thresholds(dict(zip(names, values.tolist(), strict=True)), target, CERTAINTY)
    numbers = thresholds.as_json() | decided_scores(final, labels, thresholds, names)
    if (values == 1).all():
        numbers["reachable"] = reachable_precision(final, labels, target)
    return thresholds, numbers


def decided_scores(
    probabilities: np.ndarray, labels: np.ndarray, thresholds: Thresholds, names: Sequence[str]
) -> dict[str, Any]:
    """How many rows are decided, and how many of these are right, with Wilson's 95 % intervals.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        thresholds: of the classes.
        names: of the C classes.

    Returns:
        "rows" and "decided" as numbers, "coverage", the share that is decided, and "precision", the share of these
        that is right, each also with "_interval" appended. Without decided rows the precision is None.
    """
    decided = thresholds.decided(probabilities, names)
    right = int((probabilities.argmax(1) == labels)[decided].sum())
    rows, count = len(labels), int(decided.sum())
    return {
        "rows": rows, "decided": count,
        "coverage": count / rows, "coverage_interval": list(wilson_interval(count, rows)),
        "precision": right / count if count else None,
        "precision_interval": list(wilson_interval(right, count)) if count else None,
    }  # fmt: skip


@dataclass(frozen=True)
class Estimated:
    """The predictions of all models of an estimate.

    Attributes:
        texts: the predicted rows, N of them, in the order of the file.
        folds: (N,) the fold of each row, from 1 on.
        groups: (N,) the number of the group of each row, if a column of groups is named; else None.
        probabilities: (N, C) float32, each by the model that has not seen the row, with the share of its trained
            weights that other rows have chosen, as confident as the kept share is (`cross_chosen`).
        metrics: what metrics.json says of the estimate.
        decided: (N, C) bool, the labels that are predicted, where a text can have several; see `chosen_decisions`.
        precise: (C,) the thresholds of the labels for a target precision, see `at_precision`; None without a target.
    """

    texts: Texts
    folds: np.ndarray
    groups: np.ndarray | None
    probabilities: np.ndarray
    metrics: dict
    decided: np.ndarray | None = None
    precise: np.ndarray | None = None

    @property
    def predictions(self) -> Predictions:
        """The same as arrays alone."""
        return Predictions(self.probabilities, self.texts.known_labels, self.decided, self.groups, self.folds)

    @property
    def label_thresholds(self) -> np.ndarray | None:
        """The thresholds of the labels (C,), for the probabilities of the final model; None if the model has none."""
        if self.precise is not None or not self.metrics.get("label_thresholds"):
            return self.precise
        scaled = with_label_temperature(self.probabilities, self.divisor)
        return find_label_thresholds(scaled, self.texts.known_labels)

    @property
    def temperature(self) -> float:
        """The temperature that is fitted on all predicted rows."""
        return self.metrics["temperature_scaling"]["temperature"]

    @property
    def divisor(self) -> float:
        """What the logits of the model are divided by: the temperature, or 1 if the model is not calibrated."""
        return self.temperature if self.metrics["calibrated"] else 1.0

    @property
    def share(self) -> float:
        """The share of the trained weights that the rows have chosen; 1 if they choose nothing."""
        return self.metrics.get("trained_share", 1.0)

    def at_precision(self, names: Sequence[str], target: float, seed: int) -> Estimated:
        """The same with thresholds for a target precision of each label, by which labels are then predicted.

        Unlike those with the best F1 they are not cross-fitted: all rows are decided by the thresholds of all.

        Args:
            names: of the C labels.
            target: the precision.
            seed: of the row that is drawn from each group, and of the bootstrap.
        """
        labels = self.texts.known_labels
        independent = np.arange(len(labels)) if self.groups is None else one_row_of_each(self.groups, seed)
        final = with_label_temperature(self.probabilities, self.divisor)
        chosen = final[independent], labels[independent]
        thresholds = precision_thresholds(*chosen, target)
        decided = SeveralLabels().decisions(final, thresholds)
        scores = label_scores_with_intervals(self.probabilities, labels, self.groups, seed, decided)
        found = {"label_thresholds": True, "label_precision": precision_numbers(*chosen, thresholds, names, target)}
        return replace(self, decided=decided, precise=thresholds, metrics=self.metrics | scores | found)

    def fold_into(self, classifier: TextClassifier) -> None:
        """Gives the final model the temperature and the thresholds of the labels, as far as it is to have them."""
        divide_logits(classifier.model, self.divisor)
        if (found := self.label_thresholds) is not None:
            classifier.model.config.label_thresholds = dict(zip(classifier.labels, found.tolist(), strict=True))


def with_chosen_share(prepared: Prepared, estimated: Estimated | None) -> Prepared:
    """The run with the share of its trained weights that its recipe names, or its estimate has chosen; else 1."""
    if prepared.recipe.trained_share is not None:
        return prepared
    share = 1.0 if estimated is None else estimated.share
    return replace(prepared, recipe=replace(prepared.recipe, trained_share=share))


def estimate(
    prepared: Prepared, task: Task, folds: Folds, place: Path, listeners: Listeners, calibrated: bool,
    method: Any = None,
) -> Estimated | None:  # fmt: skip
    """Trains the models of an estimate and predicts the rows that they have not seen.

    Every process trains; the main one predicts.

    Args:
        prepared: the run; its model is not changed.
        task: the data of the run.
        folds: the labelled rows and their folds.
        place: a folder for checkpoints and finished folds, from which an interrupted estimate is continued.
        listeners: what is called during training; trackers are not told.
        calibrated: whether the temperature is to be folded into the model, see `choose_calibration`.
        method: an object that is used instead of the method of the recipe, as of `prepare`.

    Returns:
        None in all processes but the main one.

    Raises:
        InputError: the loss or the weights of a model are not finite.
    """
    own = replace(listeners, tracking=UNTRACKED, iteration=lambda model: None)
    recipe = recipe_of_folds(prepared.recipe, prepared.rows, len(task.labels))
    found = []
    for number in folds.predicted:
        rows = np.flatnonzero(folds.numbers == number)
        training, predicted = folds.divided(number)
        part = replace(task, training=training, validation=Texts([]), test=predicted)
        announcement = (
            f"estimate by {folds.kind}: model {number} of {len(folds.predicted)} is trained on {len(training):,} rows "
            f"and predicts {len(rows):,}"
        )
        ready = partial(prepare, recipe, part, method=method)
        found.append(fold_result(place / f"fold-{number}", rows, len(task.labels), ready, own, announcement))
    if not is_main_process():
        return None
    estimated = of_all_folds(folds, found, prepared.recipe.seed, calibrated)
    if not task.multi_label or recipe.target_precision is None:
        return estimated
    precise = estimated.at_precision(task.labels, recipe.target_precision, prepared.recipe.seed)
    listeners.note(precision_sentences({"estimate": precise.metrics})[0])
    return precise


def of_all_folds(folds: Folds, results: list[FoldResult], seed: int, calibrated: bool) -> Estimated:
    """The predictions of all folds in the order of the rows, and their scores.

    Args:
        seed: of the bootstrap.
        calibrated: whether the temperature is folded into the model.
    """
    rows = np.concatenate([result.rows for result in results])
    order = np.argsort(rows)
    of_shares = np.concatenate([result.probabilities for result in results], 1)[:, order]
    rows = rows[order]
    texts = folds.texts.take(rows)
    groups = None if folds.groups is None else folds.groups[rows]
    probabilities, chooses = of_shares[-1], len(of_shares) > 1
    kept = chosen_share(of_shares, texts.known_labels, groups) if chooses else -1
    if chooses:
        probabilities = cross_chosen(of_shares, texts.known_labels, kept, groups, seed)
    seen, steps, passes, seconds = zip(*(result.numbers for result in results), strict=True)
    metrics = {"kind": folds.kind, "rows": len(rows)}
    if groups is not None:
        metrics["groups"] = len(np.unique(groups))
    scoring = scoring_of(texts.known_labels)
    metrics |= scoring.with_intervals(probabilities, texts.known_labels, groups, seed) | {
        "baselines": baseline_scores([folds.divided(fold) for fold in folds.predicted], probabilities.shape[1]),
        "training_rows": list(seen), "steps": list(steps), "text_passes": round(sum(passes), 3),
        "seconds": round(sum(seconds), 1),
    }  # fmt: skip
    if chooses:
        metrics["trained_share"] = SHARES[kept]
    metrics["calibrated"] = calibrated
    metrics["temperature_scaling"] = scoring.cross_fitted(probabilities, texts.known_labels, groups, seed)
    found = Estimated(texts, folds.numbers[rows], groups, probabilities, metrics)
    if texts.known_labels.ndim == 1:
        return found
    decided, helps = chosen_decisions(probabilities, texts.known_labels, groups, seed)
    return replace(found, decided=decided, metrics=metrics | {"label_thresholds": helps})


# A prepared run is estimated, then trained: its estimate sets the temperature and the share of trained weights.


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
        found: as of `salience.training.estimate.abstention`.
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
