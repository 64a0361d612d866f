"""The estimate of a run: k-fold cross-validation of its plan, whose models predict the rows they were not trained on.

Out-of-fold predictions give the scores on new rows, the temperature and the thresholds of the final model, and, where
the plan leaves it open, the weight of the interpolation between initial and fine-tuned weights (`SHARES`).
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
import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list

from salience.classify import TextClassifier
from salience.classify.frozen_encoder import sentence_vectors
from salience.data.labels import loss_weights
from salience.data.long_texts import merged
from salience.data.splitting import group_numbers, stratified_parts
from salience.data.task import Task, all_labelled
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted
from salience.files import replacing
from salience.models.problem import to_probabilities
from salience.processes import is_main_process
from salience.runs.sentences import HEAD_ALONE, abstention_sentences, estimated_by, precision_sentences
from salience.scores import held_out
from salience.scores.calibration import with_label_temperature
from salience.scores.labels import SEVERAL_LABELS, labels_of
from salience.scores.predictions import Predictions
from salience.scores.thresholds import (
    CERTAINTY,
    chosen_decisions,
    find_label_thresholds,
    least_rows,
)
from salience.training.baselines import baseline_scores
from salience.training.callbacks import UNTRACKED, Beginning
from salience.training.fit import Fitted, Listeners, fit
from salience.training.head import choose_calibration, described_in, divide_logits, drawn, regression_of
from salience.training.passes import FORWARD, text_passes
from salience.training.prepare import Prepared, as_batch, checked, silent, with_initial_head
from salience.training.recipe import LARGE, Plan, Recipe, default_steps
from salience.work import tracked

HOLDOUT_FOLDS = 5  # of which the first one is held out
MANY = 5000  # training rows, from which on twice the time seems too much for a temperature; not measured
# Of the trained weights, among which rows choose: the first is the regression alone, and the last all of training.
SHARES = (0.0, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Folds:
    """The labelled rows of an estimate and the fold of each.

    Args:
        kind: "holdout" or "folds:K".
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

    @property
    def rows(self) -> Texts:
        """The rows that are predicted."""
        return self.texts.take(np.flatnonzero(np.isin(self.numbers, self.predicted)))

    def divided(self, number: int) -> tuple[Texts, Texts]:
        """The rows of all other folds, and those of this one."""
        inside = self.numbers == number
        return self.texts.take(np.flatnonzero(~inside)), self.texts.take(np.flatnonzero(inside))


def plan_estimate(prepared: Prepared, task: Task, note: Callable[[str], None]) -> Folds | None:
    """The estimate that the plan of a run asks for, checked before anything is trained; None if it asks for none."""
    plan = prepared.plan
    folds = choose_folds(plan, task, note)
    if folds is None:
        return None
    batch = as_batch(prepared.classifier.tokenizer, prepared.training, 0, 2)
    calibrated = choose_calibration(plan.calibrate, prepared.model, batch, note)
    if plan.target_precision is not None:
        check_target(plan.target_precision, folds)
    return replace(folds, calibrated=calibrated)


def usual_estimate(task: Task, most: int = 2) -> str:
    """The kind of estimate of a run that leaves it open, with up to `most` folds."""
    if task.taught is not None or len(task.validation) or (len(task.test) and len(task.training) >= MANY):
        return "none"
    return most_folds(task.training, most)


def most_folds(texts: Texts, most: int = 10) -> str:
    """The kind of estimate with as many folds as the classes have rows for, up to `most`."""
    return next((f"folds:{count}" for count in (10, 5, 2) if count <= most and not obstacle(texts, count)), "none")


def usual_folds(recipe: Recipe, rows: int) -> int:
    """The number of folds of a run that leaves the estimate open: more where their models cost less."""
    if recipe.trained_layers == 0:
        return 10
    return 5 if rows < LARGE and (recipe.steps_factor or 1) < 1 else 2


