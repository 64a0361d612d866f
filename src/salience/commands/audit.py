"""`salience audit`: labelled texts in, findings and a file for decisions out; decisions in, a corrected copy out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from salience.audit.deciding_words import explained_rows
from salience.audit.decisions import COLUMNS, decision_rows, has_decisions
from salience.audit.finding import KINDS, Finding, kinds_of
from salience.audit.findings import find_all
from salience.audit.label_noise import share_of_right
from salience.audit.out_of_fold import OutOfFold, audit_folds, by_fine_tuning, by_regression, of_run
from salience.classify import TextClassifier, load
from salience.data.task import Task
from salience.data.texts import Texts
from salience.data.writing import csv_writer
from salience.errors import InputError, counted
from salience.explainers.explanation import Explanation
from salience.files import check_folder, whole_folder, write_lines, write_whole
from salience.report.audit_page import AuditEvidence, audit_page
from salience.report.terminal import say
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.references import encoder_of_recipe
from salience.training.task import read_task

PAGE, LINES, DECISIONS = "audit.html", "audit.jsonl", "decisions.csv"
FOLDS, SIMILARITY = 5, 0.95


def audit_file(
    data: str, output: Path | None, overwrite: bool, given: Mapping[str, Any], *, test: str | None = None,
    run: str | None = None, fine_tune: bool = False, folds: int | None = None, similarity: float | None = None,
    explain: bool = False,
) -> None:  # fmt: skip
    """Writes the page, the findings and the file for decisions into a folder, and prints the number of findings.

    Args:
        data: the labelled texts.
        output: the folder; None is `runs/DATA-audit`.
        given: the settings of a recipe that the user has given.
        test: test rows; None without any.
        run: a run on the same data, whose estimate gives the probabilities; None computes them.
        fine_tune: whether models are trained for them.
        folds: number of folds; None is `FOLDS`.
        similarity: cosine from which on texts are near-duplicates; None is `SIMILARITY`.
        explain: whether rows are explained, by the model of the run or by a regression on the vectors of the encoder.

    Raises:
        InputError: the data or an option is at fault, or the folder holds decisions of a person.
    """
    check_options(run, fine_tune, folds, similarity)
    output = output or Path("runs") / f"{Path(data).name.split('.')[0] or 'data'}-audit"
    check_folder(output, overwrite)
    if (output / DECISIONS).is_file() and has_decisions(output / DECISIONS):
        raise InputError(
            f"{output / DECISIONS} has decisions, which would be lost: move it, or choose another --output"
        )
    similarity = SIMILARITY if similarity is None else similarity
    recipe = Recipe(data=data, test=test, **given)
    task = read_task(recipe, say)
    predicted = None if run is None else of_run(run, data, task)  # a wrong run is reported before the encoder runs
    encoder = encoder_of_recipe(recipe)
    vectors = encoder.vectors(task.training)
    test_vectors = encoder.vectors(task.test) if len(task.test) else None
    if predicted is None:
        predicted = computed(recipe, task, vectors, folds or FOLDS, fine_tune)
    explanations: Iterable[Explanation] = ()
    if explain:
        classifier = load(run, device=recipe.device) if run is not None else begun_classifier(recipe, task)
        explanations = explained_rows(classifier, task.training, recipe.seed)
    findings = find_all(task, vectors, test_vectors, predicted, similarity, explanations)
    write_audit(output, AuditEvidence(task, findings, predicted, similarity, explain), f"Audit of {Path(data).name}")
    for line in summary(task, findings, predicted, explain):
        say(line)
    say(f"page: {output / PAGE}")
    say(f"decisions: {output / DECISIONS}")


def computed(recipe: Recipe, task: Task, vectors: np.ndarray, folds: int, fine_tune: bool) -> OutOfFold:
    """Out-of-fold probabilities of the labelled rows, whose vectors are (N, D)."""
    divided, places = audit_folds(task, folds, recipe.seed, say)
    if fine_tune:
        return by_fine_tuning(replace(recipe, test=None), task, divided, places, say)
    return by_regression(divided, places, vectors, len(task.labels))


def check_options(run: str | None, fine_tune: bool, folds: int | None, similarity: float | None) -> None:
    """Raises an `InputError` if an option has no effect or is out of range."""
    if run is not None and (fine_tune or folds is not None):
        raise InputError(
            f"{'--fine-tune' if fine_tune else '--folds'} has no effect with --run: leave out one of them"
        )
    if folds is not None and not 2 <= folds <= 20:
        raise InputError(f"--folds is {folds}: give a whole number from 2 to 20")
    if similarity is not None and not 0.5 <= similarity <= 1:
        raise InputError(f"--similarity is {similarity:g}: give a number from 0.5 to 1")


def write_audit(output: Path, evidence: AuditEvidence, title: str) -> None:
    """Writes the three files of an audit in one step."""
    page = audit_page(evidence, title)
    rows = decision_rows(evidence.findings, evidence.task.training, evidence.task.labels)
    with whole_folder(output) as folder:
        write_whole(folder / PAGE, page)
        write_lines(folder / LINES, (finding.as_row() for finding in evidence.findings))
        # A person opens the file in a spreadsheet: Excel needs the byte order mark to read UTF-8, and the texts, which
        # are from elsewhere, must not become formulas.
        with open(folder / DECISIONS, "w", encoding="utf-8-sig", newline="") as file:
            csv_writer(file, dict.fromkeys(COLUMNS, pyarrow.string()), safe=True)(rows)


def begun_classifier(recipe: Recipe, task: Task) -> TextClassifier:
    """The regression on the vectors of the encoder, fitted to the labelled rows, as a classifier that is explained."""
    own = replace(task, validation=Texts([]), test=Texts([]))
    return prepare(replace(recipe, test=None, head_start="logistic"), own, silent).classifier


def summary(task: Task, findings: Sequence[Finding], predicted: OutOfFold, explained: bool) -> list[str]:
    """The number of findings of each kind, a line each."""
    found = {kind: sum(finding.kind == kind for finding in findings) for kind in KINDS}
    return [
        f"{counted(len(task.training), 'row')}; labels checked by {predicted.source}, which are right on "
        f"{share_of_right(task, predicted):.1%}{' of the decisions about labels' if task.multi_label else ''}",
        *(f"{KINDS[kind]}: {found[kind]:,}" for kind in kinds_of(task, explained)),
    ]
