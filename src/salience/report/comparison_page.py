"""The report of a comparison, as a page and as Markdown: tables, pictures, and the texts on which methods disagree."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from salience.comparison.comparison import Comparison
from salience.comparison.heat_maps import HeatMaps
from salience.comparison.results import ConditionResults, SeedPredictions
from salience.comparison.variation import spread
from salience.errors import counted
from salience.report.comparison import (
    board,
    grid_in_words,
    measured_tables,
    over_table,
    statistics_in_words,
    verdicts,
)
from salience.report.comparison_pictures import (
    MOST_CLASSES,
    confusion_matrices,
    gain_against_cost,
    learning_curves,
    reliability_diagrams,
    runs_and_intervals,
)
from salience.report.page import (
    Block,
    Card,
    Figure,
    Grid,
    Instead,
    Lines,
    Section,
    Table,
    Title,
    legend,
    markdown_of,
    page_of,
    predicted_in_words,
)
from salience.report.pictures import Styles
from salience.scores.metrics import confused_pairs

FOLDED = 12  # verdicts, and classes, from which on they are folded
LISTED_PAIRS = 10  # of classes that are confused, for each method


def comparison_page(comparison: Comparison, title: str) -> str:
    """The report as HTML.

    Args:
        comparison: what it shows.
        title: a title as plain text.
    """
    styles, found = Styles(), verdicts(comparison)
    before = [Lines(found, f"{len(found)} verdicts in words" if len(found) > FOLDED else "")]
    sections = sections_of(comparison, styles)
    about, explainer = about_of(comparison), comparison.heat_maps.explainer
    return page_of(title, about, sections, "comparison.css", before, explainer, styles)


def comparison_markdown(comparison: Comparison, title: str) -> str:
    """The report as Markdown of GitHub. Every value is escaped. Arguments as of `comparison_page`."""
    before = [Lines(verdicts(comparison))]
    return markdown_of(title, about_of(comparison), sections_of(comparison, Styles()), before)


def about_of(comparison: Comparison) -> str:
    return f"{grid_in_words(comparison)}. {statistics_in_words(comparison)}"


def joined(title: str, words: str) -> str:
    """A caption that begins with its condition, if that has a title."""
    return f"{title}: {words}" if title else f"{words[0].upper()}{words[1:]}"


def titled(title: str) -> list[Block]:
    return [Title(title)] if title else []


def sections_of(comparison: Comparison, styles: Styles) -> list[Section]:
    """What the report shows."""
    predictions = comparison.predictions
    baseline, score = comparison.baseline, comparison.scoring.main_title
    several = any(each.of_several for each in predictions)
    methods: list[Block] = ["Of each score, the best mean is bold and named best, whether or not it is beyond chance."]
    for results in comparison.conditions:
        rows = f"{results.rows:,} test rows"
        methods += [Title(f"{results.title}: {rows}" if results.title else rows), board(results)]
        for what, table in measured_tables(results):
            methods += [
                f"{what[0].upper()}{what[1:]}. Mean ± standard deviation over seeds of {baseline}; of the others the "
                "difference to it, with the 95 % interval over seeds.", table,
            ]  # fmt: skip
        caption = joined(results.title, f"{score} of every run, and differences with their intervals")
        methods.append(Figure(caption, runs_and_intervals(results, comparison.seeds)))
    over = [block for each in comparison.over_data_sets for block in (*titled(each.title), over_table(each))]
    curves = [
        Figure(joined(each.title, f"mean {score} ± standard deviation over seeds"), learning_curves(each),
               Table(["method", *(f"{size:,} rows" for size in each.rows)],
                     [[method, *map(spread, values)] for method, values in each.values.items()]))
        for each in comparison.curves
    ]  # fmt: skip
    costs = [
        Figure(joined(each.results.title, f"difference in {score} against time"), gain_against_cost(each.results))
        for each in predictions
    ]
    reliability = [
        Figure(
            joined(each.results.title, reliability_caption(each.of_several)), reliability_diagrams(each.reliability)
        )
        for each in predictions
    ]
    bins, below = "Predictions of all seeds", "a method is more confident than right"
    if several:
        bins, below = "Decisions about all labels by all seeds", "probabilities are too high"
    bins = f"{bins}, in bins of equal size. Below the diagonal, {below}."
    classes = [block for each in predictions for block in (*titled(each.results.title), class_table(each.results))]
    confusions = [block for each in predictions for block in confusions_of(each)]
    disputed = [block for each in predictions if each.texts
                for block in disputed_of(each, baseline, comparison.heat_maps)]  # fmt: skip
    what = "label" if several else "class"
    found = [
        Section("methods", "Methods", methods),
        Section("over", "Over data sets", over and [
            f"Difference to {baseline} in {score}, in points, mean over the data sets, with 95 % intervals.", *over,
        ]),
        Section("curves", "Learning curves", curves and [
            f"The {score} (%) by the number of labelled rows.", Grid(curves),
        ]),
        Section("cost", "Gain against cost", costs and [Grid(costs)]),
        Section("reliability", "Reliability", reliability and [bins, *reliability]),
        Section("classes", "Labels" if several else "Classes", classes and [
            f"F1 of each {what} in percent, mean ± standard deviation over seeds. All sizes and seeds are in "
            "classes.csv.", *classes,
        ], "Classes"),
        Section("confusions", "Confusions", confusions),
        Section("disputed", "Texts on which methods disagree", disputed and [
            *about_heat_maps(comparison.heat_maps, several, styles), *disputed
        ], "Texts"),
        Section("recipe", "Recipe and runs", provenance_of(comparison), "Recipe"),
    ]  # fmt: skip
    return [section for section in found if section.blocks]


def reliability_caption(of_several: bool) -> str:
    """What the axes of a reliability diagram are; `of_several`: whether a text can have several labels."""
    if of_several:
        return "share of the texts that have a label (accuracy) against its probability (confidence)"
    return "accuracy against confidence"


def class_table(results: ConditionResults) -> Table:
    """Each class with its number of test rows, and the mean F1 of each method, in percent; '-' without rows."""
    classes = results.classes
    by_method = [np.array(values) for values in classes.f1.values()]
    rows = [
        [name, f"{rows:,}", *(spread(values[:, number]) if rows else "-" for values in by_method)]
        for number, (name, rows) in enumerate(zip(classes.names, classes.rows, strict=True))
    ]
    folded = f"{len(rows)} classes" if len(rows) > FOLDED else ""
    return Table(["class", "test rows", *classes.f1], rows, folded=folded, file="classes.csv")


def confusions_of(predictions: SeedPredictions) -> list[Block]:
    """The matrices as a picture if there are few classes, and else the most confused pairs of every method."""
    title, labels = predictions.results.title, predictions.labels
    rows = [
        [method, labels[pair.label], labels[pair.predicted], f"{pair.rows:.1f}", f"{100 * pair.rows / pair.of:.0f} %"]
        for method, counts in predictions.confusions.items() for pair in confused_pairs(counts, LISTED_PAIRS)
    ]  # fmt: skip
    pairs = Table(["method", "label", "prediction", "test rows", "of the label"], rows, {1, 2}) if rows else None
    caption = joined(title, "the most confused classes, mean over seeds")
    if predictions.confusions and len(labels) <= MOST_CLASSES:
        picture = joined(title, "test rows by label (row) and prediction (column), mean over seeds")
        return [Figure(picture, confusion_matrices(predictions), pairs)]
    return [] if pairs is None else [Title(caption), pairs]


def about_heat_maps(heat_maps: HeatMaps, several: bool, styles: Styles) -> list[Block]:
    """What the heat maps are of, and why methods have none."""
    found: list[Block] = [f"{line[0].upper()}{line[1:]}" for line in heat_maps.missing]
    if heat_maps.of_texts:
        what = (
            "the label about which the methods differ most, as this model decides on it, with its"
            if several
            else "the class that it predicts, with its"
        )
        words = Markup(
            "Heat maps: the model of each method with seed {}, {} probability, and the words with their scores by the "
            "explainer {}, as of <code>salience explain</code>."
        )
        found.insert(0, legend(words.format(heat_maps.seed, what, heat_maps.explainer), styles))
    return found


def disputed_of(predictions: SeedPredictions, baseline: str, heat_maps: HeatMaps) -> list[Block]:
    """The texts of a condition on which methods disagree: on the page with the explanations that there are."""
    results, texts = predictions.results, predictions.texts
    what = f"the {'labels' if predictions.of_several else 'class'} that most of their seeds predict"
    words = (
        f"On {predictions.disputed:,} of {counted(results.rows, 'test row')}, {baseline} and another method differ in "
        f"{what}."
    )
    if len(texts) < predictions.disputed:
        words += f" Shown are the {len(texts)} with the largest disagreement."
    cards, rows = [], []
    for each in texts:
        values = {"row": str(each.row), "label": each.label}
        for method, (predicted, seeds) in each.predicted.items():
            right = "right" if predicted == each.label else "wrong"
            values[method] = f"{predicted} ({counted(seeds, 'seed')}, {right})"
        pieces = (Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(*item) for item in values.items())
        maps = [
            (Markup("<span><strong>{}</strong> {} {}</span>").format(method, *predicted_in_words(own)), own)
            for method, own in heat_maps.of_texts.get((results.condition, each.row), {}).items()
        ]
        parts = [text for text in (each.text, each.second) if text is not None]
        cards.append(
            Card("", [("", text) for text in parts], Markup("<dl>{}</dl>").format(Markup().join(pieces)), maps)
        )
        rows.append([str(each.row), " / ".join(filter(None, parts)), *list(values.values())[1:]])
    table = Table(["row", "text", "label", *texts[0].predicted], rows)
    return [*titled(results.title), words, Instead(cards, table)]


def provenance_of(comparison: Comparison) -> list[Block]:
    """The recipe and its variants, and the versions and machines of the runs."""
    found: list[Block] = []
    provenance = comparison.provenance
    if variants := provenance.variants:
        head = ["variant", *next(iter(variants.values()))]
        rows = [[name, *changed.values()] for name, changed in variants.items()]
        found += [Table(head, rows, range(1, len(head))),
                  "The variants have these settings of their own. They share all others."]  # fmt: skip
    settings = []
    for each in provenance.settings:
        values = [value if len(each.values) == 1 else f"{value} ({'; '.join(titles)})"
                  for value, titles in each.values.items()]  # fmt: skip
        settings.append([each.name, "; ".join(values), "filled in" if each.filled_in else ""])
    found += [
        Table(["setting", "value", ""], settings, {1, 2}),
        "Settings that were left open, and what they followed from data, model and machine, are marked as filled in.",
    ]
    about = [[name, ", ".join(values)] for name, values in (provenance.versions | provenance.machine).items()]
    return [*found, *([Table(["of the runs", "value"], about, {1})] if about else [])]
