"""The report of a run as a page: scores, confusions, calibration, curves, errors, words of classes, and the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from salience.comparison.predictions import reliability
from salience.explainers.class_words import LEAST, ClassWord
from salience.explainers.explanation import Explanation, colour
from salience.report.comparison_page import SHOWN, Figures, cut
from salience.report.heat_maps import HeatMap, colour_class, heat_maps_of_text, legend
from salience.report.inline_svg import Styles
from salience.report.label_tables import label_parts
from salience.report.page import PACKAGE, asset, framed
from salience.report.prediction_pictures import diagrams
from salience.report.run_pictures import history_drawings
from salience.report.run_words import (
    NO_SCORES,
    SCORES,
    calibration_in_words,
    class_count_rows,
    intervals_in_words,
    part_rows,
    rows_in_words,
    score_rows,
)
from salience.templating import render
from salience.training.calibration_evidence import Calibration
from salience.training.confusion import confused_pairs
from salience.training.finished_run import FinishedRun, JudgedRows
from salience.training.metrics import calibration_error, class_scores, equal_mass_calibration_error
from salience.training.score_intervals import scores_of_rows

MATRIX, PAIRS = 20, 20  # classes of a confusion matrix at most; pairs that are shown in place of a larger one
FOLDED = 25  # classes from which on a table is folded


@dataclass(frozen=True)
class ShownError:
    """A row that is predicted wrongly.

    Attributes:
        row: a line of the file of the judged rows: "row", "text", "label", "predicted", and "text_pair" of a pair.
        probability: of the predicted class.
        explanation: of the predicted class, by the model of the run; None without a model.
    """

    row: dict[str, Any]
    probability: float
    explanation: Explanation | None


@dataclass(frozen=True)
class RunEvidence:
    """What the report of a run shows.

    Attributes:
        run: the run.
        calibration: of the judged rows; None if there are none.
        errors: the most confident errors, the most confident first.
        wrong: number of all errors.
        words: class number to the words that speak for it; empty without a model or judged rows.
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


def run_page(evidence: RunEvidence, title: str) -> str:
    """The page as HTML. The same evidence gives the same page.

    Args:
        title: a title as plain text.
    """
    run, figures = evidence.run, Figures()
    judged = {} if run.judged is None or evidence.calibration is None else judged_parts(
        run, run.judged, evidence.calibration, figures
    )  # fmt: skip
    body = render(
        PACKAGE, "run.html.jinja",
        title=title, about=rows_in_words(run), no_scores=NO_SCORES, judged=judged, several=label_parts(run),
        curves=[figures.drawn(drawing, caption)
                for caption, drawing in history_drawings(run.history, run.metrics.get("best_step"))],
        wrong=evidence.wrong, errors=[error_card(each, evidence, figures.styles) for each in evidence.errors],
        explainers=evidence.explainers, estimated=run.judged is not None and run.judged.kind == "estimate",
        legend=legend(figures.styles) if any(each.explanation for each in evidence.errors) else [],
        words=[(run.labels[number], of_class) for number, of_class in evidence.words.items()],
        explained=evidence.explained, least=LEAST, folded=FOLDED,
        parts=[] if run.facts is None else list(run.facts["parts"]),
        facts=[] if run.facts is None else part_rows(run.facts),
        counts=[] if run.facts is None else class_count_rows(run.facts),
    )  # fmt: skip
    return framed(title, asset("words.css") + asset("run.css") + figures.styles.sheet(), body)


