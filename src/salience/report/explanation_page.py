"""Explanations as one page: words coloured by their scores, a choice of explainer, search and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from salience.explainers.explanation import Explanation, colour, finite
from salience.report.page import PACKAGE, asset, framed
from salience.report.pictures import Styles
from salience.templating import render


def explanation_page(explanations: Iterable[Explanation], title: str) -> str:
    """The page as HTML. The texts are JSON data in it, which its script shows as text nodes, never as markup.

    Args:
        explanations: explanations by the same explainers for the same labels; they are read once.
    """
    rows, labels, explainers, counted = [], [], [], "texts"
    for explanation in explanations:
        labels, explainers = explanation.labels, list(explanation.scores)
        if explanation.decided is not None:
            counted = "decisions"  # of which a text can have several
        rows.append({
            "row": explanation.row, "words": explanation.words, "second": explanation.second, "cut": explanation.cut,
            "gold": explanation.gold, "target": explanation.target, "predicted": explanation.predicted,
            "not": not explanation.is_predicted, "right": explanation.right,
            "probabilities": [finite(round(float(value), 4)) for value in explanation.probabilities],
            "scores": [[finite(float(f"{value:.3g}")) for value in scores] for scores in explanation.scores.values()],
        })  # fmt: skip
    data = {"labels": labels, "explainers": explainers, "counted": counted, "rows": rows}
    body = render(PACKAGE, "explanations.html.jinja", title=title, data=data)
    return framed(title, asset("words.css") + asset("explanations.css"), body, asset("explanations.js"))


# Explanations in a page without a script: a line for each method, its words coloured by their scores.

SAMPLES = (0, 0.25, 0.5, 0.75, 1)  # strengths whose colours the legend shows


@dataclass(frozen=True)
class Word:
    """A coloured word.

    Attributes:
        text: the word.
        score: its score in figures.
        classes: classes of its element.
    """

    text: str
    score: str
    classes: str


@dataclass(frozen=True)
class HeatMap:
    """The explanation of a text by the model of one method.

    Attributes:
        method: its name.
        predicted: the class that is predicted and explained; "not joy" of a label that a text does not get.
        probability: of that class, in figures.
        start, rest: the words; those of `rest`, which may be none, are shown on demand.
        cut: whether the text is longer than what the model read.
    """

    method: str
    predicted: str
    probability: str
    start: list[Word]
    rest: list[Word]
    cut: bool


def heat_maps_of_text(
    explanations: Mapping[str, Explanation], explainer: str, styles: Styles, longest: int
) -> list[HeatMap]:
    """The heat maps of a text.

    Args:
        explanations: method to explanation.
        explainer: whose scores are shown.
        styles: of the page, which allows no style attributes.
        longest: number of characters from which on a text is folded.
    """
    maps = []
    for method, explanation in explanations.items():
        words = [
            Word(text, score, " ".join(filter(None, (
                "word", colour_class(shade, styles), "second" if number == explanation.second else ""
            ))))
            for number, (text, score, shade) in enumerate(explanation.coloured(explainer))
        ]  # fmt: skip
        fits = words_that_fit(explanation.words, longest)
        chance = float(explanation.probabilities[explanation.target])
        name = f"{'' if explanation.is_predicted else 'not '}{explanation.labels[explanation.target]}"
        maps.append(HeatMap(
            method, name, f"{chance:.2f}" if isfinite(chance) else "unknown",
            words[:fits], words[fits:], explanation.cut,
        ))  # fmt: skip
    return maps


def words_that_fit(words: list[str], longest: int) -> int:
    """How many words there are in the first `longest` characters; all, or at least one."""
    if sum(map(len, words)) + len(words) - 1 <= longest:
        return len(words)
    length = 0
    for number, word in enumerate(words):
        length += len(word) + 1
        if length > longest:
            return max(number, 1)
    return len(words)


def legend(styles: Styles) -> list[tuple[str, str]]:
    """Shares of the largest score in a text, in words, and the classes of their colours."""
    return [(f"{share:.0%}", f"word {colour_class(colour(share), styles)}") for share in SAMPLES]


def colour_class(shade: str, styles: Styles) -> str:
    """The class of a background colour."""
    return styles.class_of(f"background: {shade}")
