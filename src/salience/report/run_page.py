"""The report of a run as a page: scores, confusions, calibration, curves, errors, words of classes, and the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.metrics import confusion_matrix

from salience.explainers.class_words import LEAST
from salience.explainers.explanation import colour
from salience.report.comparison_page import SHOWN, Figures, cut, joined, reliability_caption
from salience.report.comparison_pictures import BLUE, GRID, Drawing, diagrams
from salience.report.explanation_page import HeatMap, colour_class, heat_maps_of_text, legend
from salience.report.page import PACKAGE, asset, framed
from salience.report.pictures import COLOURS, GREY, HoverTexts, Marks, Styles
from salience.report.run_evidence import FOLDED, HALVES, Calibration, RunEvidence, ShownError
from salience.runs.results import Run
from salience.runs.sentences import precision_sentences, training_rows_among
from salience.scores.intervals import Score
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS, labels_of
from salience.scores.metrics import ConfusedPair, confused_pairs
from salience.scores.predictions import Predictions
from salience.templating import render

# Sentences and cells of the report of a run.

ROWS = {"test": "test rows", "estimate": "labelled rows of the estimate", "validation": "validation rows"}
NO_SCORES = (
    "There are no scores: the run had neither test rows nor validation rows, and made no estimate. Name labelled rows "
    "that were not trained on with --test, or leave out --estimate none."
)
CORRECTED = (
    " The calibration error of few rows is too high by chance; its interval is corrected for this, and may lie below "
    "it."
)


def rows_in_words(run: Run) -> str:
    """Which rows the scores are of, and what the numbers may and may not be used for."""
    judged = run.predictions
    if judged is None:
        return NO_SCORES
    count = f"{len(judged.labels):,} {ROWS[run.judge]}"
    if shared := training_rows_among(run.facts, run.judge):
        return f"The scores are of {count}. {shared}"
    if run.judge == "test":
        return (
            f"The scores are of {count}, which had no part in the training: they say what to expect on new rows like "
            "these, and no longer do if the test rows are used to choose between runs."
        )
    if run.judge == "estimate":
        return (
            f"The scores are of {count}, each predicted by a model that was trained without it: they say what to "
            "expect of a model like this one on new rows like these. They are not scores of the very model in this "
            "folder, which was trained on all of these rows, and become too high if many runs are compared by them."
        )
    return (
        f"The scores are of {count}, by which the checkpoint was chosen: they are likely to be too high, and may be "
        "used to compare runs, but not as an estimate of the scores on new rows."
    )


def intervals_in_words(judged: Predictions, calibration: Calibration) -> str:
    """How the intervals were made, and what they leave out."""
    unit = "rows" if judged.groups is None else "groups of rows"
    which = "Log loss and calibration error are those" if judged.decided is None else "The calibration error is that"
    scaled = (
        f" {which} after the temperature that is folded into the model; here each half of the rows is scaled by the "
        "temperature of the other half."
        if calibration.deployed is not calibration.before and calibration.source == HALVES
        else ""
    )
    return (
        f"95 % intervals over {unit}: they say how far the scores would vary with other {unit} like these. They do "
        f"not cover what another seed or other training rows would change.{scaled}"
    )


def calibration_in_words(calibration: Calibration) -> str:
    """Where the temperature comes from."""
    number = "" if calibration.temperature is None else f" of {calibration.temperature:.2f}"
    if calibration.after is None:
        return "There are too few rows to fit a temperature."
    if calibration.source == FOLDED:
        return f"The model has a temperature{number}, fitted on the estimate. Before: the probabilities without it."
    if calibration.source == HALVES:
        whole = f" The temperature of all rows is {calibration.temperature:.2f}." if number else ""
        return f"After: each half of the rows is scaled by the temperature that is fitted on the other half.{whole}"
    return f"After: the rows are scaled by the temperature{number}, fitted on the validation rows."


def pair_in_words(pair: ConfusedPair, labels: list[str]) -> str:
    """'sport as music: 12 of 50 rows'."""
    return f"{labels[pair.label]} as {labels[pair.predicted]}: {pair.rows:,} of {pair.of:,} rows"


def part_rows(facts: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The table of the parts of the data: what a line is about, and a cell for each part."""
    parts = facts["parts"].values()

    def share(part: Mapping[str, Any], name: str) -> str:
        return f"{part[name]:,} ({part[name] / part['rows']:.1%})" if name in part else ""

    return [
        ("rows", [f"{part['rows']:,}" for part in parts]),
        ("tokens of a text, median", [f"{part['tokens']['median']:,.0f}" for part in parts]),
        ("95 % of the texts have at most", [f"{part['tokens']['percentile_95']:,}" for part in parts]),
        ("longest text", [f"{part['tokens']['longest']:,}" for part in parts]),
        (f"longer than the {facts['max_length']:,} tokens that are read: cut", [share(part, "cut") for part in parts]),
        ("text is in an earlier row of the part", [share(part, "duplicates") for part in parts]),
        ("text is in the part with another label too", [share(part, "contradictions") for part in parts]),
        ("text is in the training rows", [share(part, "in_training") for part in parts]),
        *(
            (f"{words}", [share(part, name) for part in parts])
            for name, words in (("no_label", "no label"), ("several_labels", "two labels or more"))
            if any(name in part for part in parts)
        ),
    ]


