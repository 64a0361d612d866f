"""One explanation as a value that can be shown, written and compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np

from salience.errors import printable
from salience.templating import render

DECISIVE = 3  # words marked in a text that is printed


@dataclass(frozen=True)
class Explanation:
    """One text, the prediction for it, and the scores of its words by one or more explainers.

    Args:
        words: the W words of the text, or of both texts of a pair, as far as they are read.
        second: the number of the first word of a second text; None for a single text.
        labels: the C labels of the classifier.
        probabilities: (C,) predicted.
        target: the number of the class that the scores are computed for.
        gold: the number of the right label; None if it is not known.
        scores: the scores of the words (W,) by the name of the explainer.
        row: the number of the text's row in its file; None for a text that comes from no file.
        cut: whether the text is longer than what the classifier reads.
        decided: the numbers of the predicted labels, where a text can have several; None where it has one. Such an
            explanation is of the decision about its target alone.
        golds: the numbers of the right labels, where a text can have several and they are known.
        joined: the numbers of the words that no white space parts from the word before, as in Chinese.
    """

    words: list[str]
    second: int | None
    labels: list[str]
    probabilities: np.ndarray
    target: int
    gold: int | None
    scores: dict[str, np.ndarray]
    row: int | None = None
    cut: bool = False
    decided: tuple[int, ...] | None = None
    golds: tuple[int, ...] | None = None
    joined: Collection[int] = ()

    @property
    def spaces(self) -> list[str]:
        """What stands before each word: a space, or nothing before the first word and where words are joined."""
        return [" " if number and number not in self.joined else "" for number in range(len(self.words))]

    @property
    def predicted(self) -> int:
        """The number of the most probable class; where texts are multi-label, that of the target."""
        return int(self.probabilities.argmax()) if self.decided is None else self.target

    @property
    def is_predicted(self) -> bool:
        """Whether the label `predicted` is one that the classifier gives the text."""
        return self.decided is None or self.target in self.decided

    @property
    def right(self) -> bool | None:
        """Whether the prediction is right, of several labels that about the target; None if it is not known."""
        if self.decided is None:
            return None if self.gold is None else self.gold == self.predicted
        return None if self.golds is None else (self.target in self.golds) == self.is_predicted

    def marked(self) -> list[tuple[str, bool]]:
        """`label (probability, right or wrong): text` in parts, and which of them are decisive words.

        Those have the `DECISIVE` highest scores above 0 of the first explainer. No part controls a terminal.
        """
        predicted, names = self.predicted, [printable(label) for label in self.labels]
        label = names[predicted] if self.is_predicted else f"not {names[predicted]}"
        verdict = "" if self.right is None else ", right" if self.right else ", wrong"
        if self.right is False and self.gold is not None:
            verdict += f", it is {names[self.gold]}"
        first = f"{label} ({self.probabilities[predicted]:.2f}{verdict}): "
        if self.target != predicted:
            first += f"[for {names[self.target]}] "
        scores = next(iter(self.scores.values()))
        decisive = {index for index in np.argsort(-scores, kind="stable")[:DECISIVE].tolist() if scores[index] > 0}
        parts = [(first, False)]
        for index, (space, word) in enumerate(zip(self.spaces, map(printable, self.words), strict=True)):
            parts.append((space + ("| " if index == self.second else ""), False))
            parts.append((f"*{word}*", True) if index in decisive else (word, False))
        return parts

    def __str__(self) -> str:
        """The label, and the text with its decisive words between asterisks."""
        return "".join(part for part, _ in self.marked())

    def _repr_html_(self) -> str:
        """In a notebook: the label, and the words with a colour as strong as their score."""
        name = next(iter(self.scores))
        return render(
            "salience.explainers", "explanation.html.jinja",
            label=f"{'' if self.is_predicted else 'not '}{self.labels[self.predicted]} "
            f"({self.probabilities[self.predicted]:.2f})",
            about=name if self.target == self.predicted else f"{name} for {self.labels[self.target]}",
            words=zip(self.spaces, self.coloured(name), strict=True), count=len(self.words), second=self.second,
        )  # fmt: skip

    def coloured(self, explainer: str) -> list[tuple[str, str, str]]:
        """Each word with its score in figures and the colour of that, relative to the largest one in the text."""
        scores = self.scores[explainer]
        known = np.nan_to_num(scores)  # a diverged model gives NaN, which has no colour
        strengths = known / max(np.abs(known).max(initial=0), 1e-12)
        of_words = zip(self.words, scores, strengths, strict=True)
        return [(word, f"{score:.3g}", colour(strength)) for word, score, strength in of_words]


def colour(strength: float) -> str:
    """From -1, purple, over 0, transparent, to 1, orange, as css. Red is kept for errors."""
    return f"rgba({'224,130,20' if strength > 0 else '128,115,172'},{min(abs(strength), 1) * 0.75:.2f})"


def as_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as a row of JSON lines; what is NaN is None. "predicted" and "label" may be lists."""
    labels, gold, golds = explanation.labels, explanation.gold, explanation.golds
    predicted: str | list[str] = labels[explanation.predicted]
    right: str | list[str] | None = None if gold is None else labels[gold]
    if explanation.decided is not None:
        predicted = [labels[number] for number in explanation.decided]
        right = None if golds is None else [labels[number] for number in golds]
    return {
        "row": explanation.row, "words": explanation.words, "second": explanation.second, "cut": explanation.cut,
        **({"joined": sorted(explanation.joined)} if explanation.joined else {}),
        "predicted": predicted, "explained": labels[explanation.target], "label": right,
        "probabilities": {
            label: finite(round(float(value), 6))
            for label, value in zip(labels, explanation.probabilities, strict=True)
        },
        "scores": {
            name: [finite(float(f"{value:.6g}")) for value in scores] for name, scores in explanation.scores.items()
        },
    }  # fmt: skip


def explanation_of(row: Mapping[str, Any]) -> Explanation:
    """The explanation that `as_json` wrote, with the digits that it kept; a ValueError if it is none."""
    try:
        words, second, number = list(row["words"]), row["second"], row["row"]
        labels, predicted, right = list(row["probabilities"]), row["predicted"], row["label"]
        several = isinstance(predicted, list)
        explanation = Explanation(
            words, second, labels, _numbers(row["probabilities"].values()), labels.index(row["explained"]),
            None if several or right is None else labels.index(right),
            {name: _numbers(scores) for name, scores in row["scores"].items()}, number, bool(row["cut"]),
            tuple(map(labels.index, predicted)) if several else None,
            tuple(map(labels.index, right)) if several and right is not None else None,
            frozenset(row.get("joined", ())),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no explanation ({type(error).__name__}: {error})") from error
    whole = all(value is None or type(value) is int for value in (second, number, *explanation.joined))
    one_each = all(len(scores) == len(words) for scores in explanation.scores.values())
    if not (whole and one_each and all(isinstance(word, str) for word in words)):
        raise ValueError("no explanation: rows are numbers, words are texts, and each has one score of an explainer")
    return explanation


def finite(value: float) -> float | None:
    return value if isfinite(value) else None  # JSON cannot write what a diverged model gives


def _numbers(values: Any) -> np.ndarray:
    return np.array([nan if value is None else float(value) for value in values])


class Explanations(list[Explanation]):
    """A list of explanations, all of which `print` writes and a notebook draws."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str | None:
        """Without explanations None: a notebook then shows the empty list as text."""
        return "".join(explanation._repr_html_() for explanation in self) or None
