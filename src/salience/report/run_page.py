"""The report of a run as a page: scores, confusions, calibration, curves, errors, words of classes, and the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.metrics import confusion_matrix

from salience.explainers.class_words import LEAST
from salience.report.comparison_page import joined, reliability_caption
from salience.report.comparison_pictures import reliability_diagrams
from salience.report.page import Block, Card, Cell, Figure, Grid, Html, Section, Table, Title, legend, page_of
from salience.report.pictures import BLUE, COLOURS, GREY, GRID, Drawing, HoverTexts, Marks, Styles
from salience.report.run_evidence import FOLDED, HALVES, Calibration, RunEvidence, ShownError
from salience.runs.results import Run
from salience.runs.sentences import precision_sentences, training_rows_among
from salience.scores.intervals import Score
from salience.scores.labels import ERRORS, ONE_LABEL, SEVERAL_LABELS, labels_of
from salience.scores.metrics import ConfusedPair, confused_pairs
from salience.scores.predictions import Predictions

MANY_CLASSES = 25  # classes from which on a table is folded
MATRIX, PAIRS = 20, 20  # classes of a confusion matrix at most; pairs that are shown in place of a larger one
SCORES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "log_loss": "log loss",
          "calibration_error": "calibration error"}  # fmt: skip
COLUMNS = {
    "rows": "rows", "predicted": "predicted", "precision": "precision", "recall": "recall", "f1": "F1",
    "average_precision": "average precision", "log_loss": "log loss", "threshold": "threshold",
}  # fmt: skip
LOSSES = {"loss": "training loss", "validation_log_loss": "validation log loss"}
CURVES = {
    "validation_accuracy": "accuracy", "validation_macro_f1": "macro-F1", "validation_micro_f1": "micro-F1",
    "validation_ranking_precision": "ranking precision",
}  # fmt: skip
SIZE = (5.6, 3.0)  # inches of a curve
ROWS = {"test": "test rows", "estimate": "labelled rows of the estimate", "validation": "validation rows"}
NO_SCORES = (
    "There are no scores: the run had neither test rows nor validation rows, and made no estimate. Name labelled rows "
    "that were not trained on with --test, or leave out --estimate none."
)
CORRECTED = (
    " The calibration error of few rows is too high by chance; its interval is corrected for this, and may lie below "
    "it."
)
ABOUT_SEVERAL = (
    "A text can have several labels. Decisions are at the probability 0.5, or at the thresholds of the labels where "
    "the row says so. Subset accuracy is the share of the rows all of whose labels are right. The ranking precision "
    "needs no thresholds."
)


def run_page(evidence: RunEvidence, title: str) -> str:
    """The page as HTML. The same evidence gives the same page.

    Args:
        title: a title as plain text.
    """
    run, calibration, styles = evidence.run, evidence.calibration, Styles()
    judged, several = run.predictions, run.predictions is not None and run.predictions.decided is not None
    if judged is None or calibration is None:
        sections = [Section("scores", "Scores", [rows_in_words(run)])]
    else:
        sections = [
            Section("scores", "Scores", [rows_in_words(run), *scores_of(run, judged, calibration)]),
            Section("labels", "Labels", labels_of_run(run)),
            Section("confusions", "Classes", [] if several else classes_of(run, judged, styles)),
            Section("reliability", "Reliability", reliability_of(judged, calibration)),
        ]
    sections.append(Section("curves", "Training", curves_of(run), "Curves"))
    if judged is not None:
        sections.append(Section("errors", "The most confident errors", errors_of(evidence, several, styles), "Errors"))
        words = words_of(evidence, several) if evidence.explained else []
        sections.append(Section("words", f"Words that speak for a {'label' if several else 'class'}", words, "Words"))
    facts: list[Block] = ["The run has kept no facts on its data: it is one of a comparison that kept no model."]
    sections.append(Section("data", "Data", facts if run.facts is None else facts_of(run.facts)))
    shown = [section for section in sections if section.blocks]
    return page_of(title, "", shown, "run.css", explainer=evidence.explainers[0], styles=styles)


def folded(rows: Sequence[Any]) -> str:
    return f"{len(rows)} classes" if len(rows) > MANY_CLASSES else ""


def scores_of(run: Run, judged: Predictions, calibration: Calibration) -> list[Block]:
    """The table of scores, the model with 95 % intervals and the baselines, and how the intervals were made."""
    several = judged.decided is not None
    shown = SEVERAL_LABELS.shown if several else SCORES
    models = model_scores(run.judge, judged, calibration, int(run.recipe["seed"]))
    rows: list[list[str | Cell]] = []
    for name, scores in models.items():
        cells = [(f"{value:.3f}", interval) for value, interval in (scores[each] for each in shown)]
        rows.append([name, *(
            Cell(value, "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}")
            for value, interval in cells
        )])  # fmt: skip
    metrics = run.metrics["estimate"] if run.judge == "estimate" else run.metrics
    for baseline, values in metrics["baselines"].items():
        rows.append([baseline, *(f"{values[score]:.3f}" if score in values else "-" for score in shown)])
    intervals = intervals_in_words(judged, calibration)
    if any(not_within(scores["calibration_error"]) for scores in models.values()):
        intervals += CORRECTED
    return [Table(["", *shown.values()], rows), *([ABOUT_SEVERAL] if several else []), intervals]


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


def labels_of_run(run: Run) -> list[Block]:
    """The table of the labels; empty if each text has one label, or nothing was measured."""
    found = run.metrics.get("labels")
    if not found:
        return []

    def cell(value: float | int | None) -> str:
        return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.3f}"

    rows = [[label, *(cell(scores[each]) for each in COLUMNS)] for label, scores in found.items()]
    precise = precision_sentences(run.metrics)
    about = (
        "Rows have the label, and predicted ones get it. Thresholds are the probabilities from which on the model "
        "predicts a label."
    )
    if run.judge == "estimate" and not precise:
        about += " Here each half of the rows is decided by the thresholds that are best on the other half."
    return [Table(["label", *COLUMNS.values()], rows), about, *(f"{line[0].upper()}{line[1:]}." for line in precise)]


def classes_of(run: Run, judged: Predictions, styles: Styles) -> list[Block]:
    """The confusion matrix, or the most confused pairs if there are too many classes; and a row for each class."""
    labels = run.labels
    matrix = confusion_matrix(judged.labels, judged.predicted, labels=np.arange(len(labels)))
    blocks: list[Block] = []
    if len(labels) <= MATRIX:
        shares = (matrix / np.maximum(matrix.sum(1, keepdims=True), 1)).tolist()
        rows: list[list[str | Cell]] = [
            [label, *(
                Cell(f"{count:,}" if count else "", look=styles.shade(share if place == number else -share))
                for place, (count, share) in enumerate(zip(matrix[number].tolist(), shares[number], strict=True))
            )]
            for number, label in enumerate(labels)
        ]  # fmt: skip
        blocks += [
            "Number of rows by label (rows) and prediction (columns). The strength of a colour is the share of the "
            "rows of the label; errors are blue.", Table(["", *labels], rows, matrix=True),
        ]  # fmt: skip
    elif pairs := confused_pairs(matrix, PAIRS):
        named = [
            [labels[pair.label], labels[pair.predicted], f"{pair.rows:,}", f"{pair.rows / pair.of:.0%}"]
            for pair in pairs
        ]
        head = ["label", "prediction", "rows", "of the label"]
        blocks += [Title("The most confused classes"), Table(head, named, {1})]
    found = ONE_LABEL.class_scores(judged.probabilities, judged.labels)
    predicted, of_classes = np.bincount(judged.predicted, minlength=len(labels)), []
    for number, label in enumerate(labels):
        support = int(found["support"][number])
        known = {"precision": predicted[number], "recall": support, "f1": support + predicted[number]}
        cells = [f"{found[name][number]:.3f}" if defined else "-" for name, defined in known.items()]
        of_classes.append([label, *cells, f"{support:,}"])
    return [*blocks, Table(["class", "precision", "recall", "F1", "rows"], of_classes, folded=folded(of_classes))]


def reliability_of(judged: Predictions, calibration: Calibration) -> list[Block]:
    """The reliability diagrams and the calibration errors, before and after the temperature.

    Where a text can have several labels, they are of the decisions about them.
    """
    values = {"before the temperature": calibration.before}
    if calibration.after is not None:
        values["after the temperature"] = calibration.after
    labels, kind = judged.labels, labels_of(judged.labels)
    about = (
        "Each point holds about a tenth of the decisions about labels, one for each label of each row, ordered by the "
        "probability of the label. Below the diagonal, probabilities are too high."
        if kind.several
        else "Each point holds about a tenth of the rows, ordered by confidence, the highest probability of a row. "
        "Below the diagonal, the model is more confident than right."
    )
    diagrams = reliability_diagrams({name: kind.reliability(each[None], labels) for name, each in values.items()})
    rows = []
    for name, each in values.items():
        scores = kind.detailed(each, labels)
        rows.append([name, *(f"{scores[error]:.3f}" for error, _ in ERRORS)])
    return [
        f"{about} {calibration_in_words(calibration)}",
        Figure(joined("", reliability_caption(kind.several)), diagrams),
        Table(["calibration error", "bins of equal width", "bins of equal mass"], rows),
    ]


def curves_of(run: Run) -> list[Block]:
    """The loss and the validation scores over the steps; empty if there are none."""
    kinds = (
        (LOSSES, "Loss over the steps", "loss (nats)"),
        (CURVES, "Scores on the validation rows", "score"),
    )
    figures = [
        Figure(caption, Drawing(drawer(run.history, names, label, run.metrics.get("best_step")), SIZE))
        for names, caption, label in kinds
        if any(points(run.history, name)[0] for name in names)
    ]
    about = (
        "The training loss is what the training minimises, with mixed texts and all further terms, as a mean over the "
        "steps since the point before. It is comparable with that of runs with the same settings only, and not with a "
        "log loss."
    )
    return [about, Grid(figures)] if figures else []


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


def errors_of(evidence: RunEvidence, several: bool, styles: Styles) -> list[Block]:
    """The most confident errors with their texts, and where there is a model with their explanations."""
    errors = evidence.errors
    if not evidence.wrong:
        return [f"{'All decisions about labels are right' if several else 'All rows are predicted correctly'}."]
    explained = any(each.explanation for each in errors)
    about = f"{len(errors)} of {evidence.wrong:,} " + (
        "decisions about labels that are wrong, those whose probability is farthest from the threshold of the label "
        'first. "not" stands before a label that the row does not get.'
        if several
        else "rows that are predicted wrongly, those with the highest probability first."
    )
    about += " Errors of high confidence are often wrong labels."
    if evidence.run.judge == "estimate" and explained:
        about += (
            " Each was predicted by a model that was not trained on it; the heat map is by the model of this folder, "
            f"which was, for the same {'label' if several else 'class'}."
        )
    maps: Block = "There are no heat maps, because the folder has no model."
    if explained:
        words = Markup("Words by the explainer {}, as of <code>salience explain</code>, for the {}.")
        what = "label that is named" if several else "predicted class"
        maps = legend(words.format(evidence.explainers[0], what), styles)
    return [about, maps, *map(error_card, errors)]


def error_card(error: ShownError) -> Card:
    """An error with its text or, where there is one, its explanation."""
    row, threshold = error.row, error.threshold
    gets = threshold is None or error.label in row["predicted"]  # "not joy" of a label that the row does not get
    right = f"it is {row['label']}"
    if threshold is not None:
        right = f"it has {', '.join(row['label']) or 'no label'}"
    lead = Markup(
        "<div><strong>{}{}</strong> {:.3f} "
        '<span class="wrong">wrong: {}</span> <span class="row">row {}{}</span></div>'
    ).format(
        "" if gets else "not ", error.label, error.probability, right, row["row"],
        "" if threshold is None else f", threshold {threshold:.3f}",
    )  # fmt: skip
    if error.explanation is not None:
        return Card(lead, maps=[("", error.explanation)])
    return Card(lead, [("", row[name]) for name in ("text", "text_pair") if row.get(name) is not None])


def words_of(evidence: RunEvidence, several: bool) -> list[Block]:
    """The words that speak for each class or label."""
    kind, kinds = ("label", "labels") if several else ("class", "classes")
    about = (
        f"Mean score of a word by the explainer {evidence.explainers[1]}, in nats of ln p of the {kind}, over the "
        f"{evidence.explained} explained rows in which it occurs and the model predicts the {kind}; only words that "
        f"occur in {LEAST} of these rows or more, and the number of rows in brackets. Rows were drawn evenly from the "
        f"predicted {kinds}."
    )
    if evidence.run.judge == "estimate":
        about += " The model of this folder was trained on these rows."
    about += f" A word may be there because it is frequent in the {kind} by chance."
    if not evidence.words:
        return [about, f"No word occurs in {LEAST} of the explained rows of a {kind}."]
    item = Markup("<li>{} <small>{:.3g} ({})</small></li>")
    lists = (
        Markup("<div><h3>{}</h3>\n<ul>{}</ul></div>\n").format(
            evidence.run.labels[number], Markup().join(item.format(*word) for word in words)
        )
        for number, words in evidence.words.items()
    )
    return [about, Html(Markup('<div class="classes">{}</div>').format(Markup().join(lists)))]


def facts_of(facts: Mapping[str, Any]) -> list[Block]:
    """The parts of the data: their rows, lengths and repetitions; and the rows of each class."""
    parts = facts["parts"]

    def shares(name: str) -> list[str]:
        return [f"{part[name]:,} ({part[name] / part['rows']:.1%})" if name in part else "" for part in parts.values()]

    def tokens(name: str, form: str = ",") -> list[str]:
        return [format(part["tokens"][name], form) for part in parts.values()]

    rows = [
        ["rows", *(f"{part['rows']:,}" for part in parts.values())],
        ["tokens of a text, median", *tokens("median", ",.0f")],
        ["95 % of the texts have at most", *tokens("percentile_95")],
        ["longest text", *tokens("longest")],
        [f"longer than the {facts['max_length']:,} tokens that are read: cut", *shares("cut")],
        ["text is in an earlier row of the part", *shares("duplicates")],
        ["text is in the part with another label too", *shares("contradictions")],
        ["text is in the training rows", *shares("in_training")],
    ]
    for name, words in (("no_label", "no label"), ("several_labels", "two labels or more")):
        if any(name in part for part in parts.values()):
            rows.append([words, *shares(name)])
    counts = [
        [label, *(f"{part['classes'][label]:,}" for part in parts.values())] for label in parts["training"]["classes"]
    ]
    return [
        Table(["", *parts], rows),
        "Lengths are in tokens of the model, special tokens included, before texts are cut. Texts are the same if "
        "they are equal but for the space around them. Test rows whose text is in the training rows make the scores "
        "too high.",
        Table(["class", *parts], counts, folded=folded(counts)),
    ]


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
