"""Which labelled rows an estimate predicts: stratified folds that divide no group; without groups, no equal texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from salience.data.splitting import group_numbers
from salience.data.stratifying import stratified_parts
from salience.data.task import Task, all_labelled
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted
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
