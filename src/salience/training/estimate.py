"""The estimate of a run: models of its plan, each trained on a part of the labelled rows, predict the others.

The rows are divided into stratified folds that divide no group; without groups, no equal texts. What the models
predict gives the scores on new rows, the temperature and the thresholds of the final model, and, where the plan leaves
it open, the share of its trained weights (`SHARES`).
"""

from __future__ import annotations

import math
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState

from salience.classify import TextClassifier
from salience.classify.abstaining import Thresholds
from salience.data.splitting import group_numbers, stratified_parts
from salience.data.task import Task, all_labelled
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted
from salience.files import replacing
from salience.processes import is_main_process
from salience.runs.sentences import abstention_sentences, precision_sentences
from salience.scores.calibration import half_of_rows, with_label_temperature, with_temperature
from salience.scores.intervals import wilson_interval
from salience.scores.labels import SEVERAL_LABELS, labels_of
from salience.scores.predictions import Predictions
from salience.scores.thresholds import (
    CERTAINTY,
    chosen_decisions,
    find_label_thresholds,
    find_thresholds,
    least_rows,
    one_row_of_each,
    precision_numbers,
    precision_thresholds,
    reachable_precision,
)
from salience.training.baselines import baseline_scores
from salience.training.callbacks import UNTRACKED, Beginning
from salience.training.fit import Fitted, Listeners, fit
from salience.training.head import choose_calibration, divide_logits
from salience.training.passes import text_passes
from salience.training.prepare import Prepared, as_batch, prepare
from salience.training.recipe import Plan, Recipe, default_steps

HOLDOUT_FOLDS = 5  # of which the first one is held out
MANY = 5000  # training rows, from which on twice the time seems too much for a temperature; not measured
SHARES = (0.5, 0.75, 1.0)  # of the trained weights, among which rows choose; the last one are the trained weights


@dataclass(frozen=True)
class Folds:
    """The labelled rows of an estimate and the fold of each.

    Args:
        kind: "holdout" or "folds:K".
        texts: N labelled texts.
        numbers: (N,) the fold of each row, from 1 to K.
        groups: (N,) the number of the group of each row, if a column of groups is named; else None.
        calibrated: whether the temperature that the rows give is folded into the final model.
    """

    kind: str
    texts: Texts
    numbers: np.ndarray
    groups: np.ndarray | None = None
    calibrated: bool = False

    @property
    def predicted(self) -> list[int]:
        """The folds that are predicted, in order: all of them, or the first one of a holdout."""
        return [1] if self.kind == "holdout" else sorted(set(self.numbers.tolist()))

    def divided(self, number: int) -> tuple[Texts, Texts]:
        """The rows of all other folds, and those of this one."""
        inside = self.numbers == number
        return self.texts.take(np.flatnonzero(~inside)), self.texts.take(np.flatnonzero(inside))


def plan_estimate(prepared: Prepared, task: Task, note: Callable[[str], None]) -> Folds | None:
    """The estimate that the plan of a run asks for, checked before anything is trained; None if it asks for none.

    Raises:
        InputError: the rows or the model do not allow it, or an option needs an estimate and there is none.
    """
    plan = prepared.plan
    folds = choose_folds(plan, task, note)
    if folds is None:
        return None
    batch = as_batch(prepared.classifier.tokenizer, prepared.training, 0)
    calibrated = choose_calibration(plan.calibrate, prepared.model, batch, note)
    if plan.target_precision is not None:
        check_target(plan.target_precision, folds)
    return replace(folds, calibrated=calibrated)


