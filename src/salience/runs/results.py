"""What a run found, in its folder: predictions, scores, the loss over the steps, facts on the data."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import yaml

from salience._version import __version__
from salience.data.encoding import Encoded, encode_texts
from salience.data.splitting import contradictions, shared_rows, stripped
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, one_line
from salience.files import replacing, write_json, write_lines, write_whole
from salience.runs.folder import (
    ABSTENTION,
    CORRECTED,
    EXPORT,
    FACTS,
    HISTORY,
    METRICS,
    OUT_OF_FOLD,
    PREDICTIONS,
    PROBABILITIES,
    RECIPE,
    is_run,
    no_run,
    read_recipe,
)
from salience.runs.sentences import judge_of, judged_scores
from salience.scores.labels import labels_of
from salience.scores.predictions import Predictions
from salience.scores.thresholds import one_row_of_each

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# What reading the files of a damaged run raises.
DAMAGED = (
    OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, RecursionError, BadZipFile,
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A finished run, as its folder tells it.

    Attributes:
        recipe: the settings.
        metrics: as in metrics.json.
        labels: the names of the C labels; empty if nothing tells them.
        predictions: of the rows that the run is judged on, see `judge_of`; None if no labelled row was kept from the
            training.
        history: as of `history_of`; empty for runs that did not keep it.
        facts: as of `data_facts`; None for runs that did not keep them.
        corrected: as of `corrected_rows`; empty without corrections.
        task, classifier: the labelled texts and the trained model, of a run that this process has made.
    """

    folder: Path
    recipe: dict[str, Any]
    metrics: dict[str, Any]
    labels: list[str]
    predictions: Predictions | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] | None = None
    corrected: list[dict[str, Any]] = field(default_factory=list)
    task: Task | None = None
    classifier: Any = None

    @property
    def judge(self) -> str:
        """The rows that the run is judged on: "test", "estimate" or "validation"; empty if nothing was measured."""
        return judge_of(self.metrics) or ""

    @property
    def judged_file(self) -> str:
        """The file in the folder that has the texts of these rows, a line for each."""
        return OUT_OF_FOLD[0] if self.judge == "estimate" else PREDICTIONS


def read_run(folder: str | Path) -> Run:
    """Reads the results of a run.

    Raises:
        InputError: the folder is no run, or its files are damaged.
    """
    place = Path(folder).expanduser()
    if not is_run(place):
        raise no_run(folder)

    def content(name: str) -> Any:
        return json.loads((place / name).read_text(encoding="utf-8"))

    try:
        metrics, recipe = content(METRICS), read_recipe(place / RECIPE)
        judged_scores(metrics)  # they are there
        labels: list[str] = []
        predictions, judge = None, judge_of(metrics)
        if judge is not None:
            rows = metrics["estimate"]["rows"] if judge == "estimate" else metrics["rows"][judge]
            files = OUT_OF_FOLD if judge == "estimate" else (PREDICTIONS, PROBABILITIES)
            labels, predictions = read_predictions(place, files)
            if len(predictions) != rows:
                raise ValueError(f"{files[1]} does not have the rows of {METRICS}")
        facts = content(FACTS) if (place / FACTS).is_file() else None
        history = content(HISTORY) if (place / HISTORY).is_file() else []
        if not all(isinstance(row, dict) for row in history):
            raise ValueError(f"{HISTORY} is no list of steps")
        corrected = []
        if (place / CORRECTED).is_file():
            lines = (place / CORRECTED).read_text(encoding="utf-8").split("\n")
            corrected = [json.loads(line) for line in lines if line]
            if not all({"label", "predicted", "marks", "ignore", "before"} <= row.keys() for row in corrected):
                raise ValueError(f"a line of {CORRECTED} is no corrected row")
        classes = [] if facts is None else list(facts["parts"]["training"]["classes"])  # they are there
        return Run(place, recipe, metrics, labels or classes, predictions, history, facts, corrected)
    except InputError:
        raise
    except DAMAGED as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{folder} is damaged ({reason}): train it again") from error


