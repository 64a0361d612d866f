"""The report of a comparison in the terminal, as a page and as Markdown: tables, verdicts, pictures, and texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from salience.comparison.comparison import Comparison
from salience.comparison.heat_maps import HeatMaps
from salience.comparison.paired_difference import PairedDifference
from salience.comparison.results import ConditionResults, OverDataSets, SeedPredictions
from salience.comparison.variation import spread
from salience.comparison.verdict import GAIN, LOSS, NO_GAIN, TOO_FEW
from salience.comparison.verdict import verdict as of_difference
from salience.errors import counted
from salience.explainers.explanation import Explanation
from salience.report.comparison_pictures import (
    RELIABILITY,
    confusion_matrix,
    forest,
    gain_against_cost,
    learning_curves,
    reliability_diagrams,
    runs_and_intervals,
)
from salience.report.page import (
    Block,
    Card,
    Cell,
    Figure,
    Grid,
    Legend,
    Lines,
    Marked,
    Phrase,
    Section,
    Table,
    Title,
    has_signs,
    in_terminal,
    joined,
    markdown_of,
    page_of,
)
from salience.report.terminal import literal
from salience.scores.labels import IN_PERCENT
from salience.scores.metrics import confused_pairs

FOLDED = 12  # classes from which on they are folded
MOST_CLASSES = 12  # of confusion matrices; of more classes, the most confused pairs are shown
LISTED_PAIRS = 10  # of classes that are confused, for each method
FIRST, WIDEST = 4, 3  # scores, and methods in a table of measures, that fit into a terminal; the report has all
SCALED = {"calibration_error_scaled": "calibration error with temperature"}
LOWER_IS_BETTER = ("log_loss", "calibration_error", *SCALED)
UNITS = dict.fromkeys(IN_PERCENT, "%, ") | {"log_loss": "nats, "}
# Heads of columns in a terminal, where they have no units, and the scores fit 80 characters.
SHORT = {"p": "p (Holm)", "time": "x time", "calibration error": "calibration"}
Column = tuple[Cell, dict[str, Cell]]  # the head, and the cell of each method


def show_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints the scores of each method, the differences to the baseline, and a verdict on each method."""
    console, title = console or Console(highlight=False), comparison.scoring.main_title
    for results in comparison.conditions:
        columns = columns_of(results)
        seeds = len(comparison.seeds)
        what = f"{results.test_rows}, {title} in percent, mean ± standard deviation over {seeds} seeds"
        heading = f"{results.title}: {what}" if results.title else what
        scores = short_table([*columns["scores"][:FIRST], *columns["spent"]], list(results.scores))
        console.print(in_terminal(heading, scores))
        what = (
            f"difference to {results.baseline} in points of {title}, with the 95 % interval over seeds and test rows"
        )
        differences = short_table(columns["differences"], [*results.differences, *results.references])
        console.print(in_terminal(what, differences))
        if 1 + len(results.differences) <= WIDEST:
            for what, table in measured_tables(results).items():
                console.print(in_terminal(what, table))
    for over in comparison.over_data_sets:
        what = f"difference to {comparison.baseline} in {title}, mean over the data sets"
        console.print(in_terminal(f"{over.title}: {what}" if over.title else what, over_table(over)))
    for line in verdicts(comparison):
        console.print(literal(line), soft_wrap=True)


def short_table(columns: Sequence[Column], methods: Sequence[str]) -> Table:
    heads = [SHORT.get(head.text, head.text.removeprefix("difference in ")) for head, _ in columns]
    return Table(["", *heads], [[method, *(cells[method].text for _, cells in columns)] for method in methods])


def comparison_page(comparison: Comparison, title: str) -> str:
    """The report as HTML.

    Args:
        comparison: what it shows.
        title: a title as plain text.
    """
    about, explainer = about_of(comparison), comparison.heat_maps.explainer
    before = [*beginning(comparison), about]
    return page_of(title, "", sections_of(comparison), "comparison.css", before, explainer)


def comparison_markdown(comparison: Comparison, title: str) -> str:
    """The report as Markdown of GitHub. Every value is escaped. Arguments as of `comparison_page`."""
    return markdown_of(title, about_of(comparison), sections_of(comparison), beginning(comparison))


