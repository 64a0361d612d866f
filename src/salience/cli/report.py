"""`salience report`: the report of a run, made from what its folder holds; `salience train` makes it too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from salience.errors import InputError

if TYPE_CHECKING:
    from salience.classify import TextClassifier
    from salience.runs.results import Run

REPORT = "report.html"


def report(run: Annotated[str, Argument(help="Folder written by `salience train`.")]) -> None:
    """Make report.html of a run again: scores, confusions, calibration, curves, errors, words and data on one page."""
    from salience.classify import load
    from salience.report.terminal import say
    from salience.runs.results import read_run

    finished = read_run(run)
    has_model = any(finished.folder.glob("*.safetensors"))
    kept = finished.recipe.get("precision")
    precision = kept if kept in ("fp32", "bf16") else "fp32"
    classifier = load(finished.folder, precision=precision) if has_model else None
    for line in confused_lines(finished):
        say(line)
    say(f"report: {write_report(finished, classifier)}")


def write_report(run: Run, classifier: TextClassifier | None) -> Path:
    """Writes the report and the words of the classes into the folder of the run and its manifest. Gives its path.

    Args:
        classifier: of the run; None makes a report without explanations.

    Raises:
        InputError: there is a report that salience has not written, another process writes the run, or a file of the
            run is damaged.
    """
    import os

    from salience.explainers.class_words import KEPT
    from salience.files import locked, resolved, write_whole
    from salience.runs.folder import MANIFEST, add_to_manifest, written_by_run

    place = resolved(run.folder)
    written = written_by_run(place)
    if not (written and (place / MANIFEST).is_file()):
        raise InputError(f"{run.folder} has no {MANIFEST}: train it again")
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
    from salience.runs.results import read_run

    for file, content in report_files(read_run(folder), classifier, name).items():
        (folder / file).write_text(content, encoding="utf-8")


def report_files(run: Run, classifier: TextClassifier | None, name: str) -> dict[str, str]:
    """The report of a run, and the words of its labels if texts are explained: names and contents of files."""
    import json

    from salience.explainers.class_words import KEPT
    from salience.report.run_page import run_page

    page, words = run_page(run, classifier, f"Report of {name}")
    return {REPORT: page} | ({} if words is None else {KEPT: json.dumps(words.as_json(), indent=2) + "\n"})


def confused_lines(run: Run, most: int = 3) -> list[str]:
    """The most confused pairs of classes in one line for a terminal; empty if there are no errors."""
    from sklearn.metrics import confusion_matrix

    from salience.scores.metrics import confused_pairs

    if run.predictions is None or run.predictions.decided is not None:
        return []
    matrix = confusion_matrix(run.predictions.labels, run.predictions.predicted, labels=range(len(run.labels)))
    pairs = [
        f"{run.labels[pair.label]} as {run.labels[pair.predicted]}: {pair.rows:,} of {pair.of:,} rows"
        for pair in confused_pairs(matrix, most)
    ]
    return [f"most confused: {'; '.join(pairs)}"] if pairs else []
