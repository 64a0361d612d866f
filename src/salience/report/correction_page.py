"""The page on which a person corrects rows: their labels, the words that decide, and those that must not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.audit.doubtful import RULE, Doubtful
from salience.audit.words import NAME
from salience.data.corrected import COLUMNS
from salience.explainers.explanation import finite
from salience.report.page import PACKAGE, asset, framed
from salience.templating import render

SAVED = "corrections.csv"  # the file that the page saves


def correction_page(
    found: Sequence[Doubtful], columns: Sequence[str], labels: Sequence[str], several: bool, title: str
) -> str:
    """The page as HTML. Texts and labels are JSON data in it, which its script shows as text nodes, never as markup.

    Args:
        found: what is shown, in this order.
        columns: the names of the columns of the texts.
        labels: of the classifier.
        several: whether a text can have several of them.
        title: a title as plain text.
    """
    files = len({each.file for each in found}) > 1
    data = {
        "file": SAVED, "columns": columns, "saved": [*columns, *COLUMNS], "labels": labels, "several": several,
        "rows": [row_of(each, files) for each in found],
    }  # fmt: skip
    body = render(PACKAGE, "correction.html.jinja", title=title, rule=RULE, data=data)
    script = asset("shared.js") + asset("correction.js")
    return framed(title, asset("blocks.css") + asset("correction.css"), body, script)


def row_of(each: Doubtful, files: bool) -> dict[str, Any]:
    """A row as JSON; with the name of its file where there are several."""
    first = each.explanations[0]
    return {
        "place": f"row {first.row}" + f" of {each.file}" * files,
        "probabilities": [finite(round(float(value), 4)) for value in first.probabilities],
        "predicted": each.predicted, "given": each.given, "explained": [own.target for own in each.explanations],
        "cut": first.cut, "reason": each.reason, "texts": pieces_of(each),
    }  # fmt: skip


def pieces_of(each: Doubtful) -> list[dict[str, Any]]:
    """Each text as its words, with what stands before each, its characters and its scores, and the rest of the text.

    A word has a score for each explanation; none where it was not read.
    """
    of_words = zip(*(own.scores[NAME].tolist() for own in each.explanations), strict=True)
    scores = dict(zip(each.places, of_words, strict=False))
    found = []
    for number, (text, words) in enumerate(zip(each.texts, each.words, strict=True)):
        pieces, reached = list[Any](), 0
        for start, end in words:
            own = [
                None if (score := finite(value)) is None else float(f"{score:.3g}")
                for value in scores.get((number, (start, end)), ())
            ]
            pieces.append([text[reached:start], text[start:end], start, end, own])
            reached = end
        found.append({"words": pieces, "rest": text[reached:]})
    return found