def choose_folds(recipe: Recipe, task: Task, note: Callable[[str], None]) -> Folds | None:
    """The folds of the training rows, and of validation rows of the same file; None if there is no estimate."""
    kind = recipe.estimate or usual_estimate(task, usual_folds(recipe, len(task.training)))
    if kind == "none":
        is_open = recipe.estimate is None and not len(task.validation) and task.taught is None
        reason = obstacle(task.training, 2) if is_open else ""
        remedy = f"none can be made, because {reason}:" if reason else "add --estimate folds:2, or"
        divided = len(task.validation) and not recipe.validation  # validation_share divides no group either
        asked = {
            f"--group {quoted(recipe.group)}": recipe.group is not None and not divided,
            "--set calibrate": recipe.calibrate,
            f"--target-precision {recipe.target_precision}": recipe.target_precision is not None,
        }
        for option, is_asked in asked.items():
            if is_asked:
                raise InputError(f"{option} has no effect without an estimate: {remedy} leave it out")
        if task.taught is None:  # else they are learnt from those of the teacher
            note(f"no estimate, so probabilities are not calibrated{': ' * bool(reason)}{reason}")
        return None
    texts = task.training if recipe.validation else all_labelled(task)
    count = HOLDOUT_FOLDS if kind == "holdout" else int(kind.partition(":")[2])
    if reason := obstacle(texts, count):
        remedy = "add rows, or use --estimate none" if kind == "folds:2" else "use --estimate folds:2, or none"
        raise InputError(f"--estimate {kind} divides the rows into {count} parts, but {reason}: {remedy}")
    numbers = fold_numbers(texts, count, recipe.seed)
    folds = Folds(kind, texts, numbers, None if texts.groups is None else group_numbers(texts))
    if unseen := [quoted(task.labels[label]) for label in unseen_labels(folds)]:
        note(f"estimate: all rows of {listed(unseen, 5)} are in one fold, whose model never saw such rows")
    return folds


def obstacle(texts: Texts, count: int) -> str:
    """Why N labelled texts cannot be divided into so many stratified folds, in words; empty if they can be."""
    labels = texts.known_labels
    largest = int(labels_of(labels).support(labels, 0).max())
    if largest < count:
        return f"no class has more than {counted(largest, 'row')}"
    groups = len(set(group_numbers(texts).tolist()))
    if groups < count:
        return f"the rows have only {counted(groups, 'group' if texts.groups else 'text')}"
    return ""


def fold_numbers(texts: Texts, count: int, seed: int) -> np.ndarray:
    """The fold of each of N labelled texts (N,), from 1 to `count`, stratified by class, so that no group is divided.

    Without groups, equal texts are one. `obstacle` says what makes it impossible.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    labels, groups = texts.known_labels, group_numbers(texts)
    if labels_of(labels).several:
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
    """The labels of which all rows are in one predicted fold, whose model is not trained on them, in order."""
    labels, predicted = folds.texts.known_labels, set(folds.predicted)
    found = []
    for label, rows in enumerate(labels_of(labels).right(labels, labels.max() + 1).T):
        of_label = set(folds.numbers[rows].tolist())
        if len(of_label) == 1 and of_label <= predicted:
            found.append(label)
    return found


def check_target(target: float, folds: Folds) -> None:
    """Raises an `InputError` if a target precision would be out of reach if all rows of an estimate were right.

    Where texts are multi-label, the rows of the most frequent label must be enough for that one.
    """
    predicted, labels = np.isin(folds.numbers, folds.predicted), folds.texts.known_labels
    several = labels_of(labels).several
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
    """Out-of-fold predictions of an estimate, and what follows for the final model.

    Attributes:
        texts: the predicted rows, in the order of the file.
        predictions: of these rows, each by the model that was not trained on it, with the interpolation weight that
            other rows have chosen.
        metrics: what metrics.json says of the estimate.
        label_thresholds: (C,) where texts are multi-label and the final model is to have thresholds.
        abstention: as of `held_out.abstention`; None if the final model decides every text.
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
    def share(self) -> float:
        """The interpolation weight that the rows have chosen: 1, the fine-tuned weights, if they choose nothing."""
        return self.metrics.get("trained_share", 1.0)


