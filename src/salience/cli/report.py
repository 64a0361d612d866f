"""`salience report`: the report of a run, made from what its folder holds; `salience train` makes it too."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from salience.errors import InputError

if TYPE_CHECKING:
    from salience.classify import TextClassifier
    from salience.runs.results import Run

REPORT = "report.html"


def report(run: Annotated[str, Argument(help="Folder written by `salience train`.")]) -> None:
    """Rebuild report.html of a finished run."""
    from salience.classify import load
    from salience.explainers.class_words import KEPT
    from salience.files import locked, resolved, write_whole
    from salience.report.terminal import say
    from salience.runs.folder import MANIFEST, add_to_manifest, written_by_run
    from salience.runs.results import read_run

    finished = read_run(run)
    folder = resolved(finished.folder)
    kept = finished.recipe.get("precision")
    classifier = None  # without the model, the report has no explanations
    if any(folder.glob("*.safetensors")):
        classifier = load(finished.folder, precision=kept if kept in ("fp32", "bf16") else "fp32")
    for line in confused_lines(finished):
        say(line)
    written = written_by_run(folder)
    if not (written and (folder / MANIFEST).is_file()):
        raise InputError(f"{run} has no {MANIFEST}: train it again")
    for name in (REPORT, KEPT):
        if os.path.lexists(folder / name) and name not in written:
            raise InputError(f"{folder / name} was not written by salience and is not replaced: move it elsewhere")
    found = report_files(finished, classifier, folder.name)
    with locked(folder):
        add_to_manifest(folder, *found)  # first: a file that the manifest lists may be missing, but not the reverse
        for name, content in found.items():
            write_whole(folder / name, content)
    say(f"report: {finished.folder / REPORT}")


def add_report(folder: Path, name: str, classifier: TextClassifier) -> None:
    """Writes the report into the folder of a run that is about to get its name."""
    from salience.runs.results import read_run

    for file, content in report_files(read_run(folder), classifier, name).items():
        (folder / file).write_text(content, encoding="utf-8")


def report_files(run: Run, classifier: TextClassifier | None, name: str) -> dict[str, str]:
    """The report of a run, and the words of its labels if texts are explained: names and contents of files."""
    from salience.explainers.class_words import KEPT
    from salience.report.run_page import run_page

    page, words = run_page(run, classifier, f"Report of {name}")
    return {REPORT: page} | ({} if words is None else {KEPT: json.dumps(words.as_json(), indent=2) + "\n"})


def confused_lines(run: Run) -> list[str]:
    """The most confused pairs of classes in one line for a terminal; empty if there are no errors."""
    from sklearn.metrics import confusion_matrix

    from salience.scores.labels import labels_of
    from salience.scores.metrics import confused_pairs

    if run.predictions is None or labels_of(run.predictions.labels).several:
        return []
    matrix = confusion_matrix(run.predictions.labels, run.predictions.predicted, labels=range(len(run.labels)))
    pairs = [
        f"{run.labels[pair.label]} as {run.labels[pair.predicted]}: {pair.rows:,} of {pair.of:,} rows"
        for pair in confused_pairs(matrix, 3)
    ]
    return [f"most confused: {'; '.join(pairs)}"] if pairs else []