def beginning(comparison: Comparison) -> list[Block]:
    """A verdict on each method, a forest plot of the differences for each size, and the verdicts one by one."""
    score, every = comparison.scoring.main_title, verdicts(comparison)
    judged = judged_together(comparison)
    short = [in_short(method, judged, comparison.baseline) for method in next(iter(judged.values()))]
    caption = f"difference to {comparison.baseline} in {score}; filled: the interval excludes 0"
    plots = [
        Figure(joined(title, caption), forest(differences, comparison.baseline, score))
        for title, differences in judged.items() if differences
    ]  # fmt: skip
    if len(every) == len(short):  # in full, where there is one of each method
        return [Lines(every), Grid(plots)]
    return [Lines(short), Grid(plots), Lines(every, f"{len(every)} verdicts in words")]


def judged_together(comparison: Comparison) -> dict[str, dict[str, PairedDifference]]:
    """The differences in the main score by what they are of: over the data sets where there are several."""
    if comparison.over_data_sets:
        return {each.title: each.here for each in comparison.over_data_sets}
    return {
        each.title: {method: found[each.scoring.main] for method, found in each.differences.items()}
        for each in comparison.conditions
    }


def in_short(method: str, judged: dict[str, dict[str, PairedDifference]], baseline: str) -> str:
    """One line on a method over all sizes: each verdict against the baseline, and where it holds."""
    found = {title: differences[method] for title, differences in judged.items()}
    of_all = {title: of_difference(each) for title, each in found.items()}
    parts = []
    for name, words in VERDICTS.items():
        own = [title for title, each in of_all.items() if each == name]
        points = {title: f"{found[title].mean:+.1f} points" for title in own if name in (GAIN, LOSS)}
        where = [": ".join(filter(None, (title, points.get(title)))) for title in own]
        if own:
            parts.append(f"{words} {baseline}" + (f" ({', '.join(where)})" if any(where) else ""))
    return f"{method}: {'; '.join(parts)}"


def about_of(comparison: Comparison) -> str:
    """How many runs there are of what, how the numbers were computed, and what the seeds vary."""
    drawn, seeds = comparison.drawn, comparison.seeds
    references = len(comparison.conditions[0].references)
    parts = [counted(len(comparison.methods) - references, "method")]
    parts += [counted(references, "reference")] if references else []
    parts.append(counted(len(seeds), "seed"))
    if len(comparison.conditions) > 1:
        parts.append(counted(len(comparison.conditions), "condition"))
    family = sum(len(results.differences) for results in comparison.conditions)
    together = "p-values are of sign flips"
    if family > 1:
        together = (
            f"for the {family} differences of a score, intervals hold jointly (Bonferroni), and p-values are of sign "
            "flips, adjusted by Holm"
        )
    if all(drawn):
        rows, limit = "each with its own sample of the rows", ""
    else:
        rows = "all with the same training rows"
        if any(drawn):
            rows = "each with its own sample where not all rows are used"
        limit = (
            " With the same training rows, seeds differ in initial weights, batches and mixing: the intervals do not "
            "cover other training rows."
        )
    return (
        f"{counted(comparison.provenance.runs, 'run')}: {', '.join(parts)}. Means ± standard deviations over the "
        f"{len(seeds)} seeds {', '.join(map(str, seeds))}, {rows}. Differences to {comparison.baseline} are paired by "
        f"seed and test row, with 95 % intervals over both; {together}.{limit}"
    )


def verdicts(comparison: Comparison) -> list[str]:
    """A line for every method but the baseline and every condition, and over the data sets if there are several."""
    lines = []
    for results in comparison.conditions:
        for method, by_score in results.differences.items():
            found, times = by_score[results.scoring.main], results.times(method)
            lines.append(verdict(method, found, results.baseline, results.title, times))
    for over in comparison.over_data_sets:
        title = f"{over.title}, over all data sets" if over.title else "over all data sets"
        lines += [verdict(method, found, comparison.baseline, title) for method, found in over.here.items()]
    return lines


def verdict(
    method: str, difference: PairedDifference, baseline: str, title: str = "", times: float | None = None
) -> str:
    """One line on the main score against the baseline's: a gain, a loss, no gain of a point, or too few runs.

    Args:
        difference: in the main score, in points.
        title: the condition; may be empty.
        times: the time of the method as a multiple of the baseline's; None leaves it out.
    """
    name = f"{title}, {method}" if title else method
    if difference.low is None or difference.high is None:
        return f"{name}: no interval, because the difference to {baseline} is the same with every seed"
    found = of_difference(difference)
    interval = f"{difference.mean:+.1f} points [{difference.low:+.1f}, {difference.high:+.1f}]"
    further, needed = "", difference.needed
    if found in (GAIN, LOSS):
        further = "" if times is None else f", at {times:.2g} times its time"
    elif needed is not None:
        further = f"; {needed.draws:.0f} seeds would show half a point"
        if math.isinf(needed.draws):
            further = f"; half a point needs more test rows, which alone give ±{needed.by_rows:.1f}"
    return f"{name}: {VERDICTS[found]} {baseline}: {interval}{further}"


