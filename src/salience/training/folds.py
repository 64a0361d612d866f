"""Which labelled rows an estimate predicts: stratified folds that divide no group; without groups, no equal texts."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from accelerate import PartialState

from salience.data.splitting import group_numbers, stratified_parts
from salience.data.task import Task, all_labelled
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted
from salience.files import replacing
from salience.processes import is_main_process
from salience.scores.calibration import half_of_rows
from salience.scores.scoring import scoring_of
from salience.training.callbacks import Beginning
from salience.training.fit import Listeners, fit
from salience.training.passes import text_passes
from salience.training.prepare import Prepared
from salience.training.recipe import Recipe

HOLDOUT_FOLDS = 5  # of which the first one is held out
MANY = 5000  # training rows, from which on twice the time seems too much for a temperature; not measured


@dataclass(frozen=True)
class Folds:
    """The labelled rows of an estimate and the fold of each.

    Args:
        kind: "holdout" or "folds:K".
        texts: N labelled texts.
        numbers: (N,) the fold of each row, from 1 to K.
        groups: (N,) the number of the group of each row, if a column of groups is named; else None.
    """

    kind: str
    texts: Texts
    numbers: np.ndarray
    groups: np.ndarray | None = None

    @property
    def predicted(self) -> list[int]:
        """The folds that are predicted, in order: all of them, or the first one of a holdout."""
        return [1] if self.kind == "holdout" else sorted(set(self.numbers.tolist()))

    def divided(self, number: int) -> tuple[Texts, Texts]:
        """The rows of all other folds, and those of this one."""
        inside = self.numbers == number
        return self.texts.take(np.flatnonzero(~inside)), self.texts.take(np.flatnonzero(inside))


def usual_estimate(task: Task) -> str:
    """The kind of estimate of a run that leaves it open.

    Args:
        task: the data of the run.

    Returns:
        "none" if there are validation rows, if there are test rows and `MANY` training rows, or if the rows cannot be
        divided; else "folds:2".
    """
    if len(task.validation) or (len(task.test) and len(task.training) >= MANY):
        return "none"
    return "none" if obstacle(task.training, 2) else "folds:2"


def choose_folds(recipe: Recipe, task: Task, note: Callable[[str], None]) -> Folds | None:
    """The folds of the estimate of a run; None if it makes none.

    The labelled rows are the training rows, and the validation rows if they were held out of the same file.

    Args:
        note: called with a line of text if a class is not in all folds.

    Raises:
        InputError: the rows cannot be divided as they are to be, or an option needs an estimate and there is none.
    """
    kind = usual_estimate(task) if recipe.estimate is None else recipe.estimate
    if kind == "none":
        held_out = len(task.validation) and not recipe.validation  # by --validation-share, which divides no group
        named = [] if recipe.group is None or held_out else [f"--group {quoted(recipe.group)}"]
        target = [] if recipe.target_precision is None else [f"--target-precision {recipe.target_precision:g}"]
        is_open = recipe.estimate is None and not len(task.validation)
        reason = obstacle(task.training, 2) if is_open else ""
        remedy = f"none can be made, because {reason}:" if reason else "add --estimate folds:2, or"
        for option in [*named, *["--calibrate"] * bool(recipe.calibrate), *target]:
            raise InputError(f"{option} has no effect without an estimate: {remedy} leave it out")
        if reason:
            note(f"no estimate: {reason}")
        return None
    texts = task.training if recipe.validation else all_labelled(task)
    count = HOLDOUT_FOLDS if kind == "holdout" else int(kind.partition(":")[2])
    if reason := obstacle(texts, count):
        raise InputError(f"--estimate {kind} divides the rows into {count} parts, but {reason}: {advice(kind)}")
    numbers = fold_numbers(texts, count, recipe.seed)
    folds = Folds(kind, texts, numbers, None if texts.groups is None else group_numbers(texts))
    if unseen := [quoted(task.labels[label]) for label in unseen_labels(folds)]:
        note(
            f"estimate: the class {unseen[0]} is in one part only, and is predicted by a model that has not seen it"
            if len(unseen) == 1
            else f"estimate: the classes {listed(unseen, 5)} are each in one part only, and are predicted by models "
            "that have not seen them"
        )
    return folds


def obstacle(texts: Texts, count: int) -> str:
    """Why N labelled texts cannot be divided into so many stratified folds, in words; empty if they can be."""
    labels = texts.known_labels
    largest = int((labels.sum(0) if labels.ndim == 2 else np.bincount(labels)).max())
    if largest < count:
        return f"no class has more than {counted(largest, 'row')}"
    groups = len(set(group_numbers(texts).tolist()))
    if groups < count:
        return f"there {'is' if groups == 1 else 'are'} only {counted(groups, 'group' if texts.groups else 'text')}"
    return ""


def advice(kind: str) -> str:
    """What to do where rows cannot be divided for this kind of estimate."""
    return "add rows, or use --estimate none" if kind == "folds:2" else "use --estimate folds:2, or none"


def fold_numbers(texts: Texts, count: int, seed: int) -> np.ndarray:
    """The fold of each of N labelled texts (N,), from 1 to `count`, stratified by class. No group is divided.

    Args:
        count: number of folds; see `obstacle` for what makes it impossible.
        seed: of the shuffling.

    Raises:
        InputError: groups are so large that a fold is empty.
    """
    import warnings

    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    labels, groups = texts.known_labels, group_numbers(texts)
    if labels.ndim == 2:
        return checked_folds(1 + stratified_parts(labels, [1 / count] * count, seed, groups), count)
    divide = StratifiedKFold if len(set(groups.tolist())) == len(groups) else StratifiedGroupKFold
    numbers = np.zeros(len(texts), int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class has fewer rows than folds: `unseen_labels` is exact
        parts = divide(count, shuffle=True, random_state=seed).split(np.zeros(len(texts)), labels, groups)
        for number, (_, rows) in enumerate(parts, 1):
            numbers[rows] = number
    return checked_folds(numbers, count)


def checked_folds(numbers: np.ndarray, count: int) -> np.ndarray:
    """The folds (N,) if all have rows. Raises an `InputError` otherwise."""
    if len(set(numbers.tolist())) < count:
        raise InputError(f"the groups are too large to divide the rows into {count} parts: use fewer folds")
    return numbers


def unseen_labels(folds: Folds) -> list[int]:
    """The labels of which all rows are in one predicted fold, so that its model has not seen them, in order."""
    labels = folds.texts.known_labels
    if labels.ndim == 2:
        of_label = {number: rows for number, rows in enumerate(labels.T == 1) if rows.any()}
    else:
        of_label = {label: labels == label for label in np.unique(labels).tolist()}
    return [
        label for label, rows in of_label.items()
        if len(found := set(folds.numbers[rows].tolist())) == 1 and found <= set(folds.predicted)
    ]  # fmt: skip


def recipe_of_folds(recipe: Recipe, rows: int, classes: int) -> Recipe:
    """The recipe of the models of an estimate: that of the run, with steps that follow from their own rows.

    If the run has another number of steps than the one that follows from its rows, they have that number too. The
    batch size, the learning rate and all else are those of the run.

    Args:
        recipe: of the run, with nothing left open.
        rows: number of training rows of the run.
        classes: number of labels.
    """
    usual = replace(recipe, steps=None).resolved(rows, classes, None).steps
    return replace(recipe, steps=None if recipe.steps == usual else recipe.steps)


# The share of the trained weights that is kept, chosen by rows that the models of an estimate have not seen.

SHARES = (0.5, 0.75, 1.0)  # the last one are the trained weights


def chosen_share(probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """The number of the share that is kept.

    Args:
        probabilities: (S, N, C) of the shares, the trained weights last.
        labels: (N,), class numbers, or (N, C), 0 and 1.
        groups: (N,) the group of each row, whose rows are often right or wrong together; None for rows that are
            independent.
    """
    scoring = scoring_of(labels)
    losses = np.stack([scoring.row_scores(scoring.scaled(each, labels), labels)["log_loss"] for each in probabilities])
    best = int(losses.mean(1).argmin())
    gain = losses[-1] - losses[best]
    return best if gain.mean() > standard_error(gain, groups) else len(losses) - 1


def standard_error(values: np.ndarray, groups: np.ndarray | None = None) -> float:
    """The standard error of a mean over rows, or over rows that are independent between groups only.

    That of groups is the cluster-robust one of Liang and Zeger (1986, Biometrika 73(1), 13-22) for a mean, with
    G / (G - 1) for G groups. With one row a group it is the standard deviation over the root of N.

    Args:
        values: (N,).
        groups: (N,) the group of each row; None for one row a group.

    Returns:
        Infinity for a single group, which says nothing about other ones.
    """
    numbers = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(numbers, values - values.mean())
    if len(sums) < 2:
        return np.inf
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values))


def cross_chosen(
    probabilities: np.ndarray, labels: np.ndarray, kept: int, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """The probabilities (N, C) of the rows, each half with the share that the other half chooses.

    So no row is scored by a share that it has chosen, but where all rows are of one group. Shares differ in how
    confident they are: a share near the regression needs another temperature than the trained weights. The
    probabilities of another share than the one that is kept are therefore brought to its confidence, so that the
    temperature and the thresholds that are found on all rows suit the model that is kept.

    Args:
        probabilities: (S, N, C) of the shares, the trained weights last.
        labels: (N,), class numbers, or (N, C), 0 and 1.
        kept: the number of the share that the model of the run has.
        groups: (N,) the group of each row, which is in one half; None for rows that are independent.
        seed: of the halves.
    """
    scoring, first = scoring_of(labels), half_of_rows(len(labels) if groups is None else groups, seed)
    found = probabilities[kept].copy()
    if not first.any():
        return found
    temperatures = [scoring.temperature(each, labels) for each in probabilities]
    for rows in (first, ~first):
        others = ~rows
        chosen = chosen_share(probabilities[:, others], labels[others], None if groups is None else groups[others])
        if chosen != kept:
            ratio = temperatures[chosen] / temperatures[kept]
            found[rows] = scoring.with_temperature(probabilities[chosen, rows], ratio)
    return found


# Models that are each trained on a part of the labelled rows, and what they predict of the others.


@dataclass(frozen=True)
class FoldResult:
    """What the model of one fold gave.

    Args:
        rows: (R,) the numbers of the predicted rows among the labelled ones.
        probabilities: (S, R, C) float32, of each share of the trained weights among which the estimate chooses, or of
            one share.
        numbers: number of training rows, steps, passes of texts, and seconds.
    """

    rows: np.ndarray
    probabilities: np.ndarray
    numbers: tuple[int, int, float, float]


def fold_result(
    place: Path, rows: np.ndarray, classes: int, ready: Callable[[], Prepared], listeners: Listeners, announcement: str
) -> FoldResult:
    """What the model of a fold predicts: as it was stored, or after it is trained. Every process trains.

    Args:
        place: a folder for checkpoints, which is removed in the end; what is predicted is stored beside it.
        rows: (R,) the numbers of the rows to predict.
        classes: number of labels.
        ready: prepares the model, its training rows, and the predicted rows as its test rows.
        listeners: what is called during training.
        announcement: told before the training.

    Raises:
        InputError: the loss or the weights of the model are not finite.
    """
    file = place.with_name(f"{place.name}.npz")
    finished = read_fold(file, rows, classes)
    if finished is None:
        listeners.note(announcement)
        finished = fit_fold(ready, rows, place, listeners)
        if is_main_process():
            write_fold(file, finished)
            shutil.rmtree(place, ignore_errors=True)
        PartialState().wait_for_everyone()  # the others may look for the file of the fold
    return finished


def fit_fold(ready: Callable[[], Prepared], rows: np.ndarray, checkpoints: Path, listeners: Listeners) -> FoldResult:
    """Trains the model of a fold and predicts its rows, which are the test rows of what `ready` prepares."""
    started = time.time()
    prepared = ready()
    assert prepared.test is not None  # no fold is empty
    beginning = Beginning(prepared.model) if prepared.recipe.trained_share is None else None
    fitted = fit(prepared, checkpoints, listeners)
    seen = prepared.rows
    if not is_main_process():
        return FoldResult(rows, np.zeros((0, 0, 0), np.float32), (seen, fitted.steps, 0.0, 0.0))
    shares = [1.0] if beginning is None else beginning.at(SHARES)
    probabilities = np.stack([fitted.classifier.probabilities(prepared.test) for _ in shares])
    numbers = (seen, fitted.steps, text_passes(prepared, fitted), time.time() - started)
    return FoldResult(rows, probabilities, numbers)


def write_fold(file: Path, result: FoldResult) -> None:
    """Writes a finished fold, in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished, open(unfinished, "wb") as opened:
        np.savez(opened, rows=result.rows, probabilities=result.probabilities, numbers=np.array(result.numbers))


def read_fold(file: Path, rows: np.ndarray, classes: int) -> FoldResult | None:
    """A finished fold; None if it is not finished, or was one of other rows.

    Args:
        rows: (R,) the rows that it must have predicted.
        classes: number of labels.
    """
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as arrays:
        if not np.array_equal(arrays["rows"], rows) or arrays["probabilities"].shape[1:] != (len(rows), classes):
            return None
        seen, steps, passes, seconds = arrays["numbers"].tolist()
        return FoldResult(rows, arrays["probabilities"], (int(seen), int(steps), passes, seconds))
