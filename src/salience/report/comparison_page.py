"""The report of a comparison as a page: tables, pictures, and the texts on which methods disagree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salience.comparison.comparison import Comparison, LearningCurves, Provenance
from salience.comparison.heat_maps import HeatMaps
from salience.comparison.results import ConditionResults, DisputedText, SeedPredictions
from salience.comparison.variation import spread
from salience.errors import printable
from salience.report.comparison import (
    LISTED_CLASSES,
    board,
    class_rows,
    disputed_in_words,
    grid_in_words,
    measured_in_words,
    measured_tables,
    over_rows,
    pairs_in_words,
    setting_values,
    statistics_in_words,
    verdicts,
)
from salience.report.comparison_pictures import (
    MOST_CLASSES,
    Drawing,
    confusion_matrices,
    gain_against_cost,
    learning_curves,
    reliability_diagrams,
    runs_and_intervals,
)
from salience.report.explanation_page import HeatMap, heat_maps_of_text, legend
from salience.report.page import PACKAGE, asset, framed
from salience.report.pictures import Styles, inline, picture
from salience.runs.card import markdown
from salience.templating import render

# The report of a comparison as Markdown: verdicts in words, and tables. It has no pictures.

LONGEST = 200  # characters of a cell of a table


def comparison_markdown(comparison: Comparison, title: str) -> str:
    """The report as Markdown of GitHub. Every value is escaped.

    Args:
        comparison: what it shows.
        title: a title as plain text.
    """
    blocks = [
        f"# {line_of(title)}",
        line_of(f"{grid_in_words(comparison)}. {statistics_in_words(comparison)}"),
        "\n".join(f"- {line_of(verdict)}" for verdict in verdicts(comparison)),
        "## Methods",
        *(block for results in comparison.conditions for block in methods_of(results)),
    ]
    if comparison.over_data_sets:
        blocks.append(
            f"## Over data sets: difference to {line_of(comparison.baseline)} in {comparison.scoring.main_title}, "
            "in points"
        )
    for over in comparison.over_data_sets:
        rows = [[method, *cells] for method, cells in over_rows(over).items()]
        blocks += [
            *heading(over.title),
            table(["method", "on these data sets", "p (Holm)", "on others like these"], rows),
        ]
    if comparison.curves:
        blocks.append(f"## Learning curves: {comparison.scoring.main_title} (%) by labelled rows")
    blocks += [block for curves in comparison.curves for block in curves_of(curves)]
    blocks += ["## F1 of each class (%)"] if comparison.predictions else []
    blocks += [block for each in comparison.predictions for block in classes_of(each.results)]
    confusions = [block for each in comparison.predictions for block in confusions_of(each)]
    blocks += ["## Most confused classes, mean over seeds", *confusions] if confusions else []
    if any(each.texts for each in comparison.predictions):
        blocks.append("## Texts on which methods disagree")
    blocks += [
        block for each in comparison.predictions if each.texts for block in texts_of(each, comparison.baseline)
    ]  # fmt: skip
    return "\n\n".join([*blocks, *provenance_blocks(comparison.provenance)]) + "\n"


def methods_of(results: ConditionResults) -> list[str]:
    """The table of a condition; the best mean of a score is bold."""
    made = board(results)
    rows = [
        "| " + " | ".join([line_of(method), *(f"**{cell.text}** (best)" if cell.best else line_of(cell.text)
                                              for cell in cells)]) + " |"
        for method, cells in made.rows.items()
    ]  # fmt: skip
    head = ["method", *(f"{name} ({unit})" for name, unit in made.head)]
    blocks = [*heading(results.title), f"{results.rows:,} test rows", "\n".join([table(head, []), *rows])]
    for title, own_head, own_rows in measured_tables(results):
        words = f"{title[0].upper()}{title[1:]}. {measured_in_words(results.baseline)}"
        blocks += [line_of(words), table(own_head, own_rows)]
    return blocks


def curves_of(curves: LearningCurves) -> list[str]:
    """A table of means and standard deviations, a column for each number of rows."""
    rows = [[method, *map(spread, values)] for method, values in curves.values.items()]
    return [*heading(curves.title), table(["method", *(f"{size:,}" for size in curves.rows)], rows)]


def classes_of(results: ConditionResults) -> list[str]:
    """A table of the F1 of each class and method."""
    rows = [[name, count, *values] for name, count, values in class_rows(results)]
    more = len(rows) - LISTED_CLASSES
    made = table(["class", "test rows", *results.classes.f1], rows[:LISTED_CLASSES])
    rest = [f"{more:,} more {'class is' if more == 1 else 'classes are'} in classes.csv."] if more > 0 else []
    return [*heading(results.title), made, *rest]


def confusions_of(predictions: SeedPredictions) -> list[str]:
    """A table of the pairs of classes that each method confuses most."""
    rows = [[method, *pair] for method in predictions.confusions for pair in pairs_in_words(predictions, method, 5)]
    head = ["method", "label", "prediction", "test rows", "of the label"]
    return [*heading(predictions.results.title), table(head, rows)] if rows else []


def texts_of(predictions: SeedPredictions, baseline: str) -> list[str]:
    """A table of texts, with the majority prediction of each method."""
    methods = list(predictions.texts[0].predicted)
    rows = [
        [str(each.row), " / ".join(filter(None, (each.text, each.second))), each.label,
         *(f"{name} ({seeds})" for name, seeds in each.predicted.values())]
        for each in predictions.texts
    ]  # fmt: skip
    words = f"{disputed_in_words(predictions, baseline)} In brackets is the number of seeds."
    return [*heading(predictions.results.title), line_of(words), table(["row", "text", "label", *methods], rows)]


def provenance_blocks(provenance: Provenance) -> list[str]:
    """The recipe and its variants, and the versions and machines of the runs."""
    variants = provenance.variants
    settings = [
        [each.name, "; ".join(setting_values(each)), "filled in" if each.filled_in else ""]
        for each in provenance.settings
    ]
    about = [[name, ", ".join(values)] for name, values in (provenance.versions | provenance.machine).items()]
    blocks = ["## Recipe and runs"]
    if variants:
        head = ["variant", *next(iter(variants.values()))]
        blocks.append(table(head, ([name, *changed.values()] for name, changed in variants.items())))
    blocks.append(table(["setting", "value", ""], settings))
    return blocks + ([table(["of the runs", "value"], about)] if about else [])


def heading(title: str) -> list[str]:
    """A heading of a part; none without a title."""
    return [f"### {line_of(title)}"] if title else []


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of GitHub's Markdown, whose cells are plain texts, cut where they are long."""
    lines = [[line_of(shortened(each)) for each in row] for row in (head, *rows)]
    lines.insert(1, ["---"] * len(head))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def line_of(text: str) -> str:
    """A text as one line of Markdown, escaped. A colon before a space begins neither an emoji nor an address."""
    return markdown(" ".join(text.split())).replace("\\: ", ": ")