def write_results(
    folder: Path, recipe: Mapping[str, Any], metrics: Mapping[str, Any], labels: list[str],
    judged: tuple[Texts, Predictions] | None = None, estimated: tuple[Texts, Predictions] | None = None,
) -> None:  # fmt: skip
    """Writes the files of a run but the model, its tokenizer and its card to a folder.

    `judged` are the test rows, or else the validation rows; `estimated` those of the estimate; None if there are none.
    """
    folder.mkdir(exist_ok=True)
    write_json(folder / METRICS, metrics)
    for rows, files in ((judged, (PREDICTIONS, PROBABILITIES)), (estimated, OUT_OF_FOLD)):
        if rows is not None:
            write_predictions(folder, *rows, labels, files)
    if "abstention" in metrics:
        write_abstention(folder, metrics["abstention"])
    write_whole(folder / RECIPE, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))


def write_abstention(folder: Path, numbers: Mapping[str, Any]) -> None:
    """Writes the thresholds below which a classifier abstains, by what metrics.json says of them."""
    names = ("target_precision", "certainty", "thresholds")
    write_json(folder / ABSTENTION, {name: numbers[name] for name in names})


def about(device: str, threads: int) -> dict[str, dict[str, Any]]:
    """What metrics.json says of versions and machine: with the same ones, weights are the same to the last bit."""
    machine = {"processor": platform.machine(), "device": device, "threads": threads}
    return {"versions": versions(), "machine": machine}


@cache  # a run reads them for its metrics; the metadata of a package are read from its files each time
def versions() -> dict[str, str]:
    """The versions of Python and of the libraries on which results depend, by name."""
    found = {name: version(name) for name in ("torch", "transformers", "datasets", "tokenizers")}
    return {"salience": __version__, **found, "python": platform.python_version()}  # it may not be installed itself


def write_predictions(
    folder: Path, texts: Texts, predictions: Predictions, labels: list[str], files: tuple[str, str]
) -> None:
    """Writes predictions as lines, with their texts, and as arrays; `files` are the names of both files."""
    scoring = labels_of(predictions.labels)
    right, decisions = scoring.right(predictions.labels, len(labels)), predictions.decisions
    given = {"fold": predictions.folds, "group": predictions.groups}
    more: dict[str, Any] = {name: values for name, values in given.items() if values is not None}

    def names(chosen: np.ndarray) -> str | list[str]:
        found = [labels[number] for number in np.flatnonzero(chosen)]
        return found if scoring.several else found[0]

    def row_of(index: int) -> dict[str, Any]:
        return (
            ({} if texts.files is None else {"file": texts.files[index]})
            | {"row": texts.rows[index] if texts.rows else index + 1, "text": texts.texts[index]}
            | ({} if texts.second is None else {"text_pair": texts.second[index]})
            | {"label": names(right[index]), "predicted": names(decisions[index])}
            | {"probabilities": [round(float(value), 6) for value in predictions.probabilities[index]]}
            | {name: int(values[index]) for name, values in more.items()}
        )

    write_lines(folder / files[0], map(row_of, range(len(texts))))
    with replacing(folder / files[1]) as unfinished, open(unfinished, "wb") as file:
        arrays: dict[str, Any] = {"probabilities": predictions.probabilities, "labels": predictions.labels}
        arrays |= {} if predictions.decided is None else {"decided": predictions.decided}
        np.savez(file, **arrays, names=np.array(labels, str), **more)


def read_predictions(
    folder: Path, files: tuple[str, str] = (PREDICTIONS, PROBABILITIES), with_rows: bool = False
) -> tuple[list[str], Predictions]:
    """The names of the C labels, and the predictions that `write_predictions` wrote; raises one of `DAMAGED`.

    The numbers of the rows, in the file of lines, are read if asked for.
    """
    rows = None
    if with_rows:
        with (folder / files[0]).open(encoding="utf-8", newline="\n") as lines:
            rows = np.array([json.loads(line)["row"] for line in lines], int)
    with np.load(folder / files[1], allow_pickle=False) as found:
        names = [str(name) for name in found["names"]]
        predictions = Predictions(
            found["probabilities"], found["labels"], found.get("decided"), found.get("group"), found.get("fold"), rows
        )
    if predictions.probabilities.shape[1] != len(names):
        raise ValueError(f"{files[1]} does not have a probability for each label")
    return names, predictions


