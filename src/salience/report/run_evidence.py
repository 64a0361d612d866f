"""What the report of a run shows: the rows and words that are chosen of the judged rows, and their explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from salience.comparison.kept_runs import read_rows
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers.class_words import POINTS, ClassWord, words_by_class
from salience.explainers.explanation import Explanation
from salience.explainers.explanations import explain_texts
from salience.explainers.gradient import gradient
from salience.explainers.integrated import IntegratedGradients
from salience.inference import TextClassifier
from salience.training.calibration_evidence import Calibration, calibration_of
from salience.training.confident_errors import confident_errors, decision_thresholds
from salience.training.finished_run import FinishedRun, JudgedRows

ERRORS, EXPLAINED, WORDS = 20, 200, 8  # errors that are shown, rows that are explained for the words, words of a class


@dataclass(frozen=True)
class ShownError:
    """A row that is predicted wrongly; where a text can have several labels, a wrong decision about one of them.

    Attributes:
        row: a line of the file of the judged rows: "row", "text", "label", "predicted", and "text_pair" of a pair.
        label: the name of the predicted class, or of the label that is decided.
        probability: of that label.
        explanation: of that label, by the model of the run; None without a model.
        threshold: from which on the label is predicted; None where a text has one label.
    """

    row: dict[str, Any]
    label: str
    probability: float
    explanation: Explanation | None
    threshold: float | None = None

    @property
    def predicted(self) -> str:
        """What is predicted, in words; "not joy" of a label that the row does not get."""
        gets = self.threshold is None or self.label in self.row["predicted"]
        return self.label if gets else f"not {self.label}"

    @property
    def right(self) -> str:
        """What the row is, in words."""
        if self.threshold is None:
            return f"it is {self.row['label']}"
        return f"it has {', '.join(self.row['label']) or 'no label'}"


@dataclass(frozen=True)
class RunEvidence:
    """What the report of a run shows.

    Attributes:
        run: the run.
        calibration: of the judged rows; None if there are none.
        errors: the most confident errors, the most confident first.
        wrong: number of all errors, which are decisions where a text can have several labels.
        words: number of a class or label to the words that speak for it; empty without a model or judged rows.
        explained: number of the judged rows that the words are from.
        explainers: of the errors and of the words.
    """

    run: FinishedRun
    calibration: Calibration | None = None
    errors: list[ShownError] = field(default_factory=list)
    wrong: int = 0
    words: dict[int, list[ClassWord]] = field(default_factory=dict)
    explained: int = 0
    explainers: tuple[str, str] = ("gradient", "integrated-gradients")


def run_evidence(run: FinishedRun, classifier: TextClassifier | None) -> RunEvidence:
    """What the report shows.

    Args:
        classifier: of the run; None leaves explanations out.

    Raises:
        InputError: a file of the run is damaged.
    """
    judged = run.judged
    if judged is None:
        return RunEvidence(run)
    if classifier is not None and classifier.labels != run.labels:
        raise InputError(f"{run.folder}: the model has other labels than {judged.file}: train it again")
    errors, wrong = most_confident(run, judged, classifier)
    evidence = RunEvidence(run, calibration_of(run), errors, wrong)
    if classifier is None:
        return evidence
    chosen = spread_rows(judged.decisions, EXPLAINED)
    texts = texts_of(read_rows(run.folder, chosen, judged.file))
    name = evidence.explainers[1]
    # Not gradient x input: where a model is certain, the gradient at the text is nearly 0, and its signs are noise.
    explained = explain_texts(classifier, texts, {name: IntegratedGradients(POINTS)})
    words = words_by_class((each for each in explained if each.is_predicted), name, WORDS)
    return replace(evidence, words=words, explained=len(chosen))


def most_confident(
    run: FinishedRun, judged: JudgedRows, classifier: TextClassifier | None
) -> tuple[list[ShownError], int]:
    """The most confident errors, the most confident first, and the number of all errors.

    Args:
        classifier: explains them; None leaves the explanations out.
    """
    thresholds = decision_thresholds(run, judged)
    wrong, of_labels = confident_errors(judged, thresholds)
    shown, targets = wrong[:ERRORS], of_labels[:ERRORS]
    rows = read_rows(run.folder, shown.tolist(), judged.file)
    explanations = explained_errors(classifier, rows, targets)
    errors = [
        ShownError(
            row, run.labels[target], float(judged.probabilities[place, target]), explanation,
            None if thresholds is None else float(thresholds[place, target]),
        )
        for row, place, target, explanation in zip(rows, shown, targets, explanations, strict=True)
    ]  # fmt: skip
    return errors, len(wrong)


def explained_errors(
    classifier: TextClassifier | None, rows: Sequence[Mapping[str, Any]], targets: np.ndarray
) -> list[Explanation | None]:
    """The explanation of each row for the label whose decision is wrong; None without a classifier.

    Args:
        targets: (N,) numbers of these labels.
    """
    found: list[Explanation | None] = [None] * len(rows)
    if classifier is not None:
        for target in np.unique(targets).tolist():
            places = np.flatnonzero(targets == target).tolist()
            texts = texts_of([rows[place] for place in places])
            for place, each in zip(
                places, explain_texts(classifier, texts, {"gradient": gradient}, target), strict=True
            ):
                found[place] = each
    return found


def spread_rows(decisions: np.ndarray, most: int) -> list[int]:
    """At most so many rows, drawn evenly from the predicted labels, always the same ones; in order.

    Args:
        decisions: (N, C) bool, whether each row gets each label. Rows that get none are left out.
    """
    draw = np.random.default_rng(0).permutation(len(decisions))
    turn = np.full(len(draw), len(draw))  # of a row among those of its label, of several labels the earliest one
    for of_label in decisions.T:
        own = draw[of_label[draw]]
        turn[own] = np.minimum(turn[own], np.arange(len(own)))
    in_turn = draw[np.argsort(turn[draw], kind="stable")]
    return sorted(in_turn[turn[in_turn] < len(draw)][:most].tolist())


def texts_of(rows: Sequence[Mapping[str, Any]]) -> Texts:
    """The texts of lines of a run's predictions."""
    pairs = [row["text_pair"] for row in rows if "text_pair" in row]
    return Texts([row["text"] for row in rows], pairs or None, rows=[row["row"] for row in rows])