# The verdicts of `salience.comparison.verdict`, each before the name of the baseline.
VERDICTS = {
    GAIN: "gain over", LOSS: "loss against", NO_GAIN: "no gain of a point over", TOO_FEW: "too few runs to tell from",
}  # fmt: skip


def sections_of(comparison: Comparison) -> list[Section]:
    """What the report shows."""
    predictions = comparison.predictions
    baseline, score = comparison.baseline, comparison.scoring.main_title
    several = comparison.scoring.several
    over = [block for each in comparison.over_data_sets for block in (*titled(each.title), over_table(each))]
    curves, tables = [], []
    for each in comparison.curves:
        caption = joined(each.title, f"mean {score} ± standard deviation over seeds")
        curves.append(Figure(caption, learning_curves(each)))
        rows = [[method, *map(spread, values)] for method, values in each.values.items()]
        tables.append(Table(["method", *(f"{size:,} rows" for size in each.rows)], rows, in_place=True))
    costs, reliability, classes, confusions, disputed = [], [], [], [], []
    for own in predictions:
        title = own.results.title
        costs.append(Figure(joined(title, f"difference in {score} against time"), gain_against_cost(own.results)))
        reliability.append(Figure(joined(title, RELIABILITY[several]), reliability_diagrams(own.reliability)))
        classes += [*titled(title), class_table(own.results)]
        confusions += confusions_of(own)
        disputed += disputed_of(own, baseline, comparison.heat_maps) if own.texts else []
    bins, below = "Predictions of all seeds", "a method is over-confident"
    if several:
        bins, below = "Decisions about all labels by all seeds", "probabilities are too high"
    bins = f"{bins}, in bins of equal size. Below the diagonal, {below}."
    found = [
        Section("methods", "Methods", methods_of(comparison)),
        Section("over", "Over data sets", over and [
            f"Difference to {baseline} in {score}, in points, mean over the data sets, with 95 % intervals.", *over,
        ]),
        Section("curves", "Learning curves", curves and [
            f"The {score} (%) by the number of labelled rows.", Grid(curves), *tables,
        ]),
        Section("cost", "Gain against cost", costs and [Grid(costs)]),
        Section("reliability", "Reliability", reliability and [bins, *reliability]),
        Section("classes", "Labels" if several else "Classes", classes and [
            f"F1 of each {'label' if several else 'class'} in percent, mean ± standard deviation over seeds. All "
            "sizes and seeds are in classes.csv.", *classes,
        ]),
        Section("confusions", "Confusions", confusions),
        Section("disputed", "Texts on which methods disagree", disputed and [
            *about_heat_maps(comparison.heat_maps, several), *disputed
        ]),
        Section("recipe", "Recipe and runs", provenance_of(comparison)),
    ]  # fmt: skip
    return [section for section in found if section.blocks]


def titled(title: str) -> list[Block]:
    return [Title(title)] if title else []


def methods_of(comparison: Comparison) -> list[Block]:
    """The tables of each condition, and all of its runs as a picture."""
    score = comparison.scoring.main_title
    blocks: list[Block] = [
        "A mean is bold and marked best where its lead over every other method is a gain, not chance."
    ]
    for results in comparison.conditions:
        rows = results.test_rows
        blocks += [Title(f"{results.title}: {rows}" if results.title else rows), board(results)]
        for what, table in measured_tables(results).items():
            about = (
                f"{joined('', what)}. {comparison.baseline}: mean ± standard deviation over seeds. Others: the "
                "difference to it, with the 95 % interval over seeds."
            )
            blocks += [about, table]
        caption = joined(results.title, f"{score} of every run, and differences with their intervals")
        blocks.append(Figure(caption, runs_and_intervals(results, comparison.seeds)))
    return blocks


def board(results: ConditionResults) -> Table:
    """Scores, differences in the main score and some others, passes and times of all methods in a condition."""
    columns = [column for group in columns_of(results).values() for column in group]
    rows: list[list[str | Cell]] = [[method, *(cells[method] for _, cells in columns)] for method in results.scores]
    return Table(["method", *(head for head, _ in columns)], rows)


