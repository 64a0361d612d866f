"""Parts of the local page: what is decided of a text, and what its classes are. Labels and words are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from salience.classify.abstaining import Thresholds
from salience.explainers.class_words import KeptWords
from salience.explainers.explain import Explanation
from salience.report.page import PACKAGE
from salience.report.run_page import MANY_CLASSES
from salience.templating import render


def decision_line(explanation: Explanation, thresholds: Thresholds) -> str:
    """Whether the classifier decides a text or abstains, and why, as a text."""
    best = int(explanation.probabilities.argmax())
    label, threshold = explanation.labels[best], thresholds.values[explanation.labels[best]]
    if thresholds.decided(np.asarray(explanation.probabilities)[None], explanation.labels)[0]:
        return f"decided: {label}, whose probability is above its threshold of {threshold:.3f}"
    if threshold >= 1:
        return f"undecided: {label} is most probable, and is never decided"
    return f"undecided: {label} is most probable, but not above its threshold of {threshold:.3f}"


def labels_table(explanation: Explanation, thresholds: np.ndarray) -> Markup:
    """The labels of a text that can have several, with probabilities and thresholds, as HTML; most probable first.

    Args:
        explanation: of one of the labels of the text.
        thresholds: (C,) of the labels.
    """
    probabilities = np.asarray(explanation.probabilities, float)
    rows = [
        (explanation.labels[number], f"{probabilities[number]:.3f}", f"{thresholds[number]:.3f}",
         number in (explanation.decided or ()))
        for number in np.argsort(-probabilities, kind="stable").tolist()
    ]  # fmt: skip
    return render(PACKAGE, "demo_labels.html.jinja", rows=rows)


@dataclass(frozen=True)
class ThresholdColumn:
    """The thresholds of C classes as they are shown.

    Args:
        head: of the column.
        meaning: what is in it, as a part of a sentence.
        cells: C thresholds.
        origin: where they are from, in a sentence.
    """

    head: str
    meaning: str
    cells: Sequence[str]
    origin: str


def abstaining(thresholds: Thresholds, labels: Sequence[str]) -> ThresholdColumn:
    """The thresholds below which a classifier abstains."""
    cells = [threshold_cell(thresholds.values[label]) for label in labels]
    meaning = "the probability up to which the classifier abstains"
    return ThresholdColumn("abstains up to", meaning, cells, origin_of(thresholds))


def predicting(thresholds: np.ndarray) -> ThresholdColumn:
    """The thresholds (C,) from which on labels are predicted, where a text can have several."""
    cells = [f"{threshold:.3f}" for threshold in thresholds]
    meaning = "the probability from which on it is predicted"
    origin = "The thresholds are label_thresholds of config.json, and 0.5 where it has none."
    return ThresholdColumn("predicted from", meaning, cells, origin)


def classes_table(labels: Sequence[str], thresholds: ThresholdColumn | None, words: KeptWords | None) -> Markup:
    """The classes with their thresholds and words, as HTML; empty if neither is known.

    Args:
        labels: of the classifier, in its order.
    """
    if thresholds is None and words is None:
        return Markup()
    cells = [""] * len(labels) if thresholds is None else thresholds.cells
    rows = [
        (label, cell, [] if words is None else words.words.get(label, []))
        for label, cell in zip(labels, cells, strict=True)
    ]
    return render(
        PACKAGE, "demo_classes.html.jinja", rows=rows, folded=MANY_CLASSES, thresholds=thresholds,
        words=words is not None, explainer=words and words.explainer, explained=words and words.explained,
    )  # fmt: skip


def threshold_cell(threshold: float) -> str:
    """A threshold; 1 is never exceeded."""
    return f"{threshold:.3f}" if threshold < 1 else "1 (never decided)"


def origin_of(thresholds: Thresholds) -> str:
    """What the thresholds are for, in a sentence."""
    if thresholds.target_precision is None:
        return "The thresholds are those of abstention.json."
    certainty = "" if thresholds.certainty is None else f" with a certainty of {thresholds.certainty:g}"
    return f"The thresholds are for a precision of {thresholds.target_precision:g}{certainty}."