def fit_with_estimate(
    prepared: Prepared, task: Task, folds: Folds | None, checkpoints: Path, listeners: Listeners, method: Any = None
) -> tuple[Fitted, Estimated | None]:
    """Trains the models of the estimate, then the model of the run, to which it gives temperature and thresholds.

    Args:
        folds: None trains the model of the run alone.
        checkpoints: a folder for checkpoints, from which an interrupted run is continued.
        method: an object that is used instead of the method of the plan, as of `prepare`.

    Returns:
        How the training went; and the estimate, None if none is made, and in all processes but the main one.

    Raises:
        InputError: the loss, the outputs or the weights of a model are not finite.
    """
    estimated = None
    listeners.planned(prepared.plan.steps + (0 if folds is None else steps_of_folds(prepared.plan, task, folds)))
    if folds is not None:
        estimated = estimate(prepared, task, folds, checkpoints / "estimate", listeners, method)
        if prepared.plan.trained_layers != 0:
            listeners.note("training the model that is saved, on all rows")
    # The main process alone has the estimate. With a share of 0 nothing is trained, so all have to know it.
    [share] = broadcast_object_list([1.0 if estimated is None else estimated.share])
    fitted = fit(prepared, checkpoints, listeners, share)
    if estimated is not None:
        classifier = fitted.classifier
        divide_logits(classifier.model, estimated.temperature if estimated.metrics["calibrated"] else 1.0)
        if estimated.label_thresholds is not None:
            thresholds = dict(zip(classifier.labels, estimated.label_thresholds.tolist(), strict=True))
            classifier.model.config.label_thresholds = thresholds
    return fitted, estimated


def estimate(
    prepared: Prepared, task: Task, folds: Folds, place: Path, listeners: Listeners, method: Any = None
) -> Estimated | None:
    """Trains the models of an estimate and predicts the rows that they were not trained on.

    Every process trains; the main one predicts, and the others get None. The model of the run is not changed.

    Args:
        place: a folder for checkpoints and finished folds, from which an interrupted estimate is continued.
        listeners: what is called during training; trackers are not told.

    Raises:
        InputError: the loss or the weights of a model are not finite.
    """
    own = replace(listeners, tracking=UNTRACKED, iteration=lambda model: None)
    plan, started, found = prepared.plan, time.time(), []
    alone, heads = dict[str, Any](), None
    recipe = recipe_of_folds(plan, len(task.training) + len(task.further), len(task.labels))
    if plan.head_start == "logistic":
        more = more_folds(plan, task, folds)
        heads, *of_more = heads_alone(prepared, task, [folds, *more])
        scoring = prepared.classifier.kind
        alone["head_alone"] = scores = scoring.detailed(heads.probabilities, folds.rows.known_labels)
        same = np.isin(folds.numbers, folds.predicted)  # a holdout predicts some rows only
        for each, of_all in zip(more, of_more, strict=True):
            more_scores = scoring.detailed(of_all.probabilities[same], folds.rows.known_labels)
            alone["head_alone_of_more"] = {"kind": each.kind, **more_scores}
        if is_main_process():
            shown = f"{scoring.main_title} {scores[scoring.main]:.3f}"
            listeners.note(f"{HEAD_ALONE}: {shown} by {estimated_by(folds.kind)}")
    if heads is not None and plan.trained_layers == 0:  # then these are the models of the folds
        alone, found = {}, untrained_results(folds, heads, time.time() - started)
    else:
        for number in folds.predicted:
            training, predicted = folds.divided(number)
            part = replace(task, training=training, validation=Texts([]), test=predicted)
            regression = None if heads is None else heads.regressions.get(number)
            ready = partial(prepared_fold, prepared, recipe, part, method, regression)
            found.append(fold_result(folds, number, len(task.labels), place, ready, own, heads))
    if not is_main_process():
        return None
    estimated = of_all_folds(folds, found, plan, task.labels)
    estimated.metrics.update(alone)
    if heads is not None:
        estimated.metrics["text_passes"] = round(estimated.metrics["text_passes"] + heads.passes, 3)
    if "label_precision" in estimated.metrics:
        listeners.note(precision_sentences({"estimate": estimated.metrics})[0])
    if estimated.abstention is not None:
        listeners.note(abstention_sentences({"abstention": estimated.abstention})[0])
    return estimated


@dataclass(frozen=True)
class Heads:
    """Heads alone: logistic regressions on the frozen encoder, each fitted on the rows of all folds but one.

    Attributes:
        probabilities: (N, C) float32 of the predicted rows.
        regressions: by the number of a fold, the weights (C, D) and biases (C,) that initialise the head of its model.
            There is none for a fold without which all rows are of one class.
        passes: of texts, for the vectors.
    """

    probabilities: np.ndarray
    regressions: dict[int, tuple[np.ndarray, np.ndarray]]
    passes: float


