"""What the report of a run shows: the rows and words that are chosen of the judged rows, and their explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers.class_words import POINTS, ClassWord, words_by_class
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import Explanation
from salience.explainers.gradient import gradient
from salience.explainers.integrated import IntegratedGradients
from salience.runs.results import Run, read_rows
from salience.scores.labels import labels_of
from salience.scores.metrics import HALF
from salience.scores.predictions import Predictions
from salience.scores.thresholds import cross_thresholds

ERRORS, EXPLAINED, WORDS = 20, 200, 8  # errors that are shown, rows that are explained for the words, words of a class
# How the probabilities "after" the temperature were obtained, or those "before" where the model has it already.
FOLDED, VALIDATION, HALVES = "folded into the model", "validation rows", "halves"


@dataclass(frozen=True)
class Calibration:
    """Probabilities of the judged rows, all (N, C).

    Attributes:
        before: without the temperature.
        after: with it; None if there are too few rows.
        temperature: of the run; None if each half of the rows has its own and none is stored.
        source: `FOLDED`, the model of the run has the temperature of the estimate, which was taken out again for
            `before`; `VALIDATION`, it was fitted on the validation rows; `HALVES`, each half of the rows is scaled by
            the temperature of the other half.
        deployed: the probabilities that stand for those of the model in the run folder.
    """

    before: np.ndarray
    after: np.ndarray | None
    temperature: float | None
    source: str
    deployed: np.ndarray


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

    run: Run
    calibration: Calibration | None = None
    errors: list[ShownError] = field(default_factory=list)
    wrong: int = 0
    words: dict[int, list[ClassWord]] = field(default_factory=dict)
    explained: int = 0
    explainers: tuple[str, str] = ("gradient", "integrated-gradients")


def run_evidence(run: Run, classifier: TextClassifier | None) -> RunEvidence:
    """What the report shows.

    Args:
        classifier: of the run; None leaves explanations out.

    Raises:
        InputError: a file of the run is damaged.
    """
    judged = run.predictions
    if judged is None:
        return RunEvidence(run)
    if classifier is not None and classifier.labels != run.labels:
        raise InputError(f"{run.folder}: the model has other labels than {run.judged_file}: train it again")
    errors, wrong = most_confident(run, judged, classifier)
    evidence = RunEvidence(run, calibration_of(run, judged), errors, wrong)
    if classifier is None:
        return evidence
    chosen = spread_rows(judged.decisions, EXPLAINED)
    texts = texts_of(read_rows(run.folder, chosen, run.judged_file))
    name = evidence.explainers[1]
    # Not gradient x input: where a model is certain, the gradient at the text is nearly 0, and its signs are noise.
    explained = explain_texts(classifier, texts, {name: IntegratedGradients(POINTS)})
    words = words_by_class((each for each in explained if each.is_predicted), name, WORDS)
    return replace(evidence, words=words, explained=len(chosen))


def calibration_of(run: Run, judged: Predictions) -> Calibration:
    """The probabilities of the judged rows before and after the temperature."""
    own, labels, metrics = judged.probabilities, judged.labels, run.metrics
    scoring, estimate = labels_of(labels), metrics.get("estimate", {})
    calibrated = bool(estimate.get("calibrated"))
    if run.judge == "estimate":
        after = scoring.cross_scaled(own, labels, judged.groups, int(run.recipe["seed"]))
        deployed = after if calibrated and after is not None else own
        return Calibration(own, after, estimate["temperature_scaling"]["temperature"], HALVES, deployed)
    if calibrated:
        temperature = estimate["temperature_scaling"]["temperature"]
        return Calibration(scoring.with_temperature(own, 1 / temperature), own, temperature, FOLDED, own)
    if run.judge == "test" and "validation" in metrics:
        temperature = metrics["temperature_scaling"]["temperature"]
        return Calibration(own, scoring.with_temperature(own, temperature), temperature, VALIDATION, own)
    temperature = metrics.get("temperature_scaling", {}).get("temperature")
    return Calibration(own, scoring.cross_scaled(own, labels), temperature, HALVES, own)


def decision_thresholds(run: Run, judged: Predictions) -> np.ndarray | None:
    """The thresholds (N, C) that decided about each label of each judged row; None where a text has one label.

    In an estimate, the thresholds of a row are those that are best on the other half of the rows; for a target
    precision, those that all rows have found.
    """
    if judged.decided is None:
        return None
    if run.judge != "estimate" or "label_precision" in run.metrics["estimate"]:
        own = [run.metrics["labels"][label]["threshold"] for label in run.labels]
        return np.broadcast_to(np.array(own), judged.labels.shape)
    if not run.metrics["estimate"]["label_thresholds"]:
        return np.full(judged.labels.shape, HALF)
    return cross_thresholds(judged.probabilities, judged.labels, judged.groups, int(run.recipe["seed"]))


def most_confident(run: Run, judged: Predictions, classifier: TextClassifier | None) -> tuple[list[ShownError], int]:
    """The most confident errors, the most confident first, and the number of all errors.

    Where a text has one label, an error is a wrong prediction, and its confidence the probability of the predicted
    class. Where it can have several, each wrong decision about a label is an error, and its confidence the distance of
    the probability from the threshold of the label.

    Args:
        classifier: explains them for the label whose decision is wrong; None leaves the explanations out.
    """
    thresholds = decision_thresholds(run, judged)
    if thresholds is None:
        wrong = judged.decisions & (judged.predicted != judged.labels)[:, None]
        confidence = judged.probabilities
    else:
        wrong, confidence = judged.decisions != judged.labels, np.abs(judged.probabilities - thresholds)
    places, labels = np.nonzero(wrong)
    order = np.argsort(-confidence[places, labels], kind="stable")[:ERRORS]
    shown, targets = places[order], labels[order]
    rows = read_rows(run.folder, shown.tolist(), run.judged_file)
    explanations: dict[int, Explanation] = {}
    if classifier is not None:
        for target in np.unique(targets).tolist():
            own = np.flatnonzero(targets == target).tolist()
            texts = texts_of([rows[number] for number in own])
            explanations |= zip(own, explain_texts(classifier, texts, {"gradient": gradient}, target), strict=True)
    errors = [
        ShownError(
            row, run.labels[target], float(judged.probabilities[place, target]), explanations.get(number),
            None if thresholds is None else float(thresholds[place, target]),
        )
        for number, (row, place, target) in enumerate(zip(rows, shown, targets, strict=True))
    ]  # fmt: skip
    return errors, len(places)


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
