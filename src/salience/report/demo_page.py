"""Parts of the local page: whether a text is decided, and what its classes are. Labels and words are escaped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from salience.explainers.class_words import KeptWords
from salience.explainers.explanations import Explanation
from salience.inference.abstaining import Thresholds
from salience.report.page import PACKAGE
from salience.report.run_page import FOLDED
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


def classes_table(labels: Sequence[str], thresholds: Thresholds | None, words: KeptWords | None) -> Markup:
    """The classes with their thresholds and words, as HTML; empty if neither is known.

    Args:
        labels: of the classifier, in its order.
    """
    if thresholds is None and words is None:
        return Markup()
    rows = [
        (label, "" if thresholds is None else threshold_cell(thresholds.values[label]),
         [] if words is None else words.words.get(label, []))
        for label in labels
    ]  # fmt: skip
    return render(
        PACKAGE, "demo_classes.html.jinja", rows=rows, folded=FOLDED, thresholds=thresholds and origin_of(thresholds),
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