@torch.no_grad()
def heads_alone(prepared: Prepared, task: Task, divisions: Sequence[Folds]) -> list[Heads]:
    """The heads that initialise the models of an estimate, for each of some divisions of the same texts."""
    classifier, plan, texts = prepared.classifier, prepared.plan, divisions[0].texts
    rows, vectors, passes = prepared.training, prepared.vectors, 0.0
    if vectors is None or len(vectors) < len(rows) or len(texts) > len(task.training) or len(task.further):
        rows = classifier.read(replace(task, training=replace(texts, marks=None, ignore=None)).to_train_on)
        with classifier.computing():
            vectors, passes = sentence_vectors(classifier.model, rows), FORWARD * len(rows)
    further = None
    if len(task.further):
        parts = [replace(task, training=folds.divided(each)[0]) for folds in divisions for each in folds.predicted]
        of_parts, read = further_vectors(classifier, [part.further for part in parts])
        further, passes = iter(of_parts), passes + FORWARD * read
    owners = rows.text_numbers  # windows of a text have its fold
    labels, found = np.asarray(rows.labels), []
    described = described_in(rows, task.descriptions)
    for folds in divisions:
        numbers = np.concatenate([folds.numbers, np.zeros(len(task.descriptions), int)])[owners]  # no fold predicts 0
        logits, regressions = np.zeros((len(rows), len(task.labels))), {}
        for number in tracked(folds.predicted, len(folds.predicted), "fitting regressions", "folds"):
            inside, training = numbers == number, folds.divided(number)[0].known_labels
            others, of_labels = (numbers != number) & (numbers != 0), numbers == 0
            more = (vectors[:0], labels[:0]) if further is None else next(further)
            known = np.concatenate([vectors[others], more[0], vectors[of_labels]])
            of_known = np.concatenate([labels[others], more[1], labels[of_labels]])
            if len(np.unique(of_known)) > 1:
                kept, weights = drawn(len(known)), loss_weights(plan.class_weights, training, task.labels)
                own = regression_of(
                    known[kept], of_known[kept], len(task.labels), weights, plan.head_strength, described
                )
                logits[inside] = vectors[inside] @ own[0].T + own[1]
                regressions[number] = own
        probabilities = to_probabilities(classifier.kind, torch.from_numpy(logits)).float().numpy()
        if rows.owners is not None:
            probabilities = merged(probabilities, owners, classifier.multi_label)
        predicted = np.isin(folds.numbers, folds.predicted)
        found.append(Heads(probabilities[: len(texts)][predicted], regressions, passes))
    return found


def further_vectors(
    classifier: TextClassifier, parts: Sequence[Texts]
) -> tuple[list[tuple[np.ndarray, np.ndarray]], int]:
    """For each of some parts, what the head reads of its texts or their windows (M, D), and their labels.

    A text that is in several parts is read once; the number of those that are read comes last.
    """
    rows = [list(zip(*part.columns, strict=True)) for part in parts]
    unique = list(dict.fromkeys(row for part in rows for row in part))
    columns = [list(column) for column in zip(*unique, strict=True)]
    encoded = classifier.read(Texts(columns[0], columns[1] if len(columns) > 1 else None))
    with classifier.computing():
        vectors = sentence_vectors(classifier.model, encoded)
    windows = {row: np.flatnonzero(encoded.text_numbers == number) for number, row in enumerate(unique)}
    found = []
    for part, own in zip(parts, rows, strict=True):
        places = [windows[row] for row in own]
        labels = np.repeat(part.known_labels, list(map(len, places)), axis=0)
        found.append((vectors[np.concatenate([np.zeros(0, int), *places])], labels))
    return found, len(encoded)


def more_folds(plan: Plan, task: Task, folds: Folds) -> list[Folds]:
    """The division of the same rows into `most_folds`; none if the estimate has as many."""
    kind = most_folds(folds.texts)
    count = HOLDOUT_FOLDS if folds.kind == "holdout" else len(folds.predicted)
    if kind == "none" or int(kind.partition(":")[2]) <= count:
        return []
    try:
        found = choose_folds(replace(plan, estimate=kind), task, silent)
    except InputError:  # groups are too large for so many parts, which nobody has asked for
        return []
    return [] if found is None else [found]


def untrained_results(folds: Folds, heads: Heads, seconds: float) -> list[dict[str, np.ndarray]]:
    """As of `fold_result`, of models that make no step."""
    found = []
    for number in folds.predicted:
        rows = np.flatnonzero(folds.numbers == number)
        numbers = np.array([len(folds.texts) - len(rows), 0, 0.0, seconds / len(folds.predicted)])
        found.append({"rows": rows, "probabilities": predicted_by(heads, folds, rows)[None], "numbers": numbers})
    return found


