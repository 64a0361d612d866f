"""Explanations as rows of a JSON lines file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import numpy as np

from salience.explainers.explanation import Explanation


def as_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as a row of a JSON lines file; probabilities and scores that are NaN are None.

    Where a text can have several labels, "predicted" and "label" are lists.
    """
    labels = explanation.labels
    probabilities = [finite(round(float(value), 6)) for value in explanation.probabilities]

    def names(numbers: tuple[int, ...] | None) -> list[str] | None:
        return None if numbers is None else [labels[number] for number in numbers]

    several = explanation.decided is not None
    return {
        "row": explanation.row, "words": explanation.words, "second": explanation.second, "cut": explanation.cut,
        "predicted": names(explanation.decided) if several else labels[explanation.predicted],
        "explained": labels[explanation.target],
        "label": names(explanation.golds) if several
        else None if explanation.gold is None else labels[explanation.gold],
        "probabilities": dict(zip(labels, probabilities, strict=True)),
        "scores": {
            name: [finite(float(f"{value:.6g}")) for value in scores] for name, scores in explanation.scores.items()
        },
    }  # fmt: skip


def explanation_of(row: Mapping[str, Any]) -> Explanation:
    """The explanation that `as_json` wrote, with the digits that it kept.

    Raises:
        ValueError: the row is none of an explanation.
    """
    try:
        words, second, number = list(row["words"]), row["second"], row["row"]
        labels, predicted, right = list(row["probabilities"]), row["predicted"], row["label"]
        several = isinstance(predicted, list)
        explanation = Explanation(
            words, second, labels, numbers(row["probabilities"].values()), labels.index(row["explained"]),
            None if several or right is None else labels.index(right),
            {name: numbers(scores) for name, scores in row["scores"].items()}, number, bool(row["cut"]),
            tuple(map(labels.index, predicted)) if several else None,
            tuple(map(labels.index, right)) if several and right is not None else None,
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no explanation ({type(error).__name__}: {error})") from error
    whole = all(value is None or type(value) is int for value in (second, number))
    if not whole or not all(isinstance(word, str) for word in words):
        raise ValueError("no explanation: words are texts, and rows are numbers")
    if any(len(scores) != len(words) for scores in explanation.scores.values()):
        raise ValueError("no explanation: the words have not one score each")
    return explanation


def finite(value: float) -> float | None:
    """None for NaN and infinity, which JSON cannot write; a diverged model gives them."""
    return value if isfinite(value) else None


def numbers(values: Any) -> np.ndarray:
    """Numbers as an array (N,), with NaN for None."""
    return np.array([nan if value is None else float(value) for value in values])