def texts_of(rows: Sequence[Mapping[str, Any]]) -> Texts:
    """The texts of lines of a run's predictions."""
    pairs = [row["text_pair"] for row in rows if "text_pair" in row]
    return Texts([row["text"] for row in rows], pairs or None, rows=[row["row"] for row in rows])


@dataclass(frozen=True)
class OutOfFold:
    """Out-of-fold predictions: the rows of the estimate of a run, each predicted by a model not trained on it.

    Attributes:
        names: of the C labels.
        predictions: before the temperature.
        temperature: that is folded into the model of the run; 1 if there is none.
    """

    names: list[str]
    predictions: Predictions
    temperature: float

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Those of the rows (N, C) as the model of the run is scaled."""
        own = self.predictions
        return labels_of(own.labels).with_temperature(own.probabilities, self.temperature)

    def independent(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities (M, C), scaled, and labels of rows that are independent: one row of each group."""
        groups, labels = self.predictions.groups, self.predictions.labels
        rows = np.arange(len(labels)) if groups is None else one_row_of_each(groups, seed)
        return self.probabilities[rows], labels[rows]


def read_out_of_fold(model: str | Path, asked: str) -> OutOfFold:
    """The rows of the estimate of a run.

    Args:
        asked: what needs them, for messages.

    Raises:
        InputError: the folder has none, or they are damaged.
    """
    folder = Path(model).expanduser()
    file = folder / OUT_OF_FOLD[1]
    if not file.is_file():
        exported = f"name the run that {model} was exported from"
        way_out = exported if (folder / EXPORT).is_file() else "train it with --estimate folds:5"
        raise InputError(
            f"{asked} needs the out-of-fold predictions of a run, and {model} has no {file.name}: {way_out}"
        )
    try:
        names, found = read_predictions(folder, OUT_OF_FOLD)
        estimate = json.loads((folder / METRICS).read_text(encoding="utf-8"))["estimate"]
        temperature = float(estimate["temperature_scaling"]["temperature"]) if estimate["calibrated"] else 1.0
        if not 0 < temperature < inf or not ((found.probabilities >= 0) & (found.probabilities <= 1)).all():
            raise ValueError("a temperature or a probability is no such number")
    except DAMAGED as error:
        raise InputError(f"{file} or {METRICS} beside it is damaged: {one_line(error, 200)}") from error
    return OutOfFold(names, found, temperature)


def unseen_predictions(model: str | Path, labels: Sequence[str]) -> dict[tuple[str, ...], np.ndarray]:
    """The probabilities (C,) of the rows of a run's estimate, by their texts, or pairs, without the space around them.

    Each is by a model that was not trained on the text. There are none without an estimate, or of other labels.
    """
    folder = Path(model).expanduser()
    if not (folder / OUT_OF_FOLD[1]).is_file():
        return {}
    found = read_out_of_fold(folder, "the estimate")
    if found.names != list(labels):
        return {}
    texts = texts_of(read_rows(folder, range(len(found.predictions)), OUT_OF_FOLD[0]))
    return dict(zip(stripped(texts), found.probabilities, strict=True))


def read_rows(folder: Path, rows: Sequence[int], name: str = PREDICTIONS) -> list[dict[str, Any]]:
    """Some of the lines, counted from 0, of a run's file of predictions, in the order asked for."""
    wanted, found, file = set(rows), {}, folder / name
    if not wanted:
        return []
    try:
        # Texts contain line ends of Unicode, which only splitting at "\n" leaves alone.
        with open(file, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines):
                if number in wanted:
                    row = found[number] = json.loads(line)
                    texts = [row["text"], row.get("text_pair", "")]
                    for labels in (row["label"], row["predicted"]):
                        texts += labels if isinstance(labels, list) else [labels]
                    if not all(isinstance(text, str) for text in texts) or not isinstance(row["row"], int):
                        raise ValueError("a row has no text, label or prediction")
        return [found[number] for number in rows]
    except DAMAGED as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{file} is damaged ({reason}): remove {folder} to run it again") from error


# What the Trainer calls the values that are kept, and their names in the file.
KEPT = {
    "loss": "loss",
    "eval_accuracy": "validation_accuracy",
    "eval_macro_f1": "validation_macro_f1",
    "eval_micro_f1": "validation_micro_f1",
    "eval_ranking_precision": "validation_ranking_precision",
    "eval_log_loss": "validation_log_loss",
}


