"""The classes in the report of a run where each text has one label: confusions, and a row for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from salience.explainers.explanation import colour
from salience.report.heat_maps import colour_class
from salience.report.inline_svg import Styles
from salience.training.confusion import confused_pairs
from salience.training.finished_run import FinishedRun, JudgedRows
from salience.training.metrics import class_scores

MATRIX, PAIRS = 20, 20  # classes of a confusion matrix at most; pairs that are shown in place of a larger one


def class_parts(run: FinishedRun, judged: JudgedRows, styles: Styles) -> dict[str, Any]:
    """The tables of the classes.

    Returns:
        "matrix" and "labels", the confusion matrix; or "pairs", if there are too many classes for it; and "classes".
    """
    classes = len(run.labels)
    matrix = confusion_matrix(judged.labels, judged.predicted, labels=np.arange(classes))
    return {
        "matrix": matrix_rows(matrix, run.labels, styles) if classes <= MATRIX else [],
        "labels": run.labels, "pairs": named_pairs(matrix, run.labels) if classes > MATRIX else [],
        "classes": class_rows(judged, run.labels),
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