def class_count_rows(facts: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The table of class counts: a class, and its rows in each part."""
    parts = facts["parts"].values()
    return [
        (label, [f"{part['classes'][label]:,}" for part in parts]) for label in facts["parts"]["training"]["classes"]
    ]


# The table of scores of a run: the model with 95 % intervals, and the baselines.

SCORES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "log_loss": "log loss",
          "calibration_error": "calibration error"}  # fmt: skip


def score_parts(run: Run, judged: Predictions, calibration: Calibration) -> dict[str, Any]:
    """What the page shows of the scores.

    Returns:
        "heads" and "rows", the table; "intervals", how these were made; and "several", whether a text can have several
        labels.
    """
    several = judged.decided is not None
    shown = SEVERAL_LABELS.shown if several else SCORES
    models = model_scores(run.judge, judged, calibration, int(run.recipe["seed"]))
    rows = [(name, [score_cell(scores[each]) for each in shown]) for name, scores in models.items()]
    metrics = run.metrics["estimate"] if run.judge == "estimate" else run.metrics
    for baseline, values in metrics["baselines"].items():
        rows.append((baseline, [(f"{values[score]:.3f}" if score in values else "-", "") for score in shown]))
    beside = any(not_within(scores["calibration_error"]) for scores in models.values())
    return {
        "heads": list(shown.values()), "rows": rows,
        "intervals": intervals_in_words(judged, calibration) + CORRECTED * beside, "several": several,
    }  # fmt: skip


def model_scores(judge: str, judged: Predictions, calibration: Calibration, seed: int) -> dict[str, dict[str, Score]]:
    """The scores of the model by name, also of what it would be without temperature or thresholds of the labels.

    Args:
        seed: of the bootstrap.
    """
    name = "models like this one" if judge == "estimate" else "this model"
    deployed, labels, groups = calibration.deployed, judged.labels, judged.groups
    kind = labels_of(labels)
    found = {name: kind.scored(deployed, labels, kind.decisions(deployed), groups, seed)}
    if judged.decided is None and deployed is not judged.probabilities:
        before = judged.probabilities
        found[f"{name}, before the temperature"] = kind.scored(before, labels, judged.decisions, groups, seed)
    if judged.decided is not None and (judged.decided != kind.decisions(deployed)).any():
        found[f"{name}, thresholds of the labels"] = kind.scored(deployed, labels, judged.decided, groups, seed)
    return found


def not_within(score: Score) -> bool:
    """Whether a score is outside its own interval, as a reader of the table sees it: with three digits."""
    if score.interval is None:
        return False
    low, value, high = (round(number, 3) for number in (score.interval[0], score.value, score.interval[1]))
    return not low <= value <= high


def score_cell(score: Score) -> tuple[str, str]:
    """The value of a score, and its interval as a text, empty if there is none."""
    value, interval = score
    return f"{value:.3f}", "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


# Pictures of the report of a run: the loss and the validation scores over the steps.

LOSSES = {"loss": "training loss", "validation_log_loss": "validation log loss"}
CURVES = {
    "validation_accuracy": "accuracy", "validation_macro_f1": "macro-F1", "validation_micro_f1": "micro-F1",
    "validation_ranking_precision": "ranking precision",
}  # fmt: skip
SIZE = (5.6, 3.0)  # inches


def history_drawings(history: Sequence[Mapping[str, Any]], best: int | None) -> list[tuple[str, Drawing]]:
    """Pictures with their captions: the losses, and the validation scores if there are any.

    Args:
        history: as of `salience.runs.folder.history_of`.
        best: the step of the selected checkpoint; None if none was selected.
    """
    captions = (
        (LOSSES, "Loss over the steps", "loss (nats)"),
        (CURVES, "Scores on the validation rows", "score"),
    )
    return [
        (caption, Drawing(drawer(history, names, label, best), SIZE))
        for names, caption, label in captions
        if any(points(history, name)[0] for name in names)
    ]


def points(history: Sequence[Mapping[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """The steps at which a number was measured, and the number; those that are not finite are left out."""
    found = [(point["step"], point[name]) for point in history if point.get(name) is not None]
    return [step for step, _ in found], [value for _, value in found]


def drawer(history: Sequence[Mapping[str, Any]], names: Mapping[str, str], label: str, best: int | None):
    """Draws a line for each of the numbers into axes."""

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for (name, title), ink in zip(names.items(), (BLUE, COLOURS[0], COLOURS[1], COLOURS[2]), strict=False):
            steps, values = points(history, name)
            if not steps:
                continue
            (line,) = axes.plot(steps, values, "o-", color=ink, markersize=3, linewidth=1.2, label=title)
            texts[line] = [f"step {step:,}: {title} {value:.3f}" for step, value in zip(steps, values, strict=True)]
        if best is not None:
            axes.axvline(best, color=GREY, linestyle="--", linewidth=1, label="selected checkpoint")
        shown = [value for name in names for value in points(history, name)[1]]
        margin = max(0.05 * float(np.ptp(shown)), 0.005)
        axes.set_ylim(max(min(shown) - margin, 0), max(shown) + margin)
        axes.set(xlabel="step", ylabel=label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.legend(frameon=False, fontsize=8)
        return texts

    return draw


# The classes in the report of a run where each text has one label: confusions, and a row for each class.

MATRIX, PAIRS = 20, 20  # classes of a confusion matrix at most; pairs that are shown in place of a larger one


def class_parts(run: Run, judged: Predictions, styles: Styles) -> dict[str, Any]:
    """The tables of the classes.

    Returns:
        "matrix" and "labels", the confusion matrix; or "pairs", if there are too many classes for it; and "classes".
    """
    classes = len(run.labels)
    matrix = confusion_matrix(judged.labels, judged.predicted, labels=np.arange(classes))
    return {
        "matrix": matrix_rows(matrix, run.labels, styles) if classes <= MATRIX else [],
        "labels": run.labels, "pairs": named_pairs(matrix, run.labels) if classes > MATRIX else [],
        "classes": class_rows(judged, run.labels),
    }  # fmt: skip


def matrix_rows(matrix: np.ndarray, labels: list[str], styles: Styles) -> list[tuple[str, list[tuple[str, str]]]]:
    """The confusion matrix: a label, and for each prediction the number of rows and the class of its colour."""
    shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    return [
        (label, [
            (f"{count:,}" if count else "", colour_class(colour(share if place == number else -share), styles))
            for place, (count, share) in enumerate(zip(matrix[number].tolist(), shares[number].tolist(), strict=True))
        ])
        for number, label in enumerate(labels)
    ]  # fmt: skip


def named_pairs(matrix: np.ndarray, labels: list[str]) -> list[tuple[str, str, str, str]]:
    """The most confused pairs: label, prediction, rows, and their share of the rows of the label."""
    return [
        (labels[pair.label], labels[pair.predicted], f"{pair.rows:,}", f"{pair.rows / pair.of:.0%}")
        for pair in confused_pairs(matrix, PAIRS)
    ]


def class_rows(judged: Predictions, labels: list[str]) -> list[tuple[str, list[str]]]:
    """Precision, recall and F1 of each class, '-' where they are undefined, and its number of rows."""
    found = ONE_LABEL.class_scores(judged.probabilities, judged.labels)
    predicted = np.bincount(judged.predicted, minlength=len(labels))
    rows = []
    for number, label in enumerate(labels):
        support = int(found["support"][number])
        known = {"precision": predicted[number], "recall": support, "f1": support + predicted[number]}
        cells = [f"{found[name][number]:.3f}" if rows_of else "-" for name, rows_of in known.items()]
        rows.append((label, [*cells, f"{support:,}"]))
    return rows


# What the report of a run shows in place of confusions where a text can have several labels.

COLUMNS = {
    "rows": "rows", "predicted": "predicted", "precision": "precision", "recall": "recall", "f1": "F1",
    "average_precision": "average precision", "log_loss": "log loss", "threshold": "threshold",
}  # fmt: skip


def label_parts(run: Run) -> dict[str, Any]:
    """The table of the labels; empty if each text has one label, or nothing was measured.

    Returns:
        "heads" and "rows"; and "precise", the `precision_sentences`.
    """
    found = run.metrics.get("labels")
    if not found:
        return {}
    rows = [(label, [cell(scores[each]) for each in COLUMNS]) for label, scores in found.items()]
    return {"heads": list(COLUMNS.values()), "rows": rows, "precise": precision_sentences(run.metrics)}


def cell(value: float | int | None) -> str:
    """A number as the table shows it: '-' where it is undefined."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


MANY_CLASSES = 25  # classes from which on a table is folded


def run_page(evidence: RunEvidence, title: str) -> str:
    """The page as HTML. The same evidence gives the same page.

    Args:
        title: a title as plain text.
    """
    run, figures = evidence.run, Figures()
    body = render(
        PACKAGE, "run.html.jinja",
        title=title, about=rows_in_words(run), no_scores=NO_SCORES, **judged_parts(evidence, figures),
        curves=[figures.drawn(drawing, caption)
                for caption, drawing in history_drawings(run.history, run.metrics.get("best_step"))],
        wrong=evidence.wrong, errors=[error_card(each, evidence, figures.styles) for each in evidence.errors],
        explainers=evidence.explainers, estimated=run.predictions is not None and run.judge == "estimate",
        legend=legend(figures.styles) if any(each.explanation for each in evidence.errors) else [],
        words=[(run.labels[number], of_class) for number, of_class in evidence.words.items()],
        explained=evidence.explained, least=LEAST, folded=MANY_CLASSES,
        parts=[] if run.facts is None else list(run.facts["parts"]),
        facts=[] if run.facts is None else part_rows(run.facts),
        counts=[] if run.facts is None else class_count_rows(run.facts),
    )  # fmt: skip
    return framed(title, asset("words.css") + asset("run.css") + figures.styles.sheet(), body)


def judged_parts(evidence: RunEvidence, figures: Figures) -> dict[str, Any]:
    """What the page shows of the judged rows: scores, classes or labels, and reliability; each None without rows."""
    run, calibration = evidence.run, evidence.calibration
    if run.predictions is None or calibration is None:
        return dict.fromkeys(("scores", "confusions", "labels", "reliability"))
    return {
        "scores": score_parts(run, run.predictions, calibration),
        "confusions": class_parts(run, run.predictions, figures.styles) if run.predictions.decided is None else None,
        "labels": label_parts(run),
        "reliability": reliability_parts(run.predictions, calibration, figures),
    }


def reliability_parts(judged: Predictions, calibration: Calibration, figures: Figures) -> dict[str, Any]:
    """The reliability diagrams and the calibration errors, before and after the temperature.

    Where a text can have several labels, they are of the decisions about them.
    """
    values = {"before the temperature": calibration.before}
    if calibration.after is not None:
        values["after the temperature"] = calibration.after
    labels, kind = judged.labels, labels_of(judged.labels)
    scores = {name: kind.detailed(each, labels) for name, each in values.items()}
    return {
        "diagram": figures.drawn(
            diagrams({name: kind.reliability(each[None], labels) for name, each in values.items()}),
            joined("", reliability_caption(judged.decided is not None)),
        ),
        "calibration": calibration_in_words(calibration),
        "errors": [
            (name, f"{each['calibration_error']:.3f}", f"{each['equal_mass_calibration_error']:.3f}")
            for name, each in scores.items()
        ],
    }  # fmt: skip


@dataclass(frozen=True)
class ErrorCard:
    """An error as the page shows it.

    Attributes:
        error: the error.
        parts: the text, and the second one of a pair; each as its beginning and the rest.
        map: the explanation; None without one.
    """

    error: ShownError
    parts: list[tuple[str, str]]
    map: HeatMap | None


def error_card(shown: ShownError, evidence: RunEvidence, styles: Styles) -> ErrorCard:
    """An error with its text and, where there is one, its explanation."""
    texts = [shown.row[name] for name in ("text", "text_pair") if shown.row.get(name) is not None]
    maps = {} if shown.explanation is None else {"": shown.explanation}
    found = heat_maps_of_text(maps, evidence.explainers[0], styles, SHOWN)
    return ErrorCard(shown, [cut(text) for text in texts], found[0] if found else None)
