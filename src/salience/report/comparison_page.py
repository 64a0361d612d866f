"""The report of a comparison as a page: tables, pictures, and the texts on which methods disagree."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from salience.comparison.evidence import DisputedText, GridEvidence, Predictions
from salience.comparison.stored_explanations import HeatMaps
from salience.errors import printable
from salience.report.comparison import measured_tables, verdicts
from salience.report.comparison_about import grid_in_words, statistics_in_words
from salience.report.comparison_pictures import Drawing, gain_against_cost, learning_curves, runs_and_intervals
from salience.report.comparison_words import (
    board,
    class_rows,
    disputed_in_words,
    measured_in_words,
    over_rows,
    pairs_in_words,
    setting_values,
)
from salience.report.heat_maps import HeatMap, heat_maps_of_text, legend
from salience.report.inline_svg import Styles, inline
from salience.report.page import PACKAGE, asset, framed
from salience.report.pictures import picture
from salience.report.prediction_pictures import MOST_CLASSES, confusion_matrices, reliability_diagrams
from salience.templating import render

SHOWN = 280  # characters of a text; the rest is shown on demand
FOLDED = 12  # verdicts, and classes, from which on they are folded


@dataclass(frozen=True)
class Figure:
    """A picture in the page.

    Attributes:
        caption: what it shows.
        svg: the picture.
    """

    caption: str
    svg: Markup


class Figures:
    """Draws pictures, whose styles are in one style sheet, as the policy of a page asks for."""

    def __init__(self) -> None:
        self.styles = Styles()
        self.count = 0

    def drawn(self, drawing: Drawing, caption: str) -> Figure:
        """A picture with its caption, which also describes it to readers who do not see it."""
        self.count += 1
        svg = picture(drawing.draw, f"comparison-{self.count}", drawing.size, drawing.panels)
        return Figure(caption, inline(svg, self.styles, printable(caption)))


def comparison_page(evidence: GridEvidence, title: str) -> str:
    """The page as HTML.

    Args:
        evidence: what it shows.
        title: a title as plain text.
    """
    figures, comparison, heat_maps = Figures(), evidence.comparison, evidence.heat_maps
    score, several = comparison.scoring.main_title, any(each.of_several for each in evidence.predictions)
    body = render(
        PACKAGE, "comparison.html.jinja",
        title=title, about=grid_in_words(evidence), statistics=statistics_in_words(evidence),
        verdicts=verdicts(comparison), folded=FOLDED, baseline=comparison.baseline, score=score, several=several,
        measured_words=measured_in_words(comparison.baseline),
        over=[(over.title, over_rows(over)) for over in comparison.over_data_sets],
        boards=[
            (results.title, results.rows, board(results), figures.drawn(
                runs_and_intervals(results, comparison.seeds),
                joined(results.title, f"{score} of every run, and differences with their intervals"),
            ), measured_tables(results))
            for results in comparison.conditions
        ],
        curves=[
            figures.drawn(learning_curves(each), joined(each.title, f"mean {score} ± standard deviation over seeds"))
            for each in evidence.curves
        ],
        costs=[
            figures.drawn(
                gain_against_cost(each.results), joined(each.results.title, f"difference in {score} against time")
            )
            for each in evidence.predictions
        ],
        reliability=[
            figures.drawn(reliability_diagrams(each), joined(each.results.title, reliability_caption(each.of_several)))
            for each in evidence.predictions
        ],
        classes=[(each.results.title, list(each.results.classes.f1), class_rows(each.results))
                 for each in evidence.predictions],
        confusions=[
            (own_title, own, pairs)
            for own_title, own, pairs in (confusions(each, figures) for each in evidence.predictions)
            if own is not None or any(pairs.values())
        ],
        disputed=[
            (
                each.results.title, disputed_in_words(each, comparison.baseline),
                text_cards(each, heat_maps, figures.styles),
            )
            for each in evidence.predictions if each.texts
        ],
        variants=evidence.provenance.variants,
        heat_maps=heat_maps, legend=legend(figures.styles) if heat_maps.of_texts else [],
        settings=[(each.name, setting_values(each), each.filled_in) for each in evidence.provenance.settings],
        versions=evidence.provenance.versions, machine=evidence.provenance.machine,
    )  # fmt: skip
    return framed(title, asset("words.css") + asset("comparison.css") + figures.styles.sheet(), body)


def reliability_caption(of_several: bool) -> str:
    """What the axes of a reliability diagram are.

    Args:
        of_several: whether a text can have several labels.
    """
    if of_several:
        return "share of the texts that have a label (accuracy) against its probability (confidence)"
    return "accuracy against confidence"


def joined(title: str, words: str) -> str:
    """A caption that begins with its condition, if that has a title."""
    return f"{title}: {words}" if title else f"{words[0].upper()}{words[1:]}"


def confusions(
    predictions: Predictions, figures: Figures
) -> tuple[str, Figure | None, dict[str, list[tuple[str, str, str, str]]]]:
    """Title, the matrices as a picture if there are few classes, and else the most confused pairs of every method."""
    title = predictions.results.title
    if predictions.of_several:
        return title, None, {}
    if len(predictions.labels) <= MOST_CLASSES:
        caption = joined(title, "test rows by label (row) and prediction (column), mean over seeds")
        return title, figures.drawn(confusion_matrices(predictions), caption), {}
    return title, None, {method: pairs_in_words(predictions, method) for method in predictions.confusions}


@dataclass(frozen=True)
class TextCard:
    """A text on which methods disagree, as the page shows it.

    Attributes:
        text: the text with its predictions.
        parts: the text, and the second one of a pair; each as its beginning and the rest.
        heat_maps: explanations by the models of the methods; none of a method without a model.
    """

    text: DisputedText
    parts: list[tuple[str, str]]
    heat_maps: list[HeatMap]


def text_cards(predictions: Predictions, heat_maps: HeatMaps, styles: Styles) -> list[TextCard]:
    """The texts of a condition on which methods disagree, with the explanations that there are."""
    return [
        TextCard(
            each, [cut(part) for part in (each.text, each.second) if part is not None],
            heat_maps_of_text(
                heat_maps.of_texts.get((predictions.results.condition, each.row), {}), heat_maps.explainer, styles,
                SHOWN,
            ),
        )
        for each in predictions.texts
    ]  # fmt: skip


def cut(text: str, longest: int = SHOWN) -> tuple[str, str]:
    """The beginning of a text, to the end of a word if there is one near, and the rest, which may be empty."""
    if len(text) <= longest:
        return text, ""
    end = text.rfind(" ", longest // 2, longest + 1)
    end = longest if end < 0 else end
    return text[:end], text[end:]