def history_of(logs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points of the curves in the Trainer's `log_history`: "step", and what of `KEPT` was measured there.

    The training loss is a mean over the steps since the point before. Numbers that are not finite are None. Times and
    learning rates are left out: the file is the same if the run is repeated.
    """
    points: dict[int, dict[str, Any]] = {}
    for log in logs:
        values = {name: float(log[logged]) for logged, name in KEPT.items() if logged in log}
        found = {name: value if isfinite(value) else None for name, value in values.items()}
        if found:
            step = int(log["step"])
            points.setdefault(step, {"step": step}).update(found)
    return [points[step] for step in sorted(points)]


def corrected_rows(
    before: Mapping[tuple[str, ...], Mapping[str, Any]], texts: Texts, predictions: Predictions, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """The lines of corrected.jsonl: each corrected text, or pair, with its marks, its labels and the predicted ones.

    Args:
        before: of a `Task`.
        texts: N texts, of which those that were corrected are taken, each once.
        predictions: of these N texts.
        labels: the names of the C labels.
    """
    keys = stripped(texts)
    right = labels_of(predictions.labels).right(predictions.labels, len(labels))
    folds, found = predictions.folds, list[dict[str, Any]]()
    for number in sorted(dict(zip(reversed(keys), reversed(range(len(keys))), strict=True)).values()):
        if keys[number] not in before:
            continue
        of_row = {"label": right[number], "predicted": predictions.decisions[number]}
        found.append(
            ({} if texts.files is None else {"file": texts.files[number]})
            | {"row": texts.rows[number] if texts.rows else number + 1, "text": texts.texts[number]}
            | ({} if texts.second is None else {"text_pair": texts.second[number]})
            | {name: [labels[each] for each in np.flatnonzero(chosen).tolist()] for name, chosen in of_row.items()}
            | {"marks": (texts.marks or {number: []})[number], "ignore": (texts.ignore or {number: []})[number]}
            | {"fold": None if folds is None else int(folds[number]), "before": dict(before[keys[number]])}
        )
    return found


def data_facts(
    task: Task, encoded: Mapping[str, Encoded], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> dict[str, Any]:
    """Facts on every part of the data, as data_facts.json has them.

    "tokens" are lengths before texts are cut, special tokens included. "duplicates" are rows whose text is in an
    earlier row of the part, "contradictions" those whose text is there with another label too, "in_training" those
    whose text is in the training part. Texts are compared without the space around them.

    Args:
        encoded: the parts that there are. Descriptions of labels may follow the training texts.
        tokenizer, max_length: of the classifier that reads them.
    """
    texts = {"training": task.training, "validation": task.validation, "test": task.test}
    parts = {}
    for role, rows in encoded.items():
        part = texts[role]
        labels, lengths = part.known_labels, whole_lengths(part, rows, tokenizer)
        counts = labels_of(labels).support(labels, len(task.labels)).tolist()
        parts[role] = {
            "rows": len(part),
            "classes": dict(zip(task.labels, counts, strict=True)),
            "tokens": {
                "median": float(np.median(lengths)),
                "percentile_95": int(np.quantile(lengths, 0.95, method="inverted_cdf")),
                "longest": int(lengths.max()),
            },
            "cut": int(rows.cut_texts[: len(part)].sum()),
            "duplicates": len(part) - len(set(stripped(part))),
            "contradictions": contradictions(part),
        } | ({} if role == "training" else {"in_training": shared_rows(task.training, part)})
        if task.multi_label:
            parts[role] |= {
                "no_label": int((labels.sum(1) == 0).sum()),
                "several_labels": int((labels.sum(1) > 1).sum()),
            }
    return {"max_length": max_length, "parts": parts}


def whole_lengths(texts: Texts, encoded: Encoded, tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """The number of tokens of each text (N,) before it is cut."""
    if encoded.owners is not None:
        return encode_texts(tokenizer, texts.texts, texts.second).lengths
    lengths = encoded.lengths[: len(texts)].copy()  # descriptions of labels come after the texts
    if encoded.cut.any():
        cut = np.flatnonzero(encoded.cut[: len(texts)])
        whole = texts.take(cut)
        lengths[cut] = encode_texts(tokenizer, whole.texts, whole.second).lengths
    return lengths