def columns_of(results: ConditionResults) -> dict[str, list[Column]]:
    """The columns of a condition: "scores", "differences", "scaled", of some runs only, and what was "spent".

    Scores that no run has take no column.
    """
    scoring, methods = results.scoring, results.scores
    known = {score for scores in methods.values() for score in scores}

    def scored(score: str, name: str) -> Column:
        unit = f"{UNITS.get(score, '')}{'lower' if score in LOWER_IS_BETTER else 'higher'} is better"
        best = best_methods(results, score)
        return Cell(name, unit), {each: Cell(spread_of(results, each, score), best=each in best) for each in methods}

    def difference(method: str, score: str) -> Cell:
        if method in results.differences:
            return Cell(str(results.differences[method][score]))
        if method in results.references:  # without a claim, so without interval and p-value
            return Cell(f"{results.references[method][score]:+.2f}")
        return Cell("baseline" if score == scoring.main else "")

    def different(score: str) -> Column:
        unit = "points" if score in IN_PERCENT else "nats"
        head = Cell(f"difference in {scoring.compared[score]}", f"{unit} [95 % interval]")
        return head, {method: difference(method, score) for method in methods}

    def p(method: str) -> Cell:
        if method in results.differences:
            return Cell(p_value(results.differences[method][scoring.main]))
        return Cell("reference" if method in results.references else "")

    def passes(method: str) -> Cell:  # a mean over seeds; '-' for references, which have none
        values = methods[method].get("text_passes", [math.nan])
        return Cell(f"{sum(values) / len(values):,.0f}" if all(map(math.isfinite, values)) else "-")

    holm = Cell("p", "Holm"), {method: p(method) for method in methods}
    spent = [(Cell("passes", "compute"), {method: passes(method) for method in methods})]
    time = Cell("time", "x baseline"), {method: Cell(f"{results.times(method):.2f}") for method in methods}
    return {
        "scores": [scored(score, name) for score, name in scoring.compared.items()],
        "differences": [different(scoring.main), holm, *map(different, scoring.beside)],
        "scaled": [scored(score, name) for score, name in SCALED.items() if score in known],
        "spent": [*spent, time] if "text_passes" in known else [time],
    }


def best_methods(results: ConditionResults, score: str) -> set[str]:
    """The method whose score is a gain over all others', if there is one.

    The intervals of the differences to the baseline hold jointly: methods whose intervals lie apart differ by more
    than chance. No claim is made about references; one with a better mean leaves none best.
    """
    sign = -1 if score in LOWER_IS_BETTER else 1
    bounds = {results.baseline: (0.0, 0.0)}
    for method, found in results.differences.items():
        if score not in found or (low := found[score].low) is None or (high := found[score].high) is None:
            return set()
        bounds[method] = (low, high) if sign > 0 else (-high, -low)
    references = [sign * own[score] for own in results.references.values() if score in own]
    return {
        method for method, (low, _) in bounds.items()
        if len(bounds) > 1 and all(low > high for other, (_, high) in bounds.items() if other != method)
        and all(low > mean for mean in references)
    }  # fmt: skip


def spread_of(results: ConditionResults, method: str, score: str) -> str:
    """Mean and standard deviation of a score that not all runs have; '-' if one has not."""
    values = results.scores[method].get(score, [math.nan])
    return spread(values) if all(map(math.isfinite, values)) else "-"


def measured_tables(results: ConditionResults) -> dict[str, Table]:
    """The tables of measures apart from the scores, by their titles; a row for each score.

    A row has the score of the baseline, and the differences of the other methods from it with their intervals; the
    scores of all methods where no difference can be computed.
    """
    methods = [results.baseline, *results.differences]
    rows: dict[str, list[list[str]]] = {}
    for score, column in results.measured.items():
        cells = []
        for method in methods:
            found = results.differences.get(method, {}).get(score)
            cells.append(spread_of(results, method, score) if found is None else str(found))
        rows.setdefault(column.table, []).append([column.title, column.direction, *cells])
    return {title: Table(["score", "unit", *methods], own, texts={1}) for title, own in rows.items()}


def over_table(over: OverDataSets) -> Table:
    """Differences in the main score over several data sets, a row for each method compared."""
    rows = [[method, str(here), p_value(here), str(over.elsewhere[method])] for method, here in over.here.items()]
    return Table(["method", "on these data sets", "p (Holm)", "on others like these"], rows)