def judged_parts(run: FinishedRun, judged: JudgedRows, calibration: Calibration, figures: Figures) -> dict[str, Any]:
    """What the page shows of the judged rows: scores, confusions, classes and reliability."""
    seed = int(run.recipe["seed"])
    own = scores_of_rows(calibration.deployed, judged.labels, judged.groups, seed)
    differs = calibration.deployed is not judged.probabilities
    raw = scores_of_rows(judged.probabilities, judged.labels, judged.groups, seed) if differs else None
    classes = len(run.labels)
    matrix = confusion_matrix(judged.labels, judged.predicted, labels=np.arange(classes))
    captions = [("before the temperature", calibration.before)]
    if calibration.after is not None:
        captions.append(("after the temperature", calibration.after))
    return {
        "heads": list(SCORES.values()), "scores": score_rows(run, own, raw),
        "intervals": intervals_in_words(judged, calibration),
        "matrix": matrix_rows(matrix, run.labels, figures.styles) if classes <= MATRIX else [],
        "labels": run.labels, "pairs": named_pairs(matrix, run.labels) if classes > MATRIX else [],
        "classes": class_rows(judged, run.labels),
        "reliability": figures.drawn(
            diagrams({name: reliability(values[None], judged.labels) for name, values in captions}),
            "Accuracy against confidence",
        ),
        "calibration": calibration_in_words(calibration),
        "errors": [
            (name, f"{scores_of(values, judged.labels)[0]:.3f}", f"{scores_of(values, judged.labels)[1]:.3f}")
            for name, values in captions
        ],
    }  # fmt: skip


def matrix_rows(matrix: np.ndarray, labels: list[str], styles: Styles) -> list[tuple[str, list[tuple[str, str]]]]:
    """The confusion matrix: a label, and for each prediction the number of rows and the class of its colour."""
    shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    return [
        (label, [
            (f"{count:,}" if count else "", colour_class(colour(share if place == number else -share), styles))
            for place, (count, share) in enumerate(zip(matrix[number].tolist(), shares[number].tolist(), strict=True))
        ])
        for number, label in enumerate(labels)
    ]  # fmt: skip


def named_pairs(matrix: np.ndarray, labels: list[str]) -> list[tuple[str, str, str, str]]:
    """The most confused pairs: label, prediction, rows, and their share of the rows of the label."""
    return [
        (labels[pair.label], labels[pair.predicted], f"{pair.rows:,}", f"{pair.rows / pair.of:.0%}")
        for pair in confused_pairs(matrix, PAIRS)
    ]


def class_rows(judged: JudgedRows, labels: list[str]) -> list[tuple[str, list[str]]]:
    """Precision, recall and F1 of each class, '-' where they are undefined, and its number of rows."""
    found = class_scores(judged.probabilities, judged.labels)
    predicted = np.bincount(judged.predicted, minlength=len(labels))
    rows = []
    for number, label in enumerate(labels):
        support = int(found["support"][number])
        known = {"precision": predicted[number], "recall": support, "f1": support + predicted[number]}
        cells = [f"{found[name][number]:.3f}" if rows_of else "-" for name, rows_of in known.items()]
        rows.append((label, [*cells, f"{support:,}"]))
    return rows


def scores_of(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """The calibration errors with bins of equal width and of equal mass."""
    return calibration_error(probabilities, labels), equal_mass_calibration_error(probabilities, labels)


@dataclass(frozen=True)
class ErrorCard:
    """An error as the page shows it.

    Attributes:
        error: the row with its label and prediction.
        probability: of the prediction, in figures.
        parts: the text, and the second one of a pair; each as its beginning and the rest.
        map: the explanation; None without one.
    """

    error: dict[str, Any]
    probability: str
    parts: list[tuple[str, str]]
    map: HeatMap | None


def error_card(shown: ShownError, evidence: RunEvidence, styles: Styles) -> ErrorCard:
    """An error with its text and, where there is one, its explanation."""
    texts = [shown.row[name] for name in ("text", "text_pair") if shown.row.get(name) is not None]
    maps = {} if shown.explanation is None else {"": shown.explanation}
    found = heat_maps_of_text(maps, evidence.explainers[0], styles, SHOWN)
    return ErrorCard(shown.row, f"{shown.probability:.3f}", [cut(text) for text in texts], found[0] if found else None)
