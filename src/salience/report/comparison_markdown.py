"""The report of a comparison as Markdown: verdicts in words, and tables. It has no pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from salience.comparison.evidence import GridEvidence, LearningCurves, Predictions
from salience.comparison.provenance import Provenance
from salience.comparison.results import ConditionResults
from salience.comparison.statistics import spread
from salience.report.comparison import measured_tables, verdicts
from salience.report.comparison_about import grid_in_words, statistics_in_words
from salience.report.comparison_words import (
    LISTED_CLASSES,
    board,
    class_rows,
    disputed_in_words,
    measured_in_words,
    over_rows,
    pairs_in_words,
    setting_values,
)
from salience.training.card import markdown

LONGEST = 200  # characters of a cell of a table


def comparison_markdown(evidence: GridEvidence, title: str) -> str:
    """The report as Markdown of GitHub. Every value is escaped.

    Args:
        evidence: what it shows.
        title: a title as plain text.
    """
    comparison = evidence.comparison
    blocks = [
        f"# {line_of(title)}",
        line_of(f"{grid_in_words(evidence)}. {statistics_in_words(evidence)}"),
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
    if evidence.curves:
        blocks.append(f"## Learning curves: {comparison.scoring.main_title} (%) by labelled rows")
    blocks += [block for curves in evidence.curves for block in curves_of(curves)]
    blocks += ["## F1 of each class (%)"] if evidence.predictions else []
    blocks += [block for each in evidence.predictions for block in classes_of(each.results)]
    confusions = [block for each in evidence.predictions for block in confusions_of(each)]
    blocks += ["## Most confused classes, mean over seeds", *confusions] if confusions else []
    if any(each.texts for each in evidence.predictions):
        blocks.append("## Texts on which methods disagree")
    blocks += [
        block for each in evidence.predictions if each.texts for block in texts_of(each, comparison.baseline)
    ]  # fmt: skip
    return "\n\n".join([*blocks, *provenance_blocks(evidence.provenance)]) + "\n"


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


def confusions_of(predictions: Predictions) -> list[str]:
    """A table of the pairs of classes that each method confuses most."""
    rows = [[method, *pair] for method in predictions.confusions for pair in pairs_in_words(predictions, method, 5)]
    head = ["method", "label", "prediction", "test rows", "of the label"]
    return [*heading(predictions.results.title), table(head, rows)] if rows else []


def texts_of(predictions: Predictions, baseline: str) -> list[str]:
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
