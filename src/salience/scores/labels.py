"""One label for a text, or several: everything that depends on it, as one object that is chosen once.

Probabilities are (N, C); with one label for a text they sum to 1. Labels are class numbers (N,); or 0 and 1 (N, C)
where a text can have several, or none. What a classifier decides is (N, C) bool in both cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.scores.calibration import (
    half_of_rows,
    label_temperature_of,
    temperature_of,
    with_label_temperature,
    with_temperature,
)
from salience.scores.intervals import (
    Interval,
    Score,
    accuracy_interval,
    f1_intervals,
    gap_interval,
    macro_f1_interval,
    mean_interval,
)
from salience.scores.metrics import (
    HALF,
    average_precisions,
    calibration_error,
    decision_scores,
    equal_mass_intervals,
    error_auroc,
    label_log_losses,
    linearised_f1,
    ranking_precisions,
)
from salience.scores.thresholds import chosen_decisions, decided_at, predicted_from

AT_THRESHOLDS = "_at_thresholds"  # ends the names of the scores of decisions by the thresholds of the labels
# Scores from 0 to 1 that comparisons show in percent.
IN_PERCENT = ("accuracy", "macro_f1", "micro_f1", "subset_accuracy", "ranking_precision")
ERRORS = (("calibration_error", False), ("equal_mass_calibration_error", True))


@dataclass(frozen=True)
class Bin:
    """Decisions of similar confidence, for a reliability diagram: number, mean confidence, and share of right ones."""

    rows: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Labels(ABC):
    """Whether a text has one of C labels, or any number of them.

    Attributes:
        several: whether it can have several labels.
        problem_type: the name that the configurations of transformers have for it.
        answer, answers: what a classifier says of a text and of several, for messages.
        accuracy: the name of the share of texts whose answer is right.
        shown: the scores in tables, by their name in metrics.json, with their titles.
        estimated: the two scores that are told with their intervals, with their titles.
        main: the score by which methods are compared, one of `compared`; a mean over rows.
        compared: the scores whose differences are computed in comparisons, with their titles.
        beside: those of `compared` whose differences are shown beside that of the main one.
    """

    several: bool
    problem_type: str
    answer: str
    answers: str
    accuracy: str
    shown: Mapping[str, str]
    estimated: Mapping[str, str]
    main: str
    compared: Mapping[str, str]
    beside: tuple[str, ...]

    @property
    def main_title(self) -> str:
        return self.compared[self.main]

    @abstractmethod
    def decisions(self, probabilities: np.ndarray, thresholds: np.ndarray | float = HALF) -> np.ndarray:
        """The labels that are predicted (..., C) bool, from probabilities (..., C).

        With one label it is the most probable one, unless a label has a threshold of its own, beside NaN for the
        others: see `predicted_from`. With several, those whose probability is at least their threshold (C,), which
        with 1 is never.
        """

    @abstractmethod
    def right(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """The labels that are right (N, C) bool; none in rows whose labels are `UNKNOWN`."""

    @abstractmethod
    def support(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """The number of rows of each label (C,); there may be more labels than `classes`."""

    @abstractmethod
    def judged(self, probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The D decisions about each row that are calibrated: their confidences (..., D), and whether each is right.

        With one label D is 1, with the highest probability; with several it is C, as of C binary classifiers. Most
        labels do not apply to most texts, so that their probabilities are near 0 and the calibration error is smaller.
        """

    def calibration_error(self, probabilities: np.ndarray, labels: np.ndarray, equal_mass: bool = False) -> float:
        return calibration_error(*self.judged(probabilities, labels), equal_mass)

    # Scores of some rows.

    @abstractmethod
    def scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """The scores of every evaluation, by name."""

    @abstractmethod
    def detailed(
        self, probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray | None = None
    ) -> dict[str, float | None]:
        """The scores of a finished run; those of `decided` are added with `AT_THRESHOLDS` behind their names."""

    @abstractmethod
    def with_intervals(
        self, probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int,
        decided: np.ndarray | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """`detailed`, and the 95 % intervals of the two scores of `estimated`: NAME_interval, two bounds or None.

        Without `decided`, decisions are those of `chosen_decisions`. `groups` and `seed` are as in `intervals`.
        """

    @abstractmethod
    def scored(
        self, probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray, groups: np.ndarray | None = None,
        seed: int = 0,
    ) -> dict[str, Score]:  # fmt: skip
        """The scores of a report with their intervals."""

    @abstractmethod
    def row_scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """Name to values of the rows (N,), whose mean is the score."""

    @abstractmethod
    def class_scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """ "f1" and "support" of every label (C,). F1 is 0 for a label that is neither predicted nor right."""

    def selection(self, probabilities: np.ndarray, labels: np.ndarray, progress: float) -> float:
        """The score by which the best checkpoint is selected: the main one plus 2 * progress standard errors of it.

        The maximum of a score over checkpoints is partly chance and often early, when the learning rate is still high.
        With this score a later checkpoint is preferred unless it is worse by more than chance explains. The standard
        error is that of the proportion (k + 1) / (n + 2) for k correct predictions of n, above 0 even if all are
        correct (similar to Agresti and Coull, 1998, doi 10.1080/00031305.1998.10480550, who add 2 and 4).

        Args:
            progress: part of the training steps that is done, from 0 to 1.
        """
        rows = len(labels)
        mean, right = self._selected(probabilities, labels)
        return mean + 2 * ((right + 1) * (rows - right + 1) / (rows + 2) ** 3) ** 0.5 * progress

    @abstractmethod
    def _selected(self, probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        """The main score, and the number of right predictions that it stands for."""

    # Temperatures, see `salience.scores.calibration`.

    @abstractmethod
    def temperature(self, probabilities: np.ndarray, labels: np.ndarray) -> float:
        """The temperature that suits these rows best; 1 if all of them are right."""

    @abstractmethod
    def with_temperature(self, probabilities: np.ndarray, temperature: float) -> np.ndarray:
        """The probabilities with a temperature, of the same type."""

    def scaled(self, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The probabilities with the temperature that suits these rows best."""
        return self.with_temperature(probabilities, self.temperature(probabilities, labels))

    def temperature_scores(
        self, validation: np.ndarray, validation_labels: np.ndarray, test: np.ndarray, labels: np.ndarray
    ) -> dict[str, float | None]:
        """ "temperature", and both calibration errors of the test rows, each also "_scaled", after scaling.

        T is fitted on the validation rows. In a run they have chosen the checkpoint too, which can make T a little too
        small, and the error after it too large, not too small.

        Raises:
            InputError: there are no validation rows.
        """
        temperature = self.temperature(validation, validation_labels)
        return self._errors(temperature, test, self.with_temperature(test, temperature), labels)

    def cross_fitted(
        self, probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
    ) -> dict[str, float | None]:
        """As `temperature_scores`, of one part: T is fitted on all rows, the errors after it are cross-fitted.

        They are None if there is a single row or group.
        """
        after = self.cross_scaled(probabilities, labels, groups, seed)
        return self._errors(self.temperature(probabilities, labels), probabilities, after, labels)

    def cross_scaled(
        self, probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
    ) -> np.ndarray | None:
        """The probabilities, each half of the rows, or of the groups, scaled by the temperature of the other half.

        None if there is a single row or group.
        """
        first = half_of_rows(len(labels) if groups is None else groups, seed)
        if not first.any():
            return None
        scaled = probabilities.copy()
        for rows in (first, ~first):
            temperature = self.temperature(probabilities[~rows], labels[~rows])
            scaled[rows] = self.with_temperature(probabilities[rows], temperature)
        return scaled

    def _errors(
        self, temperature: float, before: np.ndarray, after: np.ndarray | None, labels: np.ndarray
    ) -> dict[str, float | None]:
        found: dict[str, float | None] = {"temperature": temperature}
        for name, equal_mass in ERRORS:
            found[name] = self.calibration_error(before, labels, equal_mass)
            found[f"{name}_scaled"] = None if after is None else self.calibration_error(after, labels, equal_mass)
        return found

    # What the predictions of several seeds say together, from probabilities (S, N, C).

    def reliability(self, probabilities: np.ndarray, labels: np.ndarray, bins: int = 10) -> list[Bin]:
        """The bins of a reliability diagram, pooled over seeds, the lowest confidence first; empty ones are left out.

        They hold equally many decisions each. DeGroot and Fienberg (1983, doi 10.2307/2987588).
        """
        confidence, right = (each.ravel().astype(float) for each in self.judged(probabilities, labels))
        interval = equal_mass_intervals(confidence, bins)
        rows = np.bincount(interval, minlength=bins)
        sums = np.bincount(interval, confidence, bins), np.bincount(interval, right, bins)
        return [
            Bin(int(rows[each]), float(sums[0][each] / rows[each]), float(sums[1][each] / rows[each]))
            for each in np.flatnonzero(rows)
        ]

    def votes(self, probabilities: np.ndarray) -> np.ndarray:
        """How many seeds give each label to each row (N, C)."""
        return self.decisions(probabilities).sum(0)

    @abstractmethod
    def majority(self, probabilities: np.ndarray) -> np.ndarray:
        """The labels that most seeds give to each row (N, C) bool; the mean probability decides a tie."""

    @abstractmethod
    def disagreement(self, baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
        """How far the predictions of any method are from the baseline's, (N, D) from 0 to 1; no other method gives 0.

        It is 0 where no majority differs from the baseline's, elsewhere the largest share of seeds by which the votes
        of such a method differ: with one label (D = 1) the total variation distance of the votes, with several of each
        label.
        """

    def chosen(self, probabilities: np.ndarray, row: int, names: list[str]) -> tuple[str, int]:
        """What most seeds predict for a row, in words, and the number of seeds that predict exactly this."""
        of_row = probabilities[:, row : row + 1]
        found = self.majority(of_row)[0]
        return self.in_words(found, names), int((self.decisions(of_row[:, 0]) == found).all(1).sum())

    def in_words(self, chosen: np.ndarray, names: list[str]) -> str:
        """The labels of a text (C,) bool: "joy, fear", or "no label"."""
        return ", ".join(names[number] for number in np.flatnonzero(chosen)) or "no label"


class OneLabel(Labels):
    """A text has one of C labels; the most probable one is predicted."""

    def decisions(self, probabilities: np.ndarray, thresholds: np.ndarray | float = HALF) -> np.ndarray:
        own = np.isnan(thresholds).any()
        chosen = predicted_from(probabilities, np.asarray(thresholds)) if own else probabilities.argmax(-1)
        return np.arange(probabilities.shape[-1]) == chosen[..., None]

    def right(self, labels: np.ndarray, classes: int) -> np.ndarray:
        return np.arange(classes) == labels[:, None]

    def support(self, labels: np.ndarray, classes: int) -> np.ndarray:
        return np.bincount(labels, minlength=classes)

    def judged(self, probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return probabilities.max(-1)[..., None], (probabilities.argmax(-1) == labels)[..., None]

    def scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Accuracy, macro-F1, calibration error, and log loss in nats.

        Macro-F1 is over the classes that occur in labels or predictions, as in scikit-learn. The log loss clips
        probabilities at the precision of their type, so it is comparable among probabilities of one type only.
        """
        from sklearn.metrics import log_loss

        return self.decision_scores(probabilities.argmax(1), labels) | {
            "calibration_error": self.calibration_error(probabilities, labels),
            "log_loss": float(log_loss(labels, probabilities, labels=np.arange(probabilities.shape[1]))),
        }

    def decision_scores(self, predicted: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """The scores of class numbers (N,), which need no probabilities."""
        from sklearn.metrics import accuracy_score, f1_score

        return {
            "accuracy": float(accuracy_score(labels, predicted)),
            "macro_f1": float(f1_score(labels, predicted, average="macro", zero_division=0)),
        }

    def detailed(
        self, probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray | None = None
    ) -> dict[str, float | None]:
        more = {} if decided is None else self.decision_scores(decided.argmax(1), labels)
        return {
            **self.scores(probabilities, labels),
            "brier_score": float(self.row_scores(probabilities, labels)["brier_score"].mean()),
            "equal_mass_calibration_error": self.calibration_error(probabilities, labels, equal_mass=True),
            "error_auroc": error_auroc(probabilities, labels),
            **{name + AT_THRESHOLDS: value for name, value in more.items()},
        }

    def with_intervals(
        self, probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int,
        decided: np.ndarray | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        found: dict[str, Any] = dict(self.detailed(probabilities, labels, decided))
        of_decisions = {"": probabilities.argmax(1)} | ({} if decided is None else {AT_THRESHOLDS: decided.argmax(1)})
        for end, predicted in of_decisions.items():
            found[f"accuracy{end}_interval"] = bounds(accuracy_interval(labels, predicted, groups, seed))
            found[f"macro_f1{end}_interval"] = bounds(macro_f1_interval(labels, predicted, groups, seed))
        return found

    def scored(
        self, probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray | None = None,
        groups: np.ndarray | None = None, seed: int = 0,
    ) -> dict[str, Score]:  # fmt: skip
        predicted = (self.decisions(probabilities) if decided is None else decided).argmax(1)
        values = self.scores(probabilities, labels) | self.decision_scores(predicted, labels)
        log_losses = self.row_scores(probabilities, labels)["log_loss"]
        intervals = {
            "accuracy": accuracy_interval(labels, predicted, groups, seed),
            "macro_f1": macro_f1_interval(labels, predicted, groups, seed),
            "log_loss": mean_interval(log_losses, groups, seed),
            "calibration_error": gap_interval(*self.judged(probabilities, labels), groups, seed),
        }
        return {name: Score(values[name], interval) for name, interval in intervals.items()}

    def row_scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """The Brier score is sum_c (p_c - y_c)^2, from 0 to 2: Brier (1950), Eq. 2, a sum over all classes.

        doi 10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2. As scikit-learn's with `scale_by_half=False`.
        """
        of_label = probabilities[np.arange(len(labels)), labels].astype(float)
        least = np.finfo(probabilities.dtype).eps  # as in scikit-learn's log loss
        return {
            "accuracy": (probabilities.argmax(1) == labels).astype(float),
            "log_loss": -np.log(np.clip(of_label, least, 1 - least)),
            "brier_score": ((probabilities - np.eye(probabilities.shape[1])[labels]) ** 2).sum(1),
        }

    def class_scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        classes, predicted = probabilities.shape[1], probabilities.argmax(1)
        right = np.bincount(labels[predicted == labels], minlength=classes)
        named, support = np.bincount(predicted, minlength=classes), np.bincount(labels, minlength=classes)
        return {
            "precision": right / np.maximum(named, 1),
            "recall": right / np.maximum(support, 1),
            "f1": 2 * right / np.maximum(named + support, 1),
            "support": support,
        }

    def _selected(self, probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        right = int((probabilities.argmax(1) == labels).sum())
        return right / len(labels), right

    def temperature(self, probabilities: np.ndarray, labels: np.ndarray) -> float:
        return temperature_of(probabilities, labels)

    def with_temperature(self, probabilities: np.ndarray, temperature: float) -> np.ndarray:
        return with_temperature(probabilities, temperature)

    def confusion(self, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Number of rows of each label (rows) with each prediction (columns), a mean over seeds (C, C)."""
        seeds, _, classes = probabilities.shape
        pairs = labels * classes + probabilities.argmax(2)
        return np.bincount(pairs.ravel(), minlength=classes**2).reshape(classes, classes) / seeds

    def majority(self, probabilities: np.ndarray) -> np.ndarray:
        return self.decisions(self.votes(probabilities) + 0.5 * np.nan_to_num(probabilities.mean(0)))

    def disagreement(self, baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
        votes, expected = self.votes(baseline), self.majority(baseline)
        distances = [
            np.where(
                (self.majority(other) != expected).any(1),
                np.abs(self.votes(other) - votes).sum(1) / (2 * len(other)),
                0.0,
            )
            for other in others
        ]
        return np.max([np.zeros(len(expected)), *distances], axis=0)[:, None]


class SeveralLabels(Labels):
    """A text has any number of C labels, none included.

    In comparisons the ranking precision is the main score: it needs no thresholds, and is a mean over rows.
    """

    def decisions(self, probabilities: np.ndarray, thresholds: np.ndarray | float = HALF) -> np.ndarray:
        return decided_at(probabilities, thresholds)

    def right(self, labels: np.ndarray, classes: int) -> np.ndarray:
        return labels == 1

    def support(self, labels: np.ndarray, classes: int) -> np.ndarray:
        return labels.sum(0)

    def judged(self, probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return probabilities, np.broadcast_to(labels == 1, probabilities.shape)

    def scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Decisions are at 0.5; the log loss is the mean over the labels, in nats."""
        return decision_scores(probabilities >= HALF, labels) | {
            "ranking_precision": self._selected(probabilities, labels)[0],
            "log_loss": float(label_log_losses(probabilities, labels).mean(0).mean()),
        }

    def detailed(
        self, probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray | None = None
    ) -> dict[str, float | None]:
        """ "mean_average_precision" is None if no label has rows."""
        precisions = average_precisions(probabilities, labels)
        known = precisions[~np.isnan(precisions)]
        more = {} if decided is None else decision_scores(decided, labels)
        return {
            **self.scores(probabilities, labels),
            "mean_average_precision": float(known.mean()) if len(known) else None,
            **{name: self.calibration_error(probabilities, labels, equal_mass) for name, equal_mass in ERRORS},
            **{name + AT_THRESHOLDS: value for name, value in more.items()},
        }

    def with_intervals(
        self, probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None, seed: int,
        decided: np.ndarray | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        if decided is None:
            decided, _ = chosen_decisions(probabilities, labels, groups, seed)
        found = f1_intervals(labels, decided.astype(labels.dtype), groups, seed)
        return self.detailed(probabilities, labels, decided) | {
            f"{name}{AT_THRESHOLDS}_interval": bounds(interval) for name, interval in found.items()
        }

    def scored(
        self, probabilities: np.ndarray, labels: np.ndarray, decided: np.ndarray, groups: np.ndarray | None = None,
        seed: int = 0,
    ) -> dict[str, Score]:  # fmt: skip
        """The subset accuracy is a share of rows and has the interval of an accuracy."""
        rankings, right = ranking_precisions(probabilities, labels), (decided == labels).all(1).astype(int)
        values = decision_scores(decided, labels) | {
            "ranking_precision": float(rankings.mean()),
            "calibration_error": self.calibration_error(probabilities, labels),
        }
        intervals = {
            **f1_intervals(labels, decided.astype(labels.dtype), groups, seed),
            "subset_accuracy": accuracy_interval(np.ones_like(right), right, groups, seed),
            "ranking_precision": mean_interval(rankings, groups, seed),
            "calibration_error": gap_interval(*self.judged(probabilities, labels), groups, seed),
        }
        return {name: Score(values[name], interval) for name, interval in intervals.items()}

    def row_scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """F1 is linearised, see `linearised_f1`, macro-F1 for each label."""
        predicted = (probabilities >= HALF).astype(int)
        right, either = labels * predicted, labels + predicted
        return {
            "ranking_precision": ranking_precisions(probabilities, labels),
            "micro_f1": linearised_f1(right.sum(1), either.sum(1)),
            "macro_f1": linearised_f1(right, either).mean(1),
            "subset_accuracy": (predicted == labels).all(1).astype(float),
            "log_loss": label_log_losses(probabilities, labels).mean(1),
        }

    def class_scores(self, probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        predicted = probabilities >= HALF
        named, support = predicted.sum(0), labels.sum(0)
        return {"f1": 2 * (predicted & (labels == 1)).sum(0) / np.maximum(named + support, 1), "support": support}

    def _selected(self, probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        from sklearn.metrics import label_ranking_average_precision_score

        mean = float(label_ranking_average_precision_score(labels, probabilities))
        return mean, mean * len(labels)

    def temperature(self, probabilities: np.ndarray, labels: np.ndarray) -> float:
        return label_temperature_of(probabilities, labels)

    def with_temperature(self, probabilities: np.ndarray, temperature: float) -> np.ndarray:
        return with_label_temperature(probabilities, temperature)

    def majority(self, probabilities: np.ndarray) -> np.ndarray:
        twice, seeds = 2 * self.votes(probabilities), len(probabilities)
        return (twice > seeds) | ((twice == seeds) & (probabilities.mean(0) >= HALF))

    def disagreement(self, baseline: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
        votes, expected = self.votes(baseline), self.majority(baseline)
        found = [
            np.where(self.majority(other) != expected, np.abs(self.votes(other) - votes) / len(other), 0.0)
            for other in others
        ]
        return np.max([np.zeros(expected.shape), *found], axis=0)


def bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


ONE_LABEL = OneLabel(
    several=False, problem_type="single_label_classification",
    answer="label", answers="labels", accuracy="accuracy",
    shown={"accuracy": "accuracy", "macro_f1": "macro-F1", "calibration_error": "calibration error"},
    estimated={"accuracy": "accuracy", "macro_f1": "macro-F1"},
    main="accuracy",
    compared={
        "accuracy": "accuracy", "macro_f1": "macro-F1", "log_loss": "log loss",
        "calibration_error": "calibration error",
    },
    beside=("log_loss",),
)  # fmt: skip
SEVERAL_LABELS = SeveralLabels(
    several=True, problem_type="multi_label_classification",
    answer="set of labels", answers="sets of labels", accuracy="subset accuracy",
    shown={
        "micro_f1": "micro-F1", "macro_f1": "macro-F1", "subset_accuracy": "subset accuracy",
        "ranking_precision": "ranking precision", "calibration_error": "calibration error",
    },
    estimated={f"micro_f1{AT_THRESHOLDS}": "micro-F1", f"macro_f1{AT_THRESHOLDS}": "macro-F1"},
    main="ranking_precision",
    compared={
        "ranking_precision": "ranking precision", "micro_f1": "micro-F1", "macro_f1": "macro-F1",
        "subset_accuracy": "subset accuracy", "log_loss": "log loss", "calibration_error": "calibration error",
    },
    beside=("micro_f1", "log_loss"),
)  # fmt: skip


def labels_of(labels: np.ndarray) -> Labels:
    """`ONE_LABEL` for class numbers (N,), `SEVERAL_LABELS` for 0 and 1 (N, C)."""
    return SEVERAL_LABELS if labels.ndim == 2 else ONE_LABEL


def labels_in(scores: Mapping[str, Any]) -> Labels:
    """What gave the scores of some rows, as metrics.json has them."""
    return SEVERAL_LABELS if "subset_accuracy" in scores else ONE_LABEL