def p_value(difference: PairedDifference) -> str:
    """The adjusted p-value: '0.031', or '< 0.001'."""
    return "< 0.001" if difference.adjusted_p < 0.001 else f"{difference.adjusted_p:.3f}"


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
    head = ["method", "label", "prediction", "test rows", "of the label"]
    if predictions.confusions and len(labels) <= MOST_CLASSES:
        caption = joined(
            title,
            "lines are labels, columns predictions, numbers test rows (mean over seeds); right answers are blue, "
            "errors red.",
        )
        matrices = [confusion_matrix(method, labels, counts) for method, counts in predictions.confusions.items()]
        return [caption, Grid(matrices), *([Table(head, rows, {1, 2}, in_place=True)] if rows else [])]
    return (
        [Title(joined(title, "the most confused classes, mean over seeds")), Table(head, rows, {1, 2})] if rows else []
    )


def about_heat_maps(heat_maps: HeatMaps, several: bool) -> list[Block]:
    """What the heat maps are of, and why methods have none."""
    missing = [joined("", line) for line in heat_maps.missing]
    if not heat_maps.of_texts:
        return [*missing]
    what = "the class that it predicts"
    if several:
        what = "its decision on the label about which the methods differ most"
    about = (
        f"Heat maps, for the model of each method with seed {heat_maps.seed}: {what}, its probability, and the scores "
        f"of the words by the explainer {heat_maps.explainer}, as salience explain shows them."
    )
    explained = (explanation for of_text in heat_maps.of_texts.values() for explanation in of_text.values())
    return [Legend(about, has_signs(explained, heat_maps.explainer)), *missing]


def disputed_of(predictions: SeedPredictions, baseline: str, heat_maps: HeatMaps) -> list[Block]:
    """The texts of a condition on which methods disagree: on the page with the explanations that there are."""
    results, texts = predictions.results, predictions.texts
    what = f"the {'labels' if results.scoring.several else 'class'} that most of their seeds predict"
    words = (
        f"On {predictions.disputed:,} of {counted(results.rows, 'test row')}, {baseline} and another method differ in "
        f"{what}."
    )
    if len(texts) < predictions.disputed:
        words += f" Shown are the {len(texts)} with the largest disagreement."
    cards, rows = [], []
    for each in texts:
        facts = [("row", str(each.row)), ("label", each.label)]
        for method, (predicted, seeds) in each.predicted.items():
            right = "right" if predicted == each.label else "wrong"
            facts.append((method, f"{predicted} ({counted(seeds, 'seed')}, {right})"))
        of_text = heat_maps.of_texts.get((results.condition, each.row), {})
        maps: list[tuple[Phrase, Explanation]] = []
        for method, own in of_text.items():
            maps.append(([Marked(method), f" {predicted_in_words(own)}"], own))
        parts = [text for text in (each.text, each.second) if text is not None]
        cards.append(Card("", [("", text) for text in parts], facts, maps))
        rows.append([str(each.row), " / ".join(filter(None, parts)), *(value for _, value in facts[1:])])
    table = Table(["row", "text", "label", *texts[0].predicted], rows, in_place=True)
    return [*titled(results.title), words, *cards, table]


def predicted_in_words(explanation: Explanation) -> str:
    """What is predicted and explained, "not joy" of a label that a text does not get; and its probability."""
    chance = float(explanation.probabilities[explanation.target])
    name = f"{'' if explanation.is_predicted else 'not '}{explanation.labels[explanation.target]}"
    return f"{name} {f'{chance:.2f}' if math.isfinite(chance) else 'unknown'}"


def provenance_of(comparison: Comparison) -> list[Block]:
    """The recipe and its variants, and the versions and machines of the runs."""
    found: list[Block] = []
    provenance = comparison.provenance
    if variants := provenance.variants:
        head = ["variant", *next(iter(variants.values()))]
        rows = [[name, *changed.values()] for name, changed in variants.items()]
        found += [Table(head, rows, range(1, len(head))),
                  "The variants differ in these settings and share all others."]  # fmt: skip
    settings = []
    for name, conditions, filled_in in provenance.settings:
        values = [f"{value} ({'; '.join(titles)})" for value, titles in conditions.items()]
        shown = next(iter(conditions)) if len(conditions) == 1 else "; ".join(values)
        settings.append([name, shown, "filled in" if filled_in else ""])
    found += [
        Table(["setting", "value", ""], settings, {1, 2}),
        'Settings that were left open follow from data, model and machine. They are marked "filled in".',
    ]
    about = [[name, ", ".join(values)] for name, values in provenance.about.items()]
    return [*found, *([Table(["of the runs", "value"], about, {1})] if about else [])]
