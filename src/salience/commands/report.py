"""`salience report`: the report of a run, made from what its folder holds; `salience train` makes it too."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from salience.comparison.kept_runs import read_rows
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers.class_words import KEPT, POINTS, KeptWords, words_by_class
from salience.explainers.explanation import Explanation
from salience.explainers.explanations import explain_texts
from salience.explainers.gradient import gradient
from salience.explainers.integrated import IntegratedGradients
from salience.files import write_whole
from salience.inference import TextClassifier, load
from salience.outputs import locked, resolved
from salience.report.run_page import RunEvidence, ShownError, run_page
from salience.report.run_words import pair_in_words
from salience.report.terminal import say
from salience.training.calibration_evidence import calibration_of
from salience.training.confident_errors import confident_errors, decision_thresholds
from salience.training.confusion import confused_pairs
from salience.training.finished_run import FinishedRun, read_finished_run
from salience.training.manifest import MANIFEST, add_to_manifest, written_by_run

REPORT = "report.html"
ERRORS, EXPLAINED, WORDS = 20, 200, 8  # errors that are shown, rows that are explained for the words, words of a class


def report_run(folder: str) -> None:
    """Makes the report of a run again.

    Raises:
        InputError: the folder is no run, its files are damaged, or it has a report that salience has not written.
    """
    run = read_finished_run(folder)
    has_model = any(run.folder.glob("*.safetensors"))
    precision = run.recipe.get("precision")
    classifier = (
        load(run.folder, precision=precision if precision in ("fp32", "bf16") else "fp32") if has_model else None
    )
    for line in confused_lines(run):
        say(line)
    say(f"report: {write_report(run, classifier)}")


def write_report(run: FinishedRun, classifier: TextClassifier | None) -> Path:
    """Writes the report and the words of the classes into the folder of the run and its manifest. Gives its path.

    Args:
        classifier: of the run; None makes a report without explanations.

    Raises:
        InputError: there is a report that salience has not written, another process writes the run, or a file of the
            run is damaged.
    """
    place = resolved(run.folder)
    written = written_by_run(place)
    if not (written and (place / MANIFEST).is_file()):
        raise InputError(f"{run.folder} has no {MANIFEST}: an earlier version made this run; train it again")
    for name in (REPORT, KEPT):
        if os.path.lexists(place / name) and name not in written:
            raise InputError(f"{place / name} was not written by salience and is not replaced: move it elsewhere")
    found = report_files(run, classifier, place.name)
    with locked(place):
        add_to_manifest(place, *found)  # first: a file that the manifest lists may be missing, but not the reverse
        for name, content in found.items():
            write_whole(place / name, content)
    return run.folder / REPORT


def add_report(folder: Path, name: str, classifier: TextClassifier) -> None:
    """Writes the same files into the folder of a run that is about to get its name.

    Raises:
        InputError: a file of the run is damaged.
        OSError: a file cannot be written.
    """
    for file, content in report_files(read_finished_run(folder), classifier, name).items():
        (folder / file).write_text(content, encoding="utf-8")


def report_files(run: FinishedRun, classifier: TextClassifier | None, name: str) -> dict[str, str]:
    """The report of a run, and the words of its labels if texts are explained: names and contents of files.

    Args:
        classifier: of the run; None makes a report without explanations.
        name: of the run, for the title.
    """
    evidence = run_evidence(run, classifier)
    found = {REPORT: run_page(evidence, f"Report of {name}")}
    if evidence.explained:
        words = {run.labels[number]: each for number, each in evidence.words.items()}
        kept = KeptWords(evidence.explainers[1], evidence.explained, words).as_json()
        found[KEPT] = json.dumps(kept, indent=2) + "\n"
    return found


def run_evidence(run: FinishedRun, classifier: TextClassifier | None) -> RunEvidence:
    """What the report shows.

    Args:
        classifier: of the run; None leaves explanations out.

    Raises:
        InputError: a file of the run is damaged.
    """
    judged = run.judged
    if judged is None:
        return RunEvidence(run)
    if classifier is not None and classifier.labels != run.labels:
        raise InputError(f"{run.folder}: the model has other labels than {judged.file}: train it again")
    thresholds = decision_thresholds(run, judged)
    wrong, of_labels = confident_errors(judged, thresholds)
    shown, targets = wrong[:ERRORS], of_labels[:ERRORS]
    rows = read_rows(run.folder, shown.tolist(), judged.file)
    explanations = explained_errors(classifier, rows, targets)
    errors = [
        ShownError(
            row, run.labels[target], float(judged.probabilities[place, target]), explanation,
            None if thresholds is None else float(thresholds[place, target]),
        )
        for row, place, target, explanation in zip(rows, shown, targets, explanations, strict=True)
    ]  # fmt: skip
    evidence = RunEvidence(run, calibration_of(run), errors, len(wrong))
    if classifier is None:
        return evidence
    chosen = spread_rows(judged.decisions, EXPLAINED)
    texts = texts_of(read_rows(run.folder, chosen, judged.file))
    name = evidence.explainers[1]
    # Not gradient x input: where a model is certain, the gradient at the text is nearly 0, and its signs are noise.
    explained = explain_texts(classifier, texts, {name: IntegratedGradients(POINTS)})
    words = words_by_class((each for each in explained if each.is_predicted), name, WORDS)
    return replace(evidence, words=words, explained=len(chosen))


def explained_errors(
    classifier: TextClassifier | None, rows: Sequence[Mapping[str, Any]], targets: np.ndarray
) -> list[Explanation | None]:
    """The explanation of each row for the label whose decision is wrong; None without a classifier.

    Args:
        targets: (N,) numbers of these labels.
    """
    found: list[Explanation | None] = [None] * len(rows)
    if classifier is not None:
        for target in np.unique(targets).tolist():
            places = np.flatnonzero(targets == target).tolist()
            texts = texts_of([rows[place] for place in places])
            for place, each in zip(
                places, explain_texts(classifier, texts, {"gradient": gradient}, target), strict=True
            ):
                found[place] = each
    return found


def spread_rows(decisions: np.ndarray, most: int) -> list[int]:
    """At most so many rows, drawn evenly from the predicted labels, always the same ones; in order.

    Args:
        decisions: (N, C) bool, whether each row gets each label. Rows that get none are left out.
    """
    draw = np.random.default_rng(0).permutation(len(decisions))
    turn = np.full(len(draw), len(draw))  # of a row among those of its label, of several labels the earliest one
    for of_label in decisions.T:
        own = draw[of_label[draw]]
        turn[own] = np.minimum(turn[own], np.arange(len(own)))
    in_turn = draw[np.argsort(turn[draw], kind="stable")]
    return sorted(in_turn[turn[in_turn] < len(draw)][:most].tolist())


def texts_of(rows: Sequence[Mapping[str, Any]]) -> Texts:
    """The texts of lines of a run's predictions."""
    pairs = [row["text_pair"] for row in rows if "text_pair" in row]
    return Texts([row["text"] for row in rows], pairs or None, rows=[row["row"] for row in rows])


def confused_lines(run: FinishedRun, most: int = 3) -> list[str]:
    """The most confused pairs of classes in one line for a terminal; empty if there are no errors."""
    if run.judged is None or run.judged.decided is not None:
        return []
    classes = np.arange(len(run.labels))
    pairs = confused_pairs(confusion_matrix(run.judged.labels, run.judged.predicted, labels=classes), most)
    return [f"most confused: {'; '.join(pair_in_words(pair, run.labels) for pair in pairs)}"] if pairs else []
