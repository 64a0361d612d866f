"""The report of a run as a page: what it is worth, errors, confusions, thresholds, reliability, words and data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from salience.audit.doubtful import explained, places_of, share_on
from salience.classify import TextClassifier
from salience.data.corrected import PREDICTED, SHARES
from salience.data.marks import Mark
from salience.errors import InputError, counted, listed, one_line
from salience.explainers.class_words import EXPLAINED, LEAST, KeptWords, words_by_class
from salience.explainers.explain import explain_texts, explain_unasked
from salience.explainers.explanation import Explanation
from salience.explainers.integrated import IntegratedGradients
from salience.report.comparison_pictures import RELIABILITY, confusion_matrix, reliability_diagrams
from salience.report.page import (
    Block,
    Card,
    Cell,
    Facts,
    Figure,
    Folded,
    Grid,
    Legend,
    Lists,
    Marked,
    Phrase,
    Section,
    Table,
    Title,
    Verdict,
    has_signs,
    joined,
    page_of,
)
from salience.report.pictures import BLUE, COLOURS, DARK, GREY, Drawing, HoverTexts, Marks, name_lines
from salience.runs.card import file_name, sources_of, training_method, training_steps
from salience.runs.folder import METRICS, OUT_OF_FOLD
from salience.runs.results import Run, read_out_of_fold, read_rows, texts_of
from salience.runs.sentences import (
    HEAD_ALONE,
    estimated_by,
    label_threshold_sentences,
    left_out,
    of_hundred,
    precision_sentences,
    right_share,
    training_rows_among,
    verdict,
)
from salience.scores.intervals import Score
from salience.scores.labels import AT_THRESHOLDS, ERRORS, ONE_LABEL, SEVERAL_LABELS, labels_of
from salience.scores.metrics import HALF, confused_pairs
from salience.scores.predictions import Predictions
from salience.scores.thresholds import Curve, cross_thresholds

MANY_CLASSES = 25  # classes from which on a table is folded
MATRIX, PAIRS = 20, 20  # classes of a confusion matrix at most; pairs that are shown in place of a larger one
POINTS = 2  # of integrated gradients, for the words of classes; measured in docs/research/studies/explanations.md
SHOWN, WORDS = 20, 8  # errors that are shown, and words of a class
# Not gradient x input: where a model is certain, the gradient at the text is nearly 0, and its signs are noise.
OF_ERRORS, OF_WORDS = "gradient", "integrated-gradients"
SCORES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "log_loss": "log loss",
          "calibration_error": "calibration error"}  # fmt: skip
SPECIAL = {"log_loss": "log loss", "calibration_error": "calibration error"}  # which are folded away
COLUMNS = {
    "rows": "rows", "predicted": "predicted", "precision": "precision", "recall": "recall", "f1": "F1",
    "average_precision": "average precision", "log_loss": "log loss", "threshold": "threshold",
}  # fmt: skip
DRAWN, POINTS_OF_CURVE = 8, 150  # labels whose thresholds are drawn at most, and points of each curve
OF_THRESHOLD = {"precision": "precision", "recall": "recall", "share": "share of all rows"}
MOST_CORRECTED = 50  # corrected rows that are explained
OF_MARKS = {"marks": "words that decide", "ignore": "words that must not count"}
LOSSES = {"loss": "training loss", "validation_log_loss": "validation log loss"}
CURVES = {
    "validation_accuracy": "accuracy", "validation_macro_f1": "macro-F1", "validation_micro_f1": "micro-F1",
    "validation_ranking_precision": "ranking precision",
}  # fmt: skip
ROWS = {"test": "test rows", "estimate": "labelled rows of the estimate", "validation": "validation rows"}
# What the scores of the rows that a run is judged on may and may not be used for.
USE = {
    "test": (
        "Expect such scores on new rows like these: {} that had no part in the training. That no longer holds once "
        "the test rows are used to choose between runs."
    ),
    "estimate": (
        "Expect such scores of a model like this one on new rows: {}, each predicted by a model that was trained "
        "without it. The model in this folder was trained on all of these rows. The scores become too high if many "
        "runs are compared by them."
    ),
    "validation": (
        "These scores are likely too high: the checkpoint was chosen by the same {}. Use them to compare runs, not to "
        "say what to expect on new rows."
    ),
}
NO_SCORES = (
    "There are no scores: the run had no test rows, no validation rows and no estimate. Give labelled rows that it is "
    "not trained on with --test, or leave out --estimate none."
)
CORRECTED = (
    "With few rows the calibration error is too high by chance. Its interval is corrected for that and may lie below "
    "it."
)
ABOUT_SEVERAL = (
    "The texts are multi-label. A label is predicted from the probability 0.5 on, or from its own threshold on where "
    "the row says so. Subset accuracy is the share of rows with all labels right. The ranking precision needs no "
    "thresholds."
)


@dataclass(frozen=True)
class Calibration:
    """Probabilities of the judged rows, all (N, C).

    Attributes:
        before: without the temperature.
        after: with it; None if there are too few rows.
        deployed: those that stand for the model in the run folder.
        about: where the temperature comes from.
    """

    before: np.ndarray
    after: np.ndarray | None
    deployed: np.ndarray
    about: str


def run_page(run: Run, classifier: TextClassifier | None, title: str) -> tuple[str, KeptWords | None]:
    """The page as HTML, and the words that speak for the labels; the same run gives the same page.

    Args:
        classifier: of the run; None leaves explanations out.
        title: a title as plain text.

    Raises:
        InputError: a file of the run is damaged.
    """
    judged, words, explainer = run.predictions, None, OF_ERRORS
    sections: list[Section] = []
    if judged is None:
        sections.append(Section("scores", "Scores", [NO_SCORES]))
    else:
        if classifier is not None and classifier.labels != run.labels:
            raise InputError(f"{run.folder}: the model has other labels than {run.judged_file}: train it again")
        several, calibration = labels_of(judged.labels).several, calibration_of(run, judged)
        errors, explainer = errors_of(run, judged, classifier)
        kind, speaking = "label" if several else "class", list[Block]()
        if classifier is not None:
            try:
                words = class_words(run, judged, classifier)
            except Exception as error:  # not occlusion instead, which takes a pass for each word of all these rows
                if isinstance(error, InputError):
                    raise
                speaking = [f"No words were found: {one_line(f'{type(error).__name__}: {error}', 200)}."]
        if words is not None:
            speaking = words_of(words, kind, run.judge == "estimate")
        sections += [
            Section("scores", "Scores", [rows_in_words(run, judged), *scores_of(run, judged, calibration)]),
            Section("errors", "The most confident errors", errors),
            Section("confusions", "Classes", [] if several else classes_of(run.labels, judged)),
            Section("labels", "Labels", labels_of_run(run)),
            Section("thresholds", "Thresholds", thresholds_of(run)),
            Section("reliability", "Reliability", reliability_of(judged, calibration)),
            Section("words", f"Words that speak for a {kind}", speaking),
        ]
    sections.insert(1, Section("corrected", "Corrected rows", corrected_of(run, classifier)))
    facts: list[Block] = [
        "The folder has no facts about the training data: runs of a comparison and other libraries' models lack them."
    ]
    sections += [
        Section("curves", "Training", curves_of(run)),
        Section("data", "Data", facts if run.facts is None else facts_of(run.facts)),
    ]
    shown = [section for section in sections if section.blocks]
    return page_of(title, "", shown, "run.css", head_of(run), explainer), words


def head_of(run: Run) -> list[Block]:
    """What the run is worth in one sentence; and what it is of, when and how it was made, and how it was judged."""
    metrics, judged, seed = run.metrics, run.predictions, int(run.recipe["seed"])
    facts, blocks = [], list[Block]()
    if judged is not None:
        blocks.append(Verdict(verdict(metrics, run.labels, judged, seed)))
    if "data" in run.recipe:
        rows = f": {metrics['rows']['training']:,} rows" if "training" in metrics.get("rows", {}) else ""
        facts.append(("data", f"{trained_on(run)}{rows}, {len(run.labels)} classes"))
        how = training_method(run.recipe)
        if "steps" in metrics:
            how = f"{how}, {training_steps(run.recipe, metrics)}" if metrics["steps"] else HEAD_ALONE
        facts.append(("model", f"{file_name(run.recipe['model'])}, {how}"))
    written = datetime.fromtimestamp((run.folder / METRICS).stat().st_mtime, UTC)
    facts.append(("when", f"{written:%Y-%m-%d %H:%M} UTC"))
    if judged is not None and run.judge != "estimate":
        share, interval = right_share(judged, seed)
        source = file_name(other) if (other := run.recipe[run.judge]) else trained_on(run)
        facts.append((run.judge, f"{share} of 100 right, {interval}, on {len(judged):,} rows of {source}"))
    if (estimate := metrics.get("estimate")) is not None:
        facts.append(("estimate", estimate_in_words(estimate)))
    return [*blocks, Facts(facts)]


def trained_on(run: Run) -> str:
    """The names of the files of the training rows."""
    return listed(map(file_name, sources_of(run.recipe)), 3)


def estimate_in_words(estimate: Mapping[str, Any]) -> str:
    """ "91 of 100 right, 86 to 94, on 200 labelled rows, each new to its model (5-fold cross-validation)"."""
    score = "accuracy" if "accuracy" in estimate else f"subset_accuracy{AT_THRESHOLDS}"
    bounds = estimate.get(f"{score}_interval")
    interval = "" if bounds is None else f", {of_hundred(bounds[0])} to {of_hundred(bounds[1])}"
    rows = f"{estimate['rows']:,} labelled rows, each new to its model ({estimated_by(estimate['kind'])})"
    return f"{of_hundred(estimate[score])} of 100 right{interval}, on {rows}"


def rows_in_words(run: Run, judged: Predictions) -> str:
    count = f"{len(judged.labels):,} {ROWS[run.judge]}"
    if left := left_out(run.metrics):
        count += f" ({left})"
    if shared := training_rows_among(run.facts, run.judge):
        return f"{shared} They are of {count}."
    return USE[run.judge].format(count)


def calibration_of(run: Run, judged: Predictions) -> Calibration:
    """The probabilities of the judged rows before and after the temperature."""
    own, kind, estimate = judged.probabilities, labels_of(judged.labels), run.metrics.get("estimate", {})
    estimated, calibrated = run.judge == "estimate", bool(estimate.get("calibrated"))
    fitted = estimate if estimated or calibrated else run.metrics
    temperature = fitted.get("temperature_scaling", {}).get("temperature")  # none of runs without validation rows
    if calibrated and not estimated:
        about = f"The model is calibrated by a temperature of {temperature:.2f}, fitted on the estimate's predictions."
        return Calibration(kind.with_temperature(own, 1 / temperature), own, own, about)
    if run.judge == "test" and "validation" in run.metrics:
        about = f"The temperature of {temperature:.2f} was fitted on the validation rows. The saved model lacks it."
        return Calibration(own, kind.with_temperature(own, temperature), own, about)
    groups, seed = (judged.groups, int(run.recipe["seed"])) if estimated else (None, 0)
    after = kind.cross_scaled(own, judged.labels, groups, seed)
    if after is None:
        return Calibration(own, None, own, "There are too few rows to fit a temperature.")
    about = "Each half of the rows is scaled by the temperature that was fitted on the other half."
    if temperature is not None:
        about += f" The temperature of all rows is {temperature:.2f}."
    return Calibration(own, after, after if estimated and calibrated else own, about)


def scores_of(run: Run, judged: Predictions, calibration: Calibration) -> list[Block]:
    """The table of scores, the model with 95 % intervals and the baselines, and how the intervals were made.

    There is a row for the model without temperature, or with thresholds of the labels, if its scores differ.
    """
    name = "models like this one" if run.judge == "estimate" else "this model"
    labels, groups, seed = judged.labels, judged.groups, int(run.recipe["seed"])
    kind, deployed = labels_of(labels), calibration.deployed
    several = kind.several
    scaled = deployed is not judged.probabilities
    models = {name: kind.scored(deployed, labels, kind.decisions(deployed), groups, seed)}
    if scaled and not several:
        before = kind.scored(judged.probabilities, labels, kind.decisions(judged.probabilities), groups, seed)
        models[f"{name}, uncalibrated"] = before
    if judged.decided is not None and (judged.decided != kind.decisions(deployed)).any():
        models[f"{name}, thresholds of the labels"] = kind.scored(deployed, labels, judged.decided, groups, seed)
    metrics = run.metrics["estimate"] if run.judge == "estimate" else run.metrics

    def table(shown: Mapping[str, str]) -> Table:
        rows: list[list[str | Cell]] = [
            [model, *(score_cell(scores[each]) for each in shown)] for model, scores in models.items()
        ]
        for baseline, values in metrics["baselines"].items():
            rows.append([baseline, *(f"{values[score]:.3f}" if score in values else "-" for score in shown)])
        return Table(["", *shown.values()], rows)

    every = SEVERAL_LABELS.shown if several else SCORES
    special = {score: title for score, title in every.items() if score in SPECIAL}
    unit = "rows" if groups is None else "groups of rows"
    about = (
        f"95 % intervals over {unit}: how far the scores would vary with other {unit} like these. They do not cover "
        "another seed or other training rows."
    )
    further = []
    if scaled:
        further.append(
            f"{'The calibration error is' if several else 'Log loss and calibration error are'} those of the "
            "calibrated model: each half of the rows is scaled by the temperature that was fitted on the other half."
        )
    if any(not_within(scores["calibration_error"]) for scores in models.values()):
        further.append(CORRECTED)
    folded: list[Block] = [table(special), *([" ".join(further)] if further else [])]
    return [
        table({score: title for score, title in every.items() if score not in SPECIAL}),
        *([ABOUT_SEVERAL] if several else []), about, Folded(joined("", " and ".join(special.values())), folded),
    ]  # fmt: skip


def score_cell(score: Score) -> Cell:
    interval = "" if score.interval is None else f"{score.interval[0]:.3f} to {score.interval[1]:.3f}"
    return Cell(f"{score.value:.3f}", interval)


def not_within(score: Score) -> bool:
    """Whether a score is outside its own interval, as a reader of the table sees it: with three digits."""
    if score.interval is None:
        return False
    low, value, high = (round(number, 3) for number in (score.interval[0], score.value, score.interval[1]))
    return not low <= value <= high


def corrected_of(run: Run, classifier: TextClassifier | None) -> list[Block]:
    """The corrected rows before and after, as far as it is known; empty without corrections."""
    rows = run.corrected
    if not rows:
        return []
    right = [set(row["predicted"]) == set(row["label"]) for row in rows]
    before = [set(row["before"][PREDICTED]) == set(row["label"]) for row in rows if PREDICTED in row["before"]]
    after = [own for own, row in zip(right, rows, strict=True) if PREDICTED in row["before"]]
    table, said = [], []
    if before:
        table.append(["rows predicted right", f"{sum(before)} of {len(before)}", f"{sum(after)} of {len(after)}"])
        said.append(f"{sum(after)} of {len(after)} corrected rows are predicted right, {sum(before)} before")
    if others := len(rows) - len(before):
        known = f"{sum(right) - sum(after)} of {others}"
        table.append([f"{'other ' * bool(before)}rows predicted right", "-", known])
        said.append(f"{known} {'other ' * bool(before)}corrected rows are predicted right")
    shares, explained_rows = shares_of(rows, classifier), 0
    for role, name in OF_MARKS.items():
        pairs = [pair for pair in shares[role] if pair[0] is not None] or shares[role]
        if not pairs:
            continue
        explained_rows = max(explained_rows, len(pairs))
        earlier, now = ("-" if None in each else f"{100 * np.mean(each):.0f} %" for each in zip(*pairs, strict=True))
        table.append([f"share of the explanation on {name}", earlier, now])
        said.append(f"{name} have {now} of the explanation" + f", {earlier} before" * (earlier != "-"))
    about = "After: each row is predicted by a model of the estimate that was trained without it."
    if all(row.get("fold") is None for row in rows):
        about = (
            "After: the rows are predicted by the model of this folder, which was trained on them. So this does not "
            "say what to expect on new rows. An estimate would."
        )
    if before:
        about += (
            " Before: what the page of salience correct showed; rows of an estimate by models trained without them. "
            "The rows were chosen for being doubtful, and any new model may change some of them."
        )
    if explained_rows:
        about += (
            f" Shares are of the absolute scores by {OF_WORDS} for the most probable label, means over at most "
            f"{counted(explained_rows, 'row')} with such words. After, they are by the model of this folder, which "
            "was trained on these rows."
        )
    return [Verdict(joined("", "; ".join(said))), Table(["", "before", "after"], table), about]


def shares_of(
    rows: Sequence[Mapping[str, Any]], classifier: TextClassifier | None
) -> dict[str, list[tuple[float | None, float]]]:
    """The shares of the explanation on marked words, before and after, of the first corrected rows that have some."""
    found: dict[str, list[tuple[float | None, float]]] = {role: [] for role in OF_MARKS}
    marked = [row for row in rows if row["marks"] or row["ignore"]][:MOST_CORRECTED]
    if not marked or classifier is None:
        return found
    texts = texts_of(marked)
    try:
        explanations = explained(classifier, texts)
    except Exception as error:  # as the words of classes: a report costs no run
        if isinstance(error, InputError):
            raise
        return found
    for row, explanation, *own in zip(marked, explanations, *texts.columns, strict=True):
        places = places_of(explanation, own, [classifier.word_spans(text) for text in own])
        for role in OF_MARKS:
            share = share_on(explanation, places, [Mark(*mark) for mark in row[role]])
            if share is not None:
                found[role].append((row["before"].get(SHARES[role]), share))
    return found


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
        "rows: how many have the label; predicted: how many get it. A label is predicted if its probability reaches "
        "the threshold."
    )
    if run.judge == "estimate" and not precise and "label_threshold" not in run.metrics:
        about += " Here each half of the rows is decided by the thresholds that are best on the other half."
    return [Table(["label", *COLUMNS.values()], rows), about, *(f"{joined('', line)}." for line in precise)]


def classes_of(labels: list[str], judged: Predictions) -> list[Block]:
    """The confusion matrix, or the most confused pairs if there are too many classes; and a row for each class."""
    decided = judged.decisions.astype(float)
    counts = ONE_LABEL.confusion(decided[None], judged.labels)
    blocks: list[Block] = []
    if len(labels) <= MATRIX:
        about = (
            "Lines are labels, columns predictions, numbers rows. Right answers are blue, errors red; the stronger "
            "the colour, the larger the share of the label."
        )
        blocks += [about, confusion_matrix("", labels, counts)]
    elif pairs := confused_pairs(counts, PAIRS):
        named = [
            [labels[pair.label], labels[pair.predicted], f"{pair.rows:,.0f}", f"{pair.rows / pair.of:.0%}"]
            for pair in pairs
        ]
        head = ["label", "prediction", "rows", "of the label"]
        blocks += [Title("The most confused classes"), Table(head, named, {1})]
    found = ONE_LABEL.class_scores(decided, judged.labels)
    predicted, of_classes = np.bincount(judged.predicted, minlength=len(labels)), []
    for number, label in enumerate(labels):
        support = int(found["support"][number])
        known = {"precision": predicted[number], "recall": support, "f1": support + predicted[number]}
        cells = [f"{found[name][number]:.3f}" if defined else "-" for name, defined in known.items()]
        of_classes.append([label, *cells, f"{support:,}"])
    return [*blocks, Table(["class", "precision", "recall", "F1", "rows"], of_classes, folded=folded(of_classes))]


def folded(rows: Sequence[Any]) -> str:
    return f"{len(rows)} classes" if len(rows) > MANY_CLASSES else ""


def reliability_of(judged: Predictions, calibration: Calibration) -> list[Block]:
    """The reliability diagrams and the calibration errors, before and after the temperature.

    Where texts are multi-label, they are of the decisions about them.
    """
    values = {"before calibration": calibration.before}
    if calibration.after is not None:
        values["after calibration"] = calibration.after
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
        f"{about} {calibration.about}",
        Figure(joined("", RELIABILITY[kind.several]), diagrams),
        Folded("The calibration error", [
            Table(["calibration error", "bins of equal width", "bins of equal mass"], rows)
        ]),
    ]  # fmt: skip


def thresholds_of(run: Run) -> list[Block]:
    """What labels are by their thresholds, on the rows of the estimate; empty without these, and where none has it."""
    if not (run.folder / OUT_OF_FOLD[1]).is_file():
        return []
    found = read_out_of_fold(run.folder, "the report")
    probabilities, labels = found.independent(int(run.recipe["seed"]))
    right = labels_of(labels).right(labels, len(found.names))
    frequent = np.argsort(-right.sum(0), kind="stable")[:DRAWN].tolist()
    saved = run.metrics.get("label_threshold", {})
    if saved and (kept := found.names.index(saved["label"])) not in frequent:
        frequent[-1] = kept
    figures = []
    for number in frequent:
        if (own := right[:, number]).any():
            name = found.names[number]
            drawing = threshold_drawing(
                Curve.of(probabilities[:, number], own), saved if name == saved.get("label") else {}
            )
            figures.append(Figure(name, drawing))
    if not figures:
        return []
    which = "" if len(frequent) == len(found.names) else f" Shown are {len(frequent)} of {len(found.names)} labels."
    about = (
        f"Precision and recall of a label that is predicted from a threshold on, by {len(labels):,} out-of-fold "
        "predictions. Bands are Wilson's 95 % intervals, each for its own threshold: the best of many looks better "
        f"than it is.{which} salience thresholds prints the numbers and finds a threshold for a precision, a recall "
        "or a cost."
    )
    lines = [f"{joined('', line)}." for line in label_threshold_sentences(run.metrics)]
    if lines and not labels_of(labels).several:
        lines.append("All other scores and errors on this page are of the most probable label, without the threshold.")
    return [about, Grid(figures), *lines]


def threshold_drawing(curve: Curve, saved: Mapping[str, Any]) -> Drawing:
    """Precision, recall and share of the predicted rows over the threshold, and the one that is saved."""
    # Of thresholds that are drawn at one place, the highest: with many labels, most are near 0.
    _, first = np.unique((curve.values * POINTS_OF_CURVE).round(), return_index=True)
    places = sorted({*first.tolist(), len(curve.values) - 1})
    values, numbers = curve.values[places], [curve.numbers(place) for place in places]

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for (name, title), ink in zip(OF_THRESHOLD.items(), (BLUE, COLOURS[2], GREY), strict=True):
            heights = [each[name] for each in numbers]
            # Up to a candidate, rows are decided as by the candidate.
            (line,) = axes.step(
                values, heights, ".-", where="post", color=ink, markersize=2, linewidth=1.2, label=title
            )
            if name != "share":
                low, high = zip(*(each[f"{name}_interval"] for each in numbers), strict=True)
                axes.fill_between(values, low, high, step="post", color=ink, alpha=0.15, linewidth=0)
            texts[line] = [
                f"from {value:.4g} on: {title} {height:.3f}" for value, height in zip(values, heights, strict=True)
            ]
        if saved:
            axes.axvline(saved["threshold"], color=DARK, linestyle="--", linewidth=1, label="saved threshold")
        axes.set(xlabel="threshold", xlim=(0, 1), ylim=(0, 1.02))
        axes.legend()
        return texts

    return Drawing(draw, (5.6, 3.0))


def curves_of(run: Run) -> list[Block]:
    """The loss and the validation scores over the steps; empty if there are none."""
    figures = []
    for names, caption, axis in (
        (LOSSES, "Loss over the steps", "loss (nats)"),
        (CURVES, "Scores on the validation rows", "score"),
    ):
        curves = {title: curve for name, title in names.items() if (curve := curve_of(run.history, name))}
        if curves:
            figures.append(Figure(caption, drawing_of(curves, axis, run.metrics.get("best_step"))))
    about = (
        "The training loss is what training minimises, mixed texts and all further terms included, as a mean over the "
        "steps since the last point. Compare it only between runs with the same settings, and never with a log loss."
    )
    return [Folded("The loss and the scores over the steps", [about, Grid(figures)])] if figures else []


def curve_of(history: Sequence[Mapping[str, Any]], name: str) -> dict[int, float]:
    """A number by the step at which it was measured; those that are not finite are left out."""
    return {point["step"]: point[name] for point in history if point.get(name) is not None}


def drawing_of(curves: Mapping[str, Mapping[int, float]], axis: str, best: int | None) -> Drawing:
    """A line for each number, and the step whose weights were kept."""

    def draw(axes: Axes) -> HoverTexts:
        texts: dict[Marks, list[str]] = {}
        for (title, curve), ink in zip(curves.items(), COLOURS, strict=False):
            (line,) = axes.plot([*curve], [*curve.values()], "o-", color=ink, markersize=3, label=title)
            texts[line] = [f"step {step:,}: {title} {value:.3f}" for step, value in curve.items()]
        if best is not None:
            axes.axvline(best, color=GREY, linestyle="--", linewidth=1)
            axes.annotate(
                "selected checkpoint", (best, 1), (0, 2), ("data", "axes fraction"), "offset points", color=GREY,
                fontsize="small", ha="center",
            )  # fmt: skip
        shown = [value for curve in curves.values() for value in curve.values()]
        margin = max(0.05 * float(np.ptp(shown)), 0.005)
        axes.set_ylim(max(min(shown) - margin, 0), max(shown) + margin)
        axes.set(xlabel="step", ylabel=axis)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(axis="y")
        name_lines(axes)
        return texts

    return Drawing(draw, (6, 3))


def errors_of(run: Run, judged: Predictions, classifier: TextClassifier | None) -> tuple[list[Block], str]:
    """The most confident errors with their texts, and where there is a model with their explanations; the explainer.

    Where a text has one label, an error is a wrong prediction, and its confidence the probability of the predicted
    class. Where it can have several, each wrong decision about a label is an error, and its confidence the distance of
    the probability from the threshold of the label.
    """
    thresholds = decision_thresholds(run, judged)
    if thresholds is None:
        wrong = judged.decisions & (judged.predicted != judged.labels)[:, None]
        confidence = judged.probabilities
    else:
        wrong, confidence = judged.decisions != judged.labels, np.abs(judged.probabilities - thresholds)
    places, targets = np.nonzero(wrong)
    if not len(places):
        all_right = (
            "All rows are predicted correctly" if thresholds is None else "All decisions about labels are right"
        )
        return [f"{all_right}."], OF_ERRORS
    shown = np.argsort(-confidence[places, targets], kind="stable")[:SHOWN]
    about = f"{len(shown)} of {len(places):,} " + (
        "wrong predictions, those with the highest probability first."
        if thresholds is None
        else "wrong decisions about labels, those whose probability is farthest from the threshold of the label "
        'first. "not" stands before a label that the row does not get.'
    )
    about += " A confident error is often a wrong label in the data."
    places, targets = places[shown], targets[shown]
    rows = read_rows(run.folder, places.tolist(), run.judged_file)
    explanations: dict[int, Explanation] | None = None
    block: Block = "There are no heat maps, because the folder has no model."
    used = OF_ERRORS
    if classifier is not None:
        explanations, told = explain_unasked(
            lambda name, explainer: explained_errors(rows, targets, classifier, {name: explainer}), OF_ERRORS
        )
        block = f"There are no heat maps: {told}."
    if explanations is not None:
        used = told
        what = "predicted class" if thresholds is None else "label that is named"
        signed = has_signs(explanations.values(), used)
        block = Legend(f"Words by the explainer {used} for the {what}, as salience explain shows them.", signed)
        if run.judge == "estimate":
            about += (
                " Each was predicted by a model that was trained without it. The heat map shows the model of this "
                f"folder, which was trained on it, for the same {'class' if thresholds is None else 'label'}."
            )
    cards = []
    for number, (row, place, target) in enumerate(zip(rows, places, targets, strict=True)):
        name, right, of_row = run.labels[target], f"it is {row['label']}", f"row {row['row']}"
        if "file" in row:
            of_row += f" of {row['file']}"
        if thresholds is not None:
            right = f"it has {', '.join(row['label']) or 'no label'}"
            name = name if name in row["predicted"] else f"not {name}"
            of_row += f", threshold {thresholds[place, target]:.3f}"
        probability = f" {judged.probabilities[place, target]:.3f} "
        lead: Phrase = [Marked(name), probability, Marked(f"wrong: {right}", "wrong"), " ", Marked(of_row, "row")]
        if explanations is not None:
            cards.append(Card(lead, maps=[("", explanations[number])]))
        else:
            cards.append(Card(lead, [("", row[name]) for name in ("text", "text_pair") if row.get(name) is not None]))
    return [about, block, *cards], used


def explained_errors(
    rows: Sequence[Mapping[str, Any]], targets: np.ndarray, classifier: TextClassifier,
    explainers: Mapping[str, Callable],
) -> dict[int, Explanation]:  # fmt: skip
    """The explanations of rows by their places, each for its class of `targets` (N,)."""
    found: dict[int, Explanation] = {}
    for target in np.unique(targets).tolist():
        own = np.flatnonzero(targets == target).tolist()
        texts = texts_of([rows[number] for number in own])
        found |= zip(own, explain_texts(classifier, texts, explainers, target), strict=True)
    return found


def decision_thresholds(run: Run, judged: Predictions) -> np.ndarray | None:
    """The thresholds (N, C) that decided about each label of each judged row; None where a text has one label.

    In an estimate, the thresholds of a row are those that are best on the other half of the rows; for a target
    precision, those that all rows have found.
    """
    if judged.decided is None or not labels_of(judged.labels).several:
        return None
    if run.judge != "estimate" or "label_precision" in run.metrics["estimate"] or "label_threshold" in run.metrics:
        own = [run.metrics["labels"][label]["threshold"] for label in run.labels]
        return np.broadcast_to(np.array(own), judged.labels.shape)
    if not run.metrics["estimate"]["label_thresholds"]:
        return np.full(judged.labels.shape, HALF)
    return cross_thresholds(judged.probabilities, judged.labels, judged.groups, int(run.recipe["seed"]))


def class_words(run: Run, judged: Predictions, classifier: TextClassifier) -> KeptWords | None:
    """The words that speak for each class or label; None if no row gets one."""
    chosen = spread_rows(judged.decisions, EXPLAINED)
    if not chosen:
        return None
    texts = texts_of(read_rows(run.folder, chosen, run.judged_file))
    explained = explain_texts(classifier, texts, {OF_WORDS: IntegratedGradients(POINTS)})
    words = words_by_class((each for each in explained if each.is_predicted), OF_WORDS, WORDS)
    return KeptWords(OF_WORDS, len(chosen), {run.labels[number]: each for number, each in words.items()})


def spread_rows(decisions: np.ndarray, most: int) -> list[int]:
    """At most so many rows, drawn evenly from the predicted labels (N, C), always the same ones; in order.

    Rows that get no label are left out.
    """
    draw = np.random.default_rng(0).permutation(len(decisions))
    turn = np.full(len(draw), len(draw))  # of a row among those of its label, of several labels the earliest one
    for of_label in decisions.T:
        own = draw[of_label[draw]]
        turn[own] = np.minimum(turn[own], np.arange(len(own)))
    in_turn = draw[np.argsort(turn[draw], kind="stable")]
    return sorted(in_turn[turn[in_turn] < len(draw)][:most].tolist())


def words_of(words: KeptWords, kind: str, estimated: bool) -> list[Block]:
    """The words that speak for each class or label, which `kind` calls so."""
    about = (
        f"Mean score of a word by the explainer {words.explainer} (nats of ln p of the {kind}), over the rows that "
        f"contain it and are predicted as the {kind}. Brackets: the number of these rows, at least {LEAST}. "
        f"{words.explained} rows were explained, sampled evenly from the predicted "
        f"{'labels' if kind == 'label' else 'classes'}."
    )
    if estimated:
        about += " The model of this folder was trained on these rows."
    about += f" A word may be listed because it is frequent in the {kind} by chance."
    if not words.words:
        return [about, f"No word occurs in {LEAST} of the explained rows of a {kind}."]
    lists = {
        label: [(word, f"{score:.3g} ({texts})") for word, score, texts in found]
        for label, found in words.words.items()
    }
    return [Lists(lists), Folded("How the words were found", [about])]


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
        [f"cut, longer than {facts['max_length']:,} tokens", *shares("cut")],
        ["text repeats an earlier row", *shares("duplicates")],
        ["text also has another label", *shares("contradictions")],
        ["text is in the training rows too", *shares("in_training")],
    ]
    for name, words in (("no_label", "no label"), ("several_labels", "two labels or more")):
        if any(name in part for part in parts.values()):
            rows.append([words, *shares(name)])
    counts = [
        [label, *(f"{part['classes'][label]:,}" for part in parts.values())] for label in parts["training"]["classes"]
    ]
    return [
        Table(["", *parts], rows),
        "Lengths are in tokens of the model, special tokens included, before texts are cut. Space around a text does "
        "not count. Test rows that are in the training rows too make the scores too high.",
        Table(["class", *parts], counts, folded=folded(counts)),
    ]
