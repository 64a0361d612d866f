"""An audit of labelled rows: out-of-fold probabilities by a run, a regression or a training, and all findings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.audit.findings import Finding, rows_of
from salience.audit.neighbours import leaks, near_duplicates, outliers
from salience.audit.words import deciding_words, telling_words
from salience.audit.wrong_labels import alike_classes, wrong_labels
from salience.data.splitting import group_numbers
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, listed, one_line, quoted
from salience.explainers.explanation import Explanation
from salience.files import sha256_of
from salience.runs.folder import OUT_OF_FOLD, RECIPE, no_run, read_recipe
from salience.runs.results import DAMAGED, read_predictions
from salience.scores.predictions import Predictions
from salience.training.baselines import regression_probabilities
from salience.training.estimate import Folds, estimate, fold_numbers, obstacle, steps_of_folds, unseen_labels
from salience.training.fit import Listeners
from salience.training.prepare import prepare
from salience.training.recipe import Recipe
from salience.work import tracked


def find_all(
    task: Task, vectors: np.ndarray, test_vectors: np.ndarray | None, predicted: Predictions, similarity: float,
    explanations: Iterable[Explanation] = (),
) -> list[Finding]:  # fmt: skip
    """All findings, kind by kind, the strongest first.

    The vectors (N, D) have length 1. `predicted` is out of fold, with the numbers of the rows; rows that cannot be
    judged may be missing. Texts are near-duplicates from a cosine of `similarity` on. `explanations` are of
    `explained_rows`.
    """
    tested: list[Finding] = []
    if test_vectors is not None:
        tested = leaks(task, vectors, test_vectors, similarity)
        tested += near_duplicates(task, test_vectors, similarity, of_test=True)
    return [
        *wrong_labels(task, predicted),
        *near_duplicates(task, vectors, similarity),
        *tested,
        *outliers(task, vectors),
        *([] if task.multi_label else alike_classes(task, predicted)),  # labels of one text need not be told apart
        *telling_words(task.training, task.labels),
        *deciding_words(explanations, task.labels),
    ]


def audit_folds(task: Task, count: int, seed: int, note: Callable[[str], None]) -> tuple[Folds, np.ndarray]:
    """The folds of the labelled rows, and the places of those whose class is not in a single fold.

    There are fewer folds than `count` where no class has so many rows. A model that has not seen the class of a row
    says nothing about its label. Rows of which no label can be checked are refused.
    """
    texts, wanted = task.training, count
    while count > 2 and obstacle(texts, count):
        count -= 1
    if reason := obstacle(texts, count):
        raise InputError(f"the rows cannot be divided into {count} folds: {reason}; add rows")
    if count < wanted:
        note(f"{count} folds instead of {wanted}: {obstacle(texts, wanted)}")
    groups = None if texts.groups is None else group_numbers(texts)
    folds = Folds(f"folds:{count}", texts, fold_numbers(texts, count, seed), groups)
    unseen = unseen_labels(folds)
    if len(unseen) == len(task.labels):
        raise InputError(
            "no label can be checked, because all rows of each are in one fold; add rows"
            + ("" if texts.groups is None else " of other groups, or leave out --group")
        )
    if unseen:
        names = listed((quoted(task.labels[label]) for label in unseen), 5)
        note(f"labels that are not checked, because all of their rows are in one fold: {names}")
    judged = np.ones(len(texts), bool) if task.multi_label else ~np.isin(texts.known_labels, unseen)
    return folds, np.flatnonzero(judged)


def by_regression(folds: Folds, places: np.ndarray, vectors: np.ndarray, classes: int) -> Predictions:
    """By logistic regressions on the vectors (N, D) of a frozen encoder, each fitted to the rows outside a fold."""
    found = np.zeros((len(vectors), classes), np.float32)
    labels = folds.texts.known_labels
    for number in tracked(folds.predicted, len(folds.predicted), "fitting regressions", "folds"):
        inside = folds.numbers == number
        found[inside] = regression_probabilities(vectors[~inside], labels[~inside], vectors[inside], classes)
    return _at_places(folds, places, found)


def by_fine_tuning(recipe: Recipe, task: Task, folds: Folds, places: np.ndarray, listeners: Listeners) -> Predictions:
    """By models that are trained by a recipe, each on the rows outside a fold."""
    own = replace(task, validation=Texts([]), test=Texts([]))
    prepared = prepare(recipe, own, listeners.note)
    listeners.planned(steps_of_folds(prepared.plan, own, folds))
    with tempfile.TemporaryDirectory(prefix="salience-audit-") as place:
        found = estimate(prepared, own, folds, Path(place), listeners)
    assert found is not None  # one process
    return _at_places(folds, places, found.predictions.probabilities)


def _at_places(folds: Folds, places: np.ndarray, probabilities: np.ndarray) -> Predictions:
    """The predictions of the rows at `places`, from the probabilities (N, C) of all rows."""
    texts = folds.texts
    return Predictions(
        probabilities[places], texts.known_labels[places], folds=folds.numbers[places],
        rows=np.array(rows_of(texts))[places],
    )  # fmt: skip


def of_run(run: str, data: str, task: Task) -> Predictions:
    """The predictions of the estimate of a run on the rows of a task, in their order, without the folds."""
    place = Path(run).expanduser()
    if not (place / RECIPE).is_file():
        raise no_run(run)
    if not all((place / name).is_file() for name in OUT_OF_FOLD):
        raise InputError(f"{run} has no estimate: train it with --estimate folds:5, or leave out --run")
    recipe = read_recipe(place / RECIPE)
    if recipe.get("corrections"):
        raise InputError(f"{run} was trained with --corrections, and not on {data} as it is: leave out --run")
    sums = recipe.get("checksums") or {}
    if not Path(data).is_file() or sums.get(str(recipe.get("data"))) != sha256_of(data):
        raise InputError(f"{run} was not made from {data} as it is now (its SHA-256 differs): leave out --run")
    try:
        names, found = read_predictions(place, OUT_OF_FOLD, with_rows=True)
    except DAMAGED as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{run} is damaged ({reason}): train it again") from error
    assert found.rows is not None  # they were asked for
    known = dict(zip(task.training.rows or [], task.training.known_labels, strict=False))
    same = names == task.labels and all(
        row in known and np.array_equal(known[row], label)
        for row, label in zip(found.rows.tolist(), found.labels, strict=True)
    )
    if not same:
        raise InputError(
            f"{run} has other rows or labels than {data} (another --label or --bad-rows): leave out --run"
        )
    order = np.argsort(found.rows)
    return Predictions(found.probabilities[order], found.labels[order], rows=found.rows[order])
