"""How predictions are scored: of one label for a text, or of several. `scoring_of` chooses by the labels.

Everything that is computed from probabilities and labels is asked here, so that nothing else tells the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.scores.calibration import (
    cross_fitted,
    cross_scaled,
    label_cross_fitted,
    label_cross_scaled,
    label_temperature,
    label_temperature_scores,
    temperature_of,
    temperature_scores,
    with_label_temperature,
    with_temperature,
)
from salience.scores.intervals import accuracy_interval, f1_intervals, macro_f1_interval
from salience.scores.label_metrics import (
    AT_THRESHOLDS,
    detailed_label_scores,
    label_class_scores,
    label_row_scores,
    label_scores,
    label_selection,
)
from salience.scores.metrics import class_scores, detailed_scores, row_scores, scores, selection
from salience.scores.thresholds import chosen_decisions


def scores_with_intervals(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int
) -> dict[str, Any]:
    """The scores of `detailed_scores`, and "accuracy_interval" and "macro_f1_interval", lists of two bounds.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        groups: (N,) the group of each row; None for rows that are independent.
        seed: of the bootstrap.
    """
    predicted = probabilities.argmax(1)
    of_accuracy = accuracy_interval(labels, predicted, groups, seed)
    of_macro_f1 = macro_f1_interval(labels, predicted, groups, seed)
    return detailed_scores(probabilities, labels) | {
        "accuracy_interval": list(of_accuracy),
        "macro_f1_interval": None if of_macro_f1 is None else list(of_macro_f1),
    }


def label_scores_with_intervals(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int,
    decided: np.ndarray | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The scores of `detailed_label_scores`, also of the decisions of the run, and intervals of their F1.

    Args:
        probabilities: (N, C).
        labels: (N, C), 0 and 1.
        groups: (N,) the group of each row; None for rows that are independent.
        seed: of the halves and of the bootstrap.
        decided: (N, C) bool, the labels that are predicted; None for `chosen_decisions`.

    Returns:
        "micro_f1_at_thresholds_interval" and "macro_f1_at_thresholds_interval" are lists of two bounds, or None.
    """
    if decided is None:
        decided, _ = chosen_decisions(probabilities, labels, groups, seed)
    found = f1_intervals(labels, decided.astype(labels.dtype), groups, seed)
    return detailed_label_scores(probabilities, labels, decided) | {
        f"{name}{AT_THRESHOLDS}_interval": None if bounds is None else list(bounds) for name, bounds in found.items()
    }


@dataclass(frozen=True)
class Scoring:
    """The functions of probabilities (N, C) and labels.

    Attributes:
        shown: the scores in tables, by their name in metrics.json, with their titles.
        estimated: the two scores that are told with their intervals, with their titles.
        scores: those of every evaluation.
        selection: the score by which the best checkpoint is selected; of the progress, too.
        detailed: the scores of a finished run.
        with_intervals: the scores of a finished run with intervals; of groups and a seed, too, and where a text can
            have several labels of the decisions.
        cross_fitted, temperature_scores: the temperature and the calibration errors.
        cross_scaled: the probabilities, each half of the rows scaled by the temperature of the other half.
        temperature, with_temperature: what suits these rows best, and the probabilities that are scaled by one.
        main: the score by which methods are compared, one of `compared`; a mean over rows.
        compared: the scores whose differences are computed in comparisons, with their titles.
        beside: those of `compared` whose differences are shown beside that of the main one.
        row_scores: name to values of the rows (N,), whose mean is the score; of some scores, "brier_score" among them.
        class_scores: "f1" and "support" of every class or label (C,).
    """

    shown: Mapping[str, str]
    estimated: Mapping[str, str]
    scores: Callable[[np.ndarray, np.ndarray], dict[str, float]]
    selection: Callable[[np.ndarray, np.ndarray, float], float]
    detailed: Callable[..., dict[str, float | None]]
    with_intervals: Callable[..., dict[str, Any]]
    cross_fitted: Callable[..., dict[str, float | None]]
    cross_scaled: Callable[..., np.ndarray | None]
    temperature_scores: Callable[..., dict[str, Any]]
    temperature: Callable[[np.ndarray, np.ndarray], float]
    with_temperature: Callable[[np.ndarray, float], np.ndarray]
    main: str
    compared: Mapping[str, str]
    beside: tuple[str, ...]
    row_scores: Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]]
    class_scores: Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]]

    @property
    def main_title(self) -> str:
        """The title of the main score."""
        return self.compared[self.main]

    def scaled(self, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The probabilities with the temperature that suits these rows best."""
        return self.with_temperature(probabilities, self.temperature(probabilities, labels))


# Scores from 0 to 1 that comparisons show in percent.
IN_PERCENT = ("accuracy", "macro_f1", "micro_f1", "subset_accuracy", "ranking_precision")
OF_ONE = Scoring(
    shown={"accuracy": "accuracy", "macro_f1": "macro-F1", "calibration_error": "calibration error"},
    estimated={"accuracy": "accuracy", "macro_f1": "macro-F1"},
    scores=scores, selection=selection, detailed=detailed_scores, with_intervals=scores_with_intervals,
    cross_fitted=cross_fitted, cross_scaled=cross_scaled, temperature_scores=temperature_scores,
    temperature=temperature_of, with_temperature=with_temperature, main="accuracy",
    compared={
        "accuracy": "accuracy", "macro_f1": "macro-F1", "log_loss": "log loss",
        "calibration_error": "calibration error",
    },
    beside=("log_loss",), row_scores=row_scores, class_scores=class_scores,
)  # fmt: skip
OF_SEVERAL = Scoring(
    shown={
        "micro_f1": "micro-F1", "macro_f1": "macro-F1", "subset_accuracy": "subset accuracy",
        "ranking_precision": "ranking precision", "calibration_error": "calibration error",
    },
    estimated={f"micro_f1{AT_THRESHOLDS}": "micro-F1", f"macro_f1{AT_THRESHOLDS}": "macro-F1"},
    scores=label_scores, selection=label_selection, detailed=detailed_label_scores,
    with_intervals=label_scores_with_intervals,
    # The ranking precision is the main score of a comparison: it needs no thresholds, which few rows do not give, it
    # is a mean over rows, as the intervals over rows take it to be, and checkpoints are chosen by it.
    cross_fitted=label_cross_fitted, cross_scaled=label_cross_scaled, temperature_scores=label_temperature_scores,
    temperature=label_temperature, with_temperature=with_label_temperature, main="ranking_precision",
    compared={
        "ranking_precision": "ranking precision", "micro_f1": "micro-F1", "macro_f1": "macro-F1",
        "subset_accuracy": "subset accuracy", "log_loss": "log loss", "calibration_error": "calibration error",
    },
    beside=("micro_f1", "log_loss"), row_scores=label_row_scores, class_scores=label_class_scores,
)  # fmt: skip


def scoring_of(labels: np.ndarray) -> Scoring:
    """The scoring for labels: class numbers (N,), or 0 and 1 (N, C)."""
    return OF_SEVERAL if labels.ndim == 2 else OF_ONE


def scoring_in(found: Mapping[str, Any]) -> Scoring:
    """The scoring that gave the scores of some rows, as metrics.json has them."""
    return OF_SEVERAL if "subset_accuracy" in found else OF_ONE
