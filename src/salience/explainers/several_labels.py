"""Explanations where a text can have several labels: one for each label that is explained of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from salience.data.texts import Texts
from salience.explainers.explanation import Explanation
from salience.inference import TextClassifier


def explain_labels(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], target: int | str, pieces: str,
    explain_one: Callable[..., list[Explanation]],
) -> list[Explanation]:  # fmt: skip
    """The explanations of N texts, one for each pair of a text and a label, in the order of the texts and labels.

    A score is about ln p of the label, whose probability is the sigmoid of its logit. Of a text without a label to
    explain, the most probable label is explained.

    Args:
        texts: their labels, if they are known, are 0 and 1 (N, C), or `UNKNOWN` in the rows where they are not.
        target: "predicted" or "gold", all labels that are predicted or right; or the number of one label.
        explain_one: explains texts for one label each, as `explain_at_once` does.

    Raises:
        ValueError: right labels are to be explained, and those of a text are not known.
    """
    probabilities = classifier.predict_proba(texts)
    decided = classifier.decisions(probabilities)
    golds = (
        [None] * len(texts)
        if texts.labels is None
        else [row if known else None for row, known in zip(texts.labels, texts.labelled, strict=True)]
    )
    pairs = [
        (row, label) for row in range(len(texts))
        for label in labels_to_explain(target, probabilities[row], decided[row], golds[row])
    ]  # fmt: skip
    rows, labels = np.array(pairs, int).reshape(-1, 2).T
    asked = replace(texts, labels=None).take(rows)
    found = explain_one(classifier, replace(asked, labels=labels), explainers, "gold", pieces)
    return [
        replace(
            explanation, gold=None, probabilities=probabilities[row],
            decided=tuple(np.flatnonzero(decided[row]).tolist()),
            golds=None if (known := golds[row]) is None else tuple(np.flatnonzero(known).tolist()),
        )
        for row, explanation in zip(rows.tolist(), found, strict=True)
    ]  # fmt: skip


def labels_to_explain(
    target: int | str, probabilities: np.ndarray, decided: np.ndarray, gold: np.ndarray | None
) -> list[int]:
    """The numbers of the labels that are explained of a text.

    Args:
        target: as of `explain_labels`.
        probabilities: (C,) of the labels.
        decided: (C,) bool, the predicted labels.
        gold: (C,), 0 and 1, the right labels; None if they are not known.
    """
    return chosen_labels(target, decided, gold) or [int(probabilities.argmax())]


def chosen_labels(target: int | str, decided: np.ndarray, gold: np.ndarray | None) -> list[int]:
    """The numbers of the labels of a text that a target stands for; there may be none.

    Args:
        target, decided, gold: as of `labels_to_explain`.
    """
    if target not in ("predicted", "gold"):
        return [int(target)]
    wanted = decided if target == "predicted" else gold
    if wanted is None:
        raise ValueError("gold labels are to be explained, but a text has none that the model knows")
    return np.flatnonzero(wanted).tolist()
