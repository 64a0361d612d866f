"""Parts of the local page: what is decided of a text, and what its classes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from salience.classify.abstaining import Thresholds
from salience.explainers.class_words import KeptWords
from salience.explainers.explanation import Explanation
from salience.report.page import Block, Table, body_of
from salience.report.run_page import MANY_CLASSES


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
        [explanation.labels[number], f"{probabilities[number]:.3f}", f"{thresholds[number]:.3f}",
         "predicted" if number in (explanation.decided or ()) else ""]
        for number in np.argsort(-probabilities, kind="stable").tolist()
    ]  # fmt: skip
    return body_of(before=[Table(["label", "probability", "predicted from", ""], rows)])


def classes_table(
    labels: Sequence[str], thresholds: Thresholds | np.ndarray | None, words: KeptWords | None
) -> Markup:
    """The classes with their thresholds and the words that speak for them, as HTML; empty if neither is known.

    Args:
        labels: of the classifier, in its order.
        thresholds: below which the classifier abstains; or (C,) from which on it predicts labels, where a text can
            have several.
    """
    columns: dict[str, list[str]] = {}
    about: list[Block] = []
    if isinstance(thresholds, Thresholds):
        values = [thresholds.values[label] for label in labels]
        columns["abstains up to"] = [f"{each:.3f}" if each < 1 else "1 (never decided)" for each in values]
        aim = "those of abstention.json"
        if thresholds.target_precision is not None:
            certainty = "" if thresholds.certainty is None else f" with a certainty of {thresholds.certainty:g}"
            aim = f"for a precision of {thresholds.target_precision:g}{certainty}"
        about.append(f"The thresholds are {aim}.")
    elif thresholds is not None:
        columns["predicted from"] = [f"{each:.3f}" for each in thresholds]
        about.append("The thresholds are label_thresholds of config.json, and 0.5 where it has none.")
    if words is not None:
        found = (words.words.get(label, []) for label in labels)
        columns["words"] = [", ".join(each.word for each in own) or "-" for own in found]
        about.append(
            f"Words: those with the highest mean scores by {words.explainer} over {words.explained} texts, where the "
            "class is predicted, as in the report of the run. A word may be there because it is frequent in the class "
            "by chance."
        )
    elif thresholds is not None:
        about.append("The folder has no words of the classes. The report of a run finds them: salience report RUN.")
    if not columns:
        return Markup()
    folded = f"{len(labels)} classes" if len(labels) > MANY_CLASSES else ""
    rows = [list(row) for row in zip(labels, *columns.values(), strict=True)]
    return body_of(before=[Table(["class", *columns], rows, {len(columns)} if words else (), folded), *about])