def usual_estimate(task: Task) -> str:
    """The kind of estimate of a run that leaves it open."""
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
        held_out = len(task.validation) and not recipe.validation  # by validation_share, which divides no group
        named = [] if recipe.group is None or held_out else [f"--group {quoted(recipe.group)}"]
        target = [] if recipe.target_precision is None else [f"--target-precision {recipe.target_precision:g}"]
        is_open = recipe.estimate is None and not len(task.validation)
        reason = obstacle(task.training, 2) if is_open else ""
        remedy = f"none can be made, because {reason}:" if reason else "add --estimate folds:2, or"
        for option in [*named, *["--set calibrate"] * bool(recipe.calibrate), *target]:
            raise InputError(f"{option} has no effect without an estimate: {remedy} leave it out")
        if reason:
            note(f"no estimate: {reason}")
        return None
    texts = task.training if recipe.validation else all_labelled(task)
    count = HOLDOUT_FOLDS if kind == "holdout" else int(kind.partition(":")[2])
    if reason := obstacle(texts, count):
        remedy = "add rows, or use --estimate none" if kind == "folds:2" else "use --estimate folds:2, or none"
        raise InputError(f"--estimate {kind} divides the rows into {count} parts, but {reason}: {remedy}")
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


def fold_numbers(texts: Texts, count: int, seed: int) -> np.ndarray:
    """The fold of each of N labelled texts (N,), from 1 to `count`, stratified by class. No group is divided.

    Args:
        count: number of folds; see `obstacle` for what makes it impossible.
        seed: of the shuffling.

    Raises:
        InputError: groups are so large that a fold is empty.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    labels, groups = texts.known_labels, group_numbers(texts)
    if labels.ndim == 2:
        numbers = 1 + stratified_parts(labels, [1 / count] * count, seed, groups)
    else:
        divide = StratifiedKFold if len(set(groups.tolist())) == len(groups) else StratifiedGroupKFold
        numbers = np.zeros(len(texts), int)
        with warnings.catch_warnings():
            # A class has fewer rows than folds: `unseen_labels` is exact.
            warnings.simplefilter("ignore", UserWarning)
            parts = divide(count, shuffle=True, random_state=seed).split(np.zeros(len(texts)), labels, groups)
            for number, (_, rows) in enumerate(parts, 1):
                numbers[rows] = number
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


def check_target(target: float, folds: Folds) -> None:
    """Checks, before anything is trained, that the rows of an estimate are enough for a target precision.

    Where a text can have several labels, the rows of the most frequent label must be enough for that one.

    Raises:
        InputError: it would be out of reach if all rows were right; says what is in reach.
    """
    predicted, labels = np.isin(folds.numbers, folds.predicted), folds.texts.known_labels
    several = labels.ndim == 2
    units = np.arange(len(labels)) if folds.groups is None else folds.groups
    tested = (labels[predicted] == 1).T if several else np.ones((1, predicted.sum()), bool)
    rows = max(len(np.unique(units[predicted][each])) for each in tested)
    error = (1 - CERTAINTY) / len(tested)
    if rows >= (least := least_rows(target, error)):
        return
    highest = math.floor(100 * error ** (1 / rows)) / 100 if rows else 0
    lower = f"give {highest:g} or less, or " if highest >= 0.5 else ""
    unit = "rows" if folds.groups is None else "groups"
    whose, have = ("of a label ", "the most frequent label has") if several else ("", "there are")
    raise InputError(
        f"--target-precision {target:g} needs at least {least:,} {unit} {whose}in the estimate, and {have} {rows:,}: "
        f"{lower}add rows"
    )


@dataclass(frozen=True)
class Estimated:
    """What all models of an estimate have predicted, and what follows for the final model.

    Attributes:
        texts: the predicted rows, N of them, in the order of the file.
        predictions: of these rows, each by the model that has not seen the row, with the share of its trained weights
            that other rows have chosen, as confident as the kept share is (`cross_chosen`).
        metrics: what metrics.json says of the estimate.
        label_thresholds: (C,) where a text can have several labels and the final model is to have thresholds.
        abstention: what metrics.json says of the thresholds below which the final model abstains, as of `abstention`;
            None if it decides every text.
    """

    texts: Texts
    predictions: Predictions
    metrics: dict[str, Any]
    label_thresholds: np.ndarray | None = None
    abstention: dict[str, Any] | None = None

    @property
    def temperature(self) -> float:
        """The temperature that is fitted on all predicted rows."""
        return self.metrics["temperature_scaling"]["temperature"]

    @property
    def divisor(self) -> float:
        """What the logits of the model are divided by: the temperature, or 1 if the model is not calibrated."""
        return self.temperature if self.metrics["calibrated"] else 1.0

    @property
    def share(self) -> float:
        """The share of the trained weights that the rows have chosen; 1 if they choose nothing."""
        return self.metrics.get("trained_share", 1.0)

    def fold_into(self, classifier: TextClassifier) -> None:
        """Gives the final model the temperature and the thresholds of the labels, as far as it is to have them."""
        divide_logits(classifier.model, self.divisor)
        if self.label_thresholds is not None:
            thresholds = dict(zip(classifier.labels, self.label_thresholds.tolist(), strict=True))
            classifier.model.config.label_thresholds = thresholds


def fit_with_estimate(
    prepared: Prepared, task: Task, folds: Folds | None, checkpoints: Path, listeners: Listeners, method: Any = None
) -> tuple[Fitted, Estimated | None]:
    """Trains the models of the estimate, then the model of the run, which is calibrated by it.

    Args:
        folds: None trains the model of the run alone.
        checkpoints: a folder for checkpoints, from which an interrupted run is continued.
        listeners: what is called during training; trackers are told of the model of the run only.
        method: an object that is used instead of the method of the plan, as of `prepare`.

    Returns:
        The classifier and how its training went; and the estimate, None if none is made, and in all processes but the
        main one.

    Raises:
        InputError: the loss, the outputs or the weights of a model are not finite.
    """
    plan, estimated = prepared.plan, None
    if folds is not None:
        estimated = estimate(prepared, task, folds, checkpoints / "estimate", listeners, method)
        if estimated is not None and plan.target_precision is not None and not task.multi_label:
            found, target = estimated.predictions, plan.target_precision
            numbers = abstention(
                found.probabilities, found.labels, task.labels, target, estimated.divisor, found.groups, plan.seed
            )[1]
            estimated = replace(estimated, abstention=numbers)
            listeners.note(abstention_sentences(numbers)[0])
        listeners.note("the model itself is trained")
    fitted = fit(prepared, checkpoints, listeners, 1.0 if estimated is None else estimated.share)
    if estimated is not None:
        estimated.fold_into(fitted.classifier)
    return fitted, estimated


def estimate(
    prepared: Prepared, task: Task, folds: Folds, place: Path, listeners: Listeners, method: Any = None
) -> Estimated | None:
    """Trains the models of an estimate and predicts the rows that they have not seen.

    Every process trains; the main one predicts.

    Args:
        prepared: the run; its model is not changed.
        task: the data of the run.
        folds: the labelled rows and their folds.
        place: a folder for checkpoints and finished folds, from which an interrupted estimate is continued.
        listeners: what is called during training; trackers are not told.
        method: an object that is used instead of the method of the plan, as of `prepare`.

    Returns:
        None in all processes but the main one.

    Raises:
        InputError: the loss or the weights of a model are not finite.
    """
    own = replace(listeners, tracking=UNTRACKED, iteration=lambda model: None)
    recipe = recipe_of_folds(prepared.plan, len(task.training), len(task.labels))
    found = []
    for number in folds.predicted:
        training, predicted = folds.divided(number)
        part = replace(task, training=training, validation=Texts([]), test=predicted)
        ready = partial(prepare, recipe, part, method=method)
        found.append(fold_result(folds, number, len(task.labels), place, ready, own))
    if not is_main_process():
        return None
    estimated = of_all_folds(folds, found, prepared.plan, task.labels)
    if "label_precision" in estimated.metrics:
        listeners.note(precision_sentences({"estimate": estimated.metrics})[0])
    return estimated


def recipe_of_folds(plan: Plan, rows: int, classes: int) -> Recipe:
    """What is asked of the models of an estimate: what the run uses, with steps that follow from their own rows.

    If the run has another number of steps than the one that follows from its rows, they have that number too. The
    batch size, the learning rate and all else are those of the run.
    """
    usual = max(1, round(default_steps(rows, classes, plan.batch_size) * plan.steps_factor))
    return Recipe(**{**vars(plan), "steps": None if plan.steps == usual else plan.steps})


def fold_result(
    folds: Folds, number: int, classes: int, place: Path, ready: Callable[[], Prepared], listeners: Listeners
) -> dict[str, np.ndarray]:
    """What the model of a fold predicts, as it was stored, or after it is trained. Every process trains.

    Args:
        classes: number of labels.
        place: a folder for checkpoints, which are removed in the end; what is predicted is stored there.
        ready: prepares the model, its training rows, and the predicted rows as its test rows.

    Returns:
        "rows" (R,), the numbers of the predicted rows among the labelled ones; "probabilities" (S, R, C) float32, of
        each share of the trained weights among which the estimate chooses, or of one share; "numbers" (4,), of
        training rows, steps, passes of texts, and seconds.

    Raises:
        InputError: the loss or the weights of the model are not finite.
    """
    rows = np.flatnonzero(folds.numbers == number)
    file, checkpoints = place / f"fold-{number}.npz", place / f"fold-{number}"
    if file.is_file():
        with np.load(file, allow_pickle=False) as arrays:
            stored = dict(arrays)
        same = np.array_equal(stored["rows"], rows) and stored["probabilities"].shape[1:] == (len(rows), classes)
        if same:  # else it is of other rows
            return stored
    seen = len(folds.numbers) - len(rows)
    listeners.note(
        f"estimate by {folds.kind}: model {number} of {len(folds.predicted)} is trained on {seen:,} rows "
        f"and predicts {len(rows):,}"
    )
    started = time.time()
    prepared = ready()
    assert prepared.test is not None  # no fold is empty
    beginning = Beginning(prepared.model) if prepared.plan.trained_share is None else None
    fitted = fit(prepared, checkpoints, listeners)
    result = {"rows": rows}
    if is_main_process():
        shares = [1.0] if beginning is None else beginning.at(SHARES)
        result["probabilities"] = np.stack([fitted.classifier.probabilities(prepared.test) for _ in shares])
        passes = text_passes(prepared, fitted)
        result["numbers"] = np.array([seen, fitted.steps, passes, time.time() - started])
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as unfinished, open(unfinished, "wb") as opened:
            np.savez(opened, **result)  # type: ignore[arg-type]
        shutil.rmtree(checkpoints, ignore_errors=True)
    PartialState().wait_for_everyone()  # the others may look for the file of the fold
    return result


def of_all_folds(
    folds: Folds, results: Sequence[dict[str, np.ndarray]], plan: Plan, names: Sequence[str]
) -> Estimated:
    """The predictions of all folds in the order of the rows, and their scores."""
    rows = np.concatenate([result["rows"] for result in results])
    order = np.argsort(rows)
    of_shares = np.concatenate([result["probabilities"] for result in results], 1)[:, order]
    rows, seed = rows[order], plan.seed
    texts = folds.texts.take(rows)
    labels, groups = texts.known_labels, None if folds.groups is None else folds.groups[rows]
    scoring, probabilities, chooses = labels_of(labels), of_shares[-1], len(of_shares) > 1
    if chooses:
        kept = chosen_share(of_shares, labels, groups)
        probabilities = cross_chosen(of_shares, labels, kept, groups, seed)
    seen, steps, passes, seconds = zip(*(result["numbers"].tolist() for result in results), strict=True)
    metrics: dict[str, Any] = {"kind": folds.kind, "rows": len(rows)}
    if groups is not None:
        metrics["groups"] = len(np.unique(groups))
    metrics |= scoring.with_intervals(probabilities, labels, groups, seed) | {
        "baselines": baseline_scores([folds.divided(fold) for fold in folds.predicted], probabilities.shape[1]),
        "training_rows": list(map(int, seen)), "steps": list(map(int, steps)), "text_passes": round(sum(passes), 3),
        "seconds": round(sum(seconds), 1),
    }  # fmt: skip
    if chooses:
        metrics["trained_share"] = SHARES[kept]
    metrics["calibrated"] = folds.calibrated
    metrics["temperature_scaling"] = scoring.cross_fitted(probabilities, labels, groups, seed)
    decided = thresholds = None
    if labels.ndim == 2:
        decided, metrics["label_thresholds"] = chosen_decisions(probabilities, labels, groups, seed)
        divisor = metrics["temperature_scaling"]["temperature"] if folds.calibrated else 1.0
        final = with_label_temperature(probabilities, divisor)
        if plan.target_precision is not None:
            # Unlike those with the best F1 they are not cross-fitted: all rows are decided by the thresholds of all.
            independent = np.arange(len(labels)) if groups is None else one_row_of_each(groups, seed)
            chosen = final[independent], labels[independent]
            thresholds = precision_thresholds(*chosen, plan.target_precision)
            decided = SEVERAL_LABELS.decisions(final, thresholds)
            metrics |= SEVERAL_LABELS.with_intervals(probabilities, labels, groups, seed, decided)
            metrics["label_thresholds"] = True
            metrics["label_precision"] = precision_numbers(*chosen, thresholds, names, plan.target_precision)
        elif metrics["label_thresholds"]:
            thresholds = find_label_thresholds(final, labels)
    predictions = Predictions(probabilities, labels, decided, groups, folds.numbers[rows])
    return Estimated(texts, predictions, metrics, thresholds)


def chosen_share(probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """The number of the share that is kept.

    Args:
        probabilities: (S, N, C) of the shares, the trained weights last.
        labels: (N,), class numbers, or (N, C), 0 and 1.
        groups: (N,) the group of each row, whose rows are often right or wrong together; None for rows that are
            independent.
    """
    scoring = labels_of(labels)
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
    scoring, first = labels_of(labels), half_of_rows(len(labels) if groups is None else groups, seed)
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


def abstention(
    probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str], target: float,
    temperature: float = 1.0, groups: np.ndarray | None = None, seed: int = 0,
) -> tuple[Thresholds, dict[str, Any]]:  # fmt: skip
    """The thresholds below which a classifier abstains, and what metrics.json says of them.

    Args:
        probabilities: (N, C) of the rows of the estimate, before scaling.
        labels: (N,), class numbers.
        names: of the C classes.
        target: the precision.
        temperature: that is folded into the model; thresholds are of the probabilities after it.
        groups: (N,) the group of each row, one row of which counts; None for rows that are independent.
        seed: of the rows that are drawn from the groups.

    Returns:
        The thresholds, and their numbers: "target_precision", "certainty", "thresholds", those of
        `decided_scores`, and "reachable" if nothing is decided.
    """
    if groups is not None:
        rows = one_row_of_each(groups, seed)
        probabilities, labels = probabilities[rows], labels[rows]
    final = with_temperature(probabilities, temperature)
    values = find_thresholds(final, labels, target)
    thresholds = Thresholds(dict(zip(names, values.tolist(), strict=True)), target, CERTAINTY)
    numbers = thresholds.as_json() | decided_scores(final, labels, thresholds, names)
    if (values == 1).all():
        numbers["reachable"] = reachable_precision(final, labels, target)
    return thresholds, numbers


def decided_scores(
    probabilities: np.ndarray, labels: np.ndarray, thresholds: Thresholds, names: Sequence[str]
) -> dict[str, Any]:
    """How many rows are decided, and how many of these are right, with Wilson's 95 % intervals.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        thresholds: of the classes.
        names: of the C classes.

    Returns:
        "rows" and "decided" as numbers, "coverage", the share that is decided, and "precision", the share of these
        that is right, each also with "_interval" appended. Without decided rows the precision is None.
    """
    decided = thresholds.decided(probabilities, names)
    right = int((probabilities.argmax(1) == labels)[decided].sum())
    rows, count = len(labels), int(decided.sum())
    return {
        "rows": rows, "decided": count,
        "coverage": count / rows, "coverage_interval": list(wilson_interval(count, rows)),
        "precision": right / count if count else None,
        "precision_interval": list(wilson_interval(right, count)) if count else None,
    }  # fmt: skip
