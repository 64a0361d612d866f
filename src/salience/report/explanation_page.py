"""Explanations as one page: words coloured by their scores, a choice of explainer, search and order."""

from __future__ import annotations

from collections.abc import Iterable

from salience.explainers.explanation import Explanation, finite
from salience.report.page import PACKAGE, asset, framed, has_signs
from salience.templating import render


def explanation_page(explanations: Iterable[Explanation], title: str) -> str:
    """The page as HTML. The texts are JSON data in it, which its script shows as text nodes, never as markup.

    Args:
        explanations: explanations by the same explainers for the same labels; they are read once.
    """
    rows, labels, explainers, counted = [], [], [], "texts"
    signed: dict[str, bool] = {}
    for explanation in explanations:
        signed |= {name: signed.get(name, False) or has_signs([explanation], name) for name in explanation.scores}
        labels, explainers = explanation.labels, list(explanation.scores)
        if explanation.decided is not None:
            counted = "decisions"  # of which a text can have several
        rows.append({
            "row": explanation.row, "words": explanation.words, "second": explanation.second, "cut": explanation.cut,
            "spaces": explanation.spaces if explanation.joined else None,
            "gold": explanation.gold, "target": explanation.target, "predicted": explanation.predicted,
            "not": not explanation.is_predicted, "right": explanation.right,
            "probabilities": [finite(round(float(value), 4)) for value in explanation.probabilities],
            "scores": [[finite(float(f"{value:.3g}")) for value in scores] for scores in explanation.scores.values()],
        })  # fmt: skip
    data = {
        "labels": labels, "explainers": explainers, "signed": [*signed.values()], "counted": counted, "rows": rows
    }  # fmt: skip
    body = render(PACKAGE, "explanations.html.jinja", title=title, data=data)
    return framed(
        title, asset("blocks.css") + asset("explanations.css"), body, asset("shared.js") + asset("explanations.js")
    )
