"""The estimate of a run: models of the same recipe, each trained on a part of the labelled rows, predict the others.

They have no validation rows, and end with the last checkpoint. Their predictions set the temperature of the run's
model and, where its head begins as a regression, the share of its trained weights (`salience.training.shares`); each
row is scored by what other rows have set. On how the estimate errs, see docs/estimate.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from salience.data.task import Task
from salience.data.texts import Texts
from salience.inference import TextClassifier
from salience.models.problem import SeveralLabels
from salience.processes import is_main_process
from salience.training.baselines import baseline_scores
from salience.training.calibrating import divide_logits
from salience.training.fitting import Listeners
from salience.training.fold_models import FoldResult, fold_result
from salience.training.folds import Folds, recipe_of_folds
from salience.training.label_precision import precision_numbers, precision_sentences, precision_thresholds
from salience.training.label_temperature import with_label_temperature
from salience.training.label_thresholds import chosen_decisions, find_label_thresholds
from salience.training.preparing import Prepared, prepare
from salience.training.scoring import label_scores_with_intervals, scoring_of
from salience.training.shares import SHARES, chosen_share, cross_chosen
from salience.training.thresholds import one_row_of_each
from salience.training.trackers import UNTRACKED


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
