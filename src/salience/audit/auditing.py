"""An audit of labelled rows: out-of-fold probabilities by a run, a regression or a training, and all findings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.audit.findings import Finding, OutOfFold
from salience.audit.neighbours import leaks, near_duplicates, outliers
from salience.audit.words import deciding_words, telling_words
from salience.audit.wrong_labels import alike_classes, wrong_labels
from salience.data.splitting import group_numbers
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, one_line, quoted
from salience.explainers.explanation import Explanation
from salience.files import sha256_of
from salience.runs.folder import OUT_OF_FOLD, RECIPE, read_recipe
from salience.runs.results import DAMAGED, read_predictions
from salience.training.baselines import regression_probabilities
from salience.training.estimate import Folds, estimate, fold_numbers, obstacle, unseen_labels
from salience.training.fit import Listeners
from salience.training.prepare import prepare
from salience.training.recipe import Recipe


def find_all(
    task: Task, vectors: np.ndarray, test_vectors: np.ndarray | None, predicted: OutOfFold, similarity: float,
    explanations: Iterable[Explanation] = (),
) -> list[Finding]:  # fmt: skip
    """All findings, kind by kind, the strongest first.

    Args:
        task: N labelled rows, and the test rows if there are any.
        vectors: (N, D) of the labelled rows, of length 1.
        test_vectors: of the test rows; None without any.
        predicted: out-of-fold probabilities of the labelled rows.
        similarity: cosine from which on texts are near-duplicates.
        explanations: of labelled rows for their labels, as of `explained_rows`; none if the rows are not explained.
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
    says nothing about its label.

    Args:
        note: called with a line of text if there are fewer folds, or a row cannot be judged.

    Raises:
        InputError: the rows cannot be divided at all, or no label can be checked.
    """
    texts, wanted = task.training, count
    while count > 2 and obstacle(texts, count):
        count -= 1
    if reason := obstacle(texts, count):
        raise InputError(f"the rows cannot be divided into {count} folds: {reason}; add rows")
    if count < wanted:
        note(f"{count} folds in place of {wanted}: {obstacle(texts, wanted)}")
    groups = None if texts.groups is None else group_numbers(texts)
    folds = Folds(f"folds:{count}", texts, fold_numbers(texts, count, seed), groups)
    unseen = unseen_labels(folds)
    if unseen:
        if len(unseen) == len(task.labels):
            raise InputError(
                "no label can be checked, because all rows of each are in one fold; add rows"
                + ("" if texts.groups is None else " of other groups, or leave out --group")
            )
        names = listed((quoted(task.labels[label]) for label in unseen), 5)
        note(f"labels that are not checked, because all of their rows are in one fold: {names}")
    judged = np.ones(len(texts), bool) if task.multi_label else ~np.isin(texts.known_labels, unseen)
    return folds, np.flatnonzero(judged)


def by_regression(folds: Folds, places: np.ndarray, vectors: np.ndarray, classes: int) -> OutOfFold:
    """By logistic regressions on the vectors of a frozen encoder, each fitted to the rows outside a fold.

    Args:
        folds, places: as `audit_folds` gives them.
        vectors: (N, D) of the labelled rows, of length 1.
        classes: number of classes C.
    """
    found = np.zeros((len(vectors), classes), np.float32)
    labels = folds.texts.known_labels
    for number in folds.predicted:
        inside = folds.numbers == number
        found[inside] = regression_probabilities(vectors[~inside], labels[~inside], vectors[inside], classes)
    return of_folds(folds, places, found, "logistic regressions on the vectors of the frozen encoder")


def by_fine_tuning(
    recipe: Recipe, task: Task, folds: Folds, places: np.ndarray, note: Callable[[str], None]
) -> OutOfFold:
    """By models that are trained by a recipe, each on the rows outside a fold.

    Args:
        folds, places: as `audit_folds` gives them.
        note: called with a line of text at the beginning of every phase.

    Raises:
        InputError: the recipe does not fit, or the loss of a model is not finite.
    """
    own = replace(task, validation=Texts([]), test=Texts([]))
    prepared = prepare(recipe, own, note)
    with tempfile.TemporaryDirectory(prefix="salience-audit-") as place:
        found = estimate(prepared, own, folds, Path(place), Listeners(note))
    assert found is not None  # one process
    return of_folds(folds, places, found.predictions.probabilities, "models trained by the default recipe")


def of_folds(folds: Folds, places: np.ndarray, probabilities: np.ndarray, source: str) -> OutOfFold:
    """The probabilities (N, C) of the rows at `places`, which are judged."""
    unseen = unseen_labels(folds) if folds.texts.known_labels.ndim == 2 else []
    return OutOfFold(places, probabilities[places], f"{source} ({counted(len(folds.predicted), 'fold')})", unseen)


def of_run(run: str, data: str, task: Task) -> OutOfFold:
    """The probabilities of the estimate of a run.

    Args:
        run: the folder of the run.
        data: the file of the labelled rows.
        task: these rows, as they are read now.

    Raises:
        InputError: the folder is no run with an estimate, or it was made from other rows or labels.
    """
    place = Path(run).expanduser()
    if not (place / RECIPE).is_file():
        raise InputError(f"{run} is no run: name a folder that `salience train` has written")
    if not all((place / name).is_file() for name in OUT_OF_FOLD):
        raise InputError(f"{run} has no estimate: train it with --estimate folds:5, or leave out --run")
    recipe = read_recipe(place / RECIPE)
    sums = recipe.get("checksums") or {}
    if not Path(data).is_file() or sums.get(str(recipe.get("data"))) != sha256_of(data):
        raise InputError(f"{run} was not made from {data} as it is now (its SHA-256 differs): leave out --run")
    try:
        names, found = read_predictions(place, OUT_OF_FOLD, with_rows=True)
    except DAMAGED as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{run} is damaged ({reason}): train it again") from error
    rows = [] if found.rows is None else found.rows.tolist()
    of_row = {row: place for place, row in enumerate(task.training.rows or [])}
    known = names == task.labels and all(row in of_row for row in rows)
    places = np.array([of_row[row] for row in rows], int) if known else np.zeros(0, int)
    if not known or not np.array_equal(task.training.known_labels[places], found.labels):
        raise InputError(
            f"{run} has other rows or labels than {data} (another --label or --bad-rows): leave out --run"
        )
    order = np.argsort(places)
    return OutOfFold(places[order], found.probabilities[order], f"the estimate of {place.name}, of {len(rows):,} rows")
