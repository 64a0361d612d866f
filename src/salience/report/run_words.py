"""Sentences and cells of the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.training.calibration_evidence import FOLDED, HALVES, Calibration
from salience.training.confusion import ConfusedPair
from salience.training.data_facts import training_rows_among
from salience.training.finished_run import FinishedRun, JudgedRows

ROWS = {"test": "test rows", "estimate": "labelled rows of the estimate", "validation": "validation rows"}
NO_SCORES = (
    "There are no scores: the run had neither test rows nor validation rows, and made no estimate. Name labelled rows "
    "that were not trained on with --test, or leave out --estimate none."
)
CORRECTED = (
    " The calibration error of few rows is too high by chance; its interval is corrected for this, and may lie below "
    "it."
)


def rows_in_words(run: FinishedRun) -> str:
    """Which rows the scores are of, and what the numbers may and may not be used for."""
    judged = run.judged
    if judged is None:
        return NO_SCORES
    count = f"{len(judged.labels):,} {ROWS[judged.kind]}"
    if shared := training_rows_among(run.facts, judged.kind):
        return f"The scores are of {count}. {shared}"
    if judged.kind == "test":
        return (
            f"The scores are of {count}, which had no part in the training: they say what to expect on new rows like "
            "these, and no longer do if the test rows are used to choose between runs."
        )
    if judged.kind == "estimate":
        return (
            f"The scores are of {count}, each predicted by a model that was trained without it: they say what to "
            "expect of a model like this one on new rows like these. They are not scores of the very model in this "
            "folder, which was trained on all of these rows, and become too high if many runs are compared by them."
        )
    return (
        f"The scores are of {count}, by which the checkpoint was chosen: they are likely to be too high, and may be "
        "used to compare runs, but not as an estimate of the scores on new rows."
    )


def intervals_in_words(judged: JudgedRows, calibration: Calibration) -> str:
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