def shortened(text: str) -> str:
    """A text cut to `LONGEST` characters."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


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


def comparison_page(comparison: Comparison, title: str) -> str:
    """The page as HTML.

    Args:
        comparison: what it shows.
        title: a title as plain text.
    """
    figures, heat_maps = Figures(), comparison.heat_maps
    score, several = comparison.scoring.main_title, any(each.of_several for each in comparison.predictions)
    body = render(
        PACKAGE, "comparison.html.jinja",
        title=title, about=grid_in_words(comparison), statistics=statistics_in_words(comparison),
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
            for each in comparison.curves
        ],
        costs=[
            figures.drawn(
                gain_against_cost(each.results), joined(each.results.title, f"difference in {score} against time")
            )
            for each in comparison.predictions
        ],
        reliability=[
            figures.drawn(reliability_diagrams(each), joined(each.results.title, reliability_caption(each.of_several)))
            for each in comparison.predictions
        ],
        classes=[(each.results.title, list(each.results.classes.f1), class_rows(each.results))
                 for each in comparison.predictions],
        confusions=[
            (own_title, own, pairs)
            for own_title, own, pairs in (confusions(each, figures) for each in comparison.predictions)
            if own is not None or any(pairs.values())
        ],
        disputed=[
            (
                each.results.title, disputed_in_words(each, comparison.baseline),
                text_cards(each, heat_maps, figures.styles),
            )
            for each in comparison.predictions if each.texts
        ],
        variants=comparison.provenance.variants,
        heat_maps=heat_maps, legend=legend(figures.styles) if heat_maps.of_texts else [],
        settings=[(each.name, setting_values(each), each.filled_in) for each in comparison.provenance.settings],
        versions=comparison.provenance.versions, machine=comparison.provenance.machine,
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
    predictions: SeedPredictions, figures: Figures
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


def text_cards(predictions: SeedPredictions, heat_maps: HeatMaps, styles: Styles) -> list[TextCard]:
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