def predicted_by(heads: Heads, folds: Folds, rows: np.ndarray) -> np.ndarray:
    """The probabilities (R, C) of the rows with these numbers (R,) among those of the folds."""
    return heads.probabilities[np.searchsorted(np.flatnonzero(np.isin(folds.numbers, folds.predicted)), rows)]


def prepared_fold(
    prepared: Prepared, recipe: Recipe, part: Task, method: Any, regression: tuple[np.ndarray, np.ndarray] | None
) -> Prepared:
    """The model of a fold: a copy of that of the run, which is not trained yet. Its file need not be read again."""
    return with_initial_head(checked(recipe, part, classifier=prepared.untrained(), method=method), part, regression)


def recipe_of_folds(plan: Plan, rows: int, classes: int) -> Recipe:
    """What the run uses, with steps that follow from the rows of a fold, unless the run has a number of its own."""
    usual = max(1, round(default_steps(rows, classes, plan.batch_size) * plan.steps_factor))
    return Recipe(**{**vars(plan), "steps": None if plan.steps == usual else plan.steps})


def steps_of_folds(plan: Plan, task: Task, folds: Folds) -> int:
    """The number of steps of all models of an estimate."""
    rows, classes = len(task.training) + len(task.further), len(task.labels)
    steps = recipe_of_folds(plan, rows, classes).steps
    if steps is not None:
        return steps * len(folds.predicted)
    parts = (replace(task, training=folds.divided(number)[0]) for number in folds.predicted)
    counts = (len(part.training) + len(part.further) for part in parts)
    return sum(max(1, round(default_steps(each, classes, plan.batch_size) * plan.steps_factor)) for each in counts)


def fold_result(
    folds: Folds,
    number: int,
    classes: int,
    place: Path,
    ready: Callable[[], Prepared],
    listeners: Listeners,
    heads: Heads | None = None,
) -> dict[str, np.ndarray]:
    """What the model of a fold predicts, as it was stored in `place`, or after it is trained.

    "rows" (R,) are the numbers of the predicted rows among the labelled ones; "probabilities" (S, R, C) float32 are of
    each interpolation weight among which the estimate chooses, or of one; "numbers" are training rows, steps, passes
    of texts, and seconds.
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
        f"{estimated_by(folds.kind)}: model {number} of {len(folds.predicted)} is trained on {seen:,} rows and "
        f"predicts {len(rows):,}"
    )
    started = time.time()
    prepared = ready()
    assert prepared.test is not None  # no fold is empty
    beginning = Beginning(prepared.model) if prepared.plan.trained_share is None else None
    fitted = fit(prepared, checkpoints, listeners)
    result = {"rows": rows}
    if is_main_process():
        shares = [1.0] if beginning is None else beginning.at(SHARES if heads is None else SHARES[1:])
        of_shares = [fitted.classifier.probabilities(prepared.test) for _ in shares]
        if heads is not None and beginning is not None:
            of_shares.insert(0, predicted_by(heads, folds, rows))  # a share of 0 is the head alone
        result["probabilities"] = np.stack(of_shares)
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
        kept = held_out.chosen_share(of_shares, labels, groups)
        probabilities = held_out.cross_chosen(of_shares, labels, kept, groups, seed)
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
    divisor = metrics["temperature_scaling"]["temperature"] if folds.calibrated else 1.0
    target, decided, thresholds, abstention = plan.target_precision, None, None, None
    if not scoring.several:
        if target is not None:
            abstention = held_out.abstention(probabilities, labels, names, target, divisor, groups, seed)
    else:
        decided, metrics["label_thresholds"] = chosen_decisions(probabilities, labels, groups, seed)
        final = with_label_temperature(probabilities, divisor)
        if target is not None:
            # Unlike those with the best F1 they are not cross-fitted: all rows are decided by the thresholds of all.
            thresholds, metrics["label_precision"] = held_out.label_precision(
                probabilities, labels, names, target, divisor, groups, seed
            )
            decided = SEVERAL_LABELS.decisions(final, thresholds)
            metrics |= SEVERAL_LABELS.with_intervals(probabilities, labels, groups, seed, decided)
            metrics["label_thresholds"] = True
        elif metrics["label_thresholds"]:
            thresholds = find_label_thresholds(final, labels)
    predictions = Predictions(probabilities, labels, decided, groups, folds.numbers[rows])
    return Estimated(texts, predictions, metrics, thresholds, abstention)
