"""What a run found, in its folder and in words: predictions, scores, the loss over the steps, facts on the data."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import yaml

from salience.data.encoding import Encoded, encode_texts
from salience.data.splitting import contradictions, shared_rows, stripped
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError, listed, one_line, quoted
from salience.files import replacing, write_json, write_lines, write_whole
from salience.runs.folder import (
    ABSTENTION,
    FACTS,
    HISTORY,
    METRICS,
    OUT_OF_FOLD,
    PREDICTIONS,
    PROBABILITIES,
    RECIPE,
    read_recipe,
)
from salience.scores.labels import AT_THRESHOLDS, labels_in
from salience.scores.predictions import Predictions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# What reading the files of a damaged run raises.
DAMAGED = (
    OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, RecursionError, BadZipFile,
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A finished run as its folder tells it.

    Attributes:
        folder: of the run.
        recipe: the settings.
        metrics: as in metrics.json.
        labels: the names of the C labels; empty if nothing tells them.
        predictions: of the rows that the run is judged on, see `judge_of`; None if no labelled row was kept from the
            training.
        history: as of `history_of`; empty for runs that did not keep it.
        facts: as of `data_facts`; None for runs that did not keep them.
    """

    folder: Path
    recipe: dict[str, Any]
    metrics: dict[str, Any]
    labels: list[str]
    predictions: Predictions | None
    history: list[dict[str, Any]]
    facts: dict[str, Any] | None

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
    if not all((place / name).is_file() for name in (METRICS, RECIPE)):
        raise InputError(f"{folder} is no run: name a folder that `salience train` has written")

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
        labels = labels or ([] if facts is None else list(facts["parts"]["training"]["classes"]))
        return Run(place, recipe, metrics, labels, predictions, history, facts)
    except InputError:
        raise
    except DAMAGED as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{folder} is damaged ({reason}): train it again") from error


def write_results(
    folder: Path, recipe: Mapping[str, Any], metrics: Mapping[str, Any], labels: list[str],
    judged: tuple[Texts, Predictions] | None = None, estimated: tuple[Texts, Predictions] | None = None,
) -> None:  # fmt: skip
    """Writes the files of a run but the model, its tokenizer and its card to a new folder.

    Args:
        folder: replaced if it exists.
        recipe: the settings.
        metrics: the content of metrics.json; with `about`.
        labels: the names of the C labels.
        judged: the test rows, or else the validation rows; None if nothing was held out.
        estimated: the rows of the estimate; None if there is none.
    """
    shutil.rmtree(folder, ignore_errors=True)  # a process was killed while it wrote this folder
    folder.mkdir()
    write_json(folder / METRICS, metrics)
    for rows, files in ((judged, (PREDICTIONS, PROBABILITIES)), (estimated, OUT_OF_FOLD)):
        if rows is not None:
            write_predictions(folder, *rows, labels, files)
    if "abstention" in metrics:
        names = ("target_precision", "certainty", "thresholds")
        write_json(folder / ABSTENTION, {name: metrics["abstention"][name] for name in names})
    write_whole(folder / RECIPE, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))


def about(device: str, threads: int) -> dict[str, dict[str, Any]]:
    """What metrics.json says of versions and machine: with the same ones, weights are the same to the last bit.

    Args:
        device: on which the run was made, such as "cpu".
        threads: of torch.
    """
    machine = {"processor": platform.machine(), "device": device, "threads": threads}
    return {"versions": versions(), "machine": machine}


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries on which results depend, by name."""
    return {name: version(name) for name in ("salience", "torch", "transformers", "datasets", "tokenizers")} | {
        "python": platform.python_version()
    }


def write_predictions(
    folder: Path, texts: Texts, predictions: Predictions, labels: list[str],
    files: tuple[str, str] = (PREDICTIONS, PROBABILITIES),
) -> None:  # fmt: skip
    """Writes predictions as lines, with their texts, and as arrays.

    Args:
        texts: the N texts.
        predictions: of these texts, in their order.
        labels: the names of the C labels.
        files: the names of both files.
    """
    given = {"fold": predictions.folds, "group": predictions.groups}
    more: dict[str, Any] = {name: values for name, values in given.items() if values is not None}
    columns = [{name: int(values[index]) for name, values in more.items()} for index in range(len(texts))]
    rows = prediction_rows(texts, predictions, labels)
    write_lines(folder / files[0], (row | column for row, column in zip(rows, columns, strict=True)))
    with replacing(folder / files[1]) as unfinished, open(unfinished, "wb") as file:
        arrays: dict[str, Any] = {"probabilities": predictions.probabilities, "labels": predictions.labels}
        arrays |= {} if predictions.decided is None else {"decided": predictions.decided}
        np.savez(file, **arrays, names=np.array(labels, str), **more)


def prediction_rows(texts: Texts, predictions: Predictions, labels: list[str]) -> Iterator[dict]:
    """Yields a row for each text; "label" and "predicted" are lists where a text can have several labels."""

    def names(chosen: np.ndarray) -> list[str]:
        return [labels[number] for number in np.flatnonzero(chosen)]

    several, decisions = predictions.labels.ndim == 2, predictions.decisions
    rows = texts.rows or range(1, len(texts) + 1)
    for index, probability in enumerate(predictions.probabilities):
        row: dict = {"row": rows[index], "text": texts.texts[index]}
        if texts.second is not None:
            row["text_pair"] = texts.second[index]
        known: Any = predictions.labels[index]
        yield row | {
            "label": names(known) if several else labels[known],
            "predicted": names(decisions[index]) if several else labels[int(probability.argmax())],
            "probabilities": [round(float(value), 6) for value in probability],
        }


def read_predictions(
    folder: Path, files: tuple[str, str] = (PREDICTIONS, PROBABILITIES), with_rows: bool = False
) -> tuple[list[str], Predictions]:
    """The names of the C labels, and the predictions that `write_predictions` wrote.

    Args:
        with_rows: also read the numbers of the rows, from the file of lines.

    Raises:
        One of `DAMAGED`: a file is missing or damaged, or the arrays do not fit each other.
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


def read_rows(folder: Path, rows: Sequence[int], name: str = PREDICTIONS) -> list[dict[str, Any]]:
    """Some of the rows of a run's predictions.jsonl, or of its out_of_fold.jsonl, in the order asked for.

    Args:
        rows: numbers of lines, from 0.
        name: of the file.

    Raises:
        InputError: the file is damaged or has fewer lines.
    """
    wanted, found = set(rows), {}
    if not wanted:
        return []
    file = folder / name
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


def judge_of(metrics: Mapping[str, Any]) -> str | None:
    """The rows that a run is judged on: "test", else "estimate", else "validation"; None if nothing was measured.

    The rows of an estimate are new to the models that predict them. Validation rows have chosen the checkpoint, so
    that their scores are too high.
    """
    if metrics.get("judged_on") == "test":
        return "test"
    return "estimate" if "estimate" in metrics else metrics.get("judged_on")


def judged_scores(metrics: Mapping[str, Any]) -> tuple[str, dict[str, dict]] | None:
    """The rows that a run is judged on, in words, and the scores on them by name: of the model and of the baselines.

    Which they are, `judge_of` says. The calibration error of an estimate is that after temperature scaling if the
    model is calibrated.

    Args:
        metrics: of the run, as metrics.json has them.

    Returns:
        None if nothing was measured.
    """
    judge = judge_of(metrics)
    if judge in ("test", "validation"):
        caution = ", on which the checkpoint was chosen" if judge == "validation" else ""
        own = with_thresholds("this model", metrics[judge])
        return f"{metrics['rows'][judge]:,} {judge} rows{caution}", own | metrics["baselines"]
    if judge == "estimate":
        estimate = metrics["estimate"]
        scaled = estimate["temperature_scaling"]["calibration_error_scaled"]
        own = {**estimate, **({"calibration_error": scaled} if estimate["calibrated"] and scaled is not None else {})}
        return (
            f"estimate by {estimate['kind']}: {estimate['rows']:,} labelled rows, each new to the model",
            with_thresholds("models like this one", own) | estimate["baselines"],
        )
    return None


def baseline_ahead(models: Mapping[str, dict]) -> str:
    """A line that says which baseline has a higher main score than the model, and what to do; empty if none has.

    Args:
        models: as `judged_scores` gives them, the model first.
    """
    (name, own), *others = models.items()
    scoring = labels_in(own)
    baselines = {each: scores[scoring.main] for each, scores in others if not each.startswith(name)}
    best = max(baselines, key=baselines.__getitem__)
    if baselines[best] <= own[scoring.main]:
        return ""
    return (
        f"{best} is ahead of {name}: {scoring.main_title} {baselines[best]:.3f}, and {own[scoring.main]:.3f} by the "
        "model. More rows, another --model or, if texts are cut, --long windows may change that"
    )


def at_thresholds(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of decisions by the thresholds of the labels, named as those at 0.5; empty if there are none."""
    return {name.removesuffix(AT_THRESHOLDS): value for name, value in scores.items() if name.endswith(AT_THRESHOLDS)}


def with_thresholds(name: str, scores: dict) -> dict[str, dict]:
    """The scores of a model by its name; and where thresholds of its labels decide otherwise than 0.5, those, too."""
    decided = at_thresholds(scores)
    differ = any(scores[each] != value for each, value in decided.items())
    return {name: scores} | ({f"{name}, thresholds of the labels": scores | decided} if differ else {})


def training_rows_among(facts: Mapping[str, Any] | None, role: str) -> str:
    """A sentence on the rows of a part whose texts are training texts too; empty if there are none, or no facts.

    Args:
        facts: as of `data_facts`.
        role: "test" or "validation".
    """
    part = {} if facts is None else facts["parts"].get(role, {})
    shared = part.get("in_training", 0)
    if not shared:
        return ""
    return (
        f"{shared:,} of the {part['rows']:,} {role} rows also stand{'s' * (shared == 1)} in the training rows; "
        "the scores are too high."
    )


def estimate_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """What the estimate of a run says, in which direction it errs, and what it has set; sentences without full stops.

    Empty if the run has no estimate.

    Args:
        metrics: of the run, as metrics.json has them.
    """
    if "estimate" not in metrics:
        return []
    estimate = metrics["estimate"]
    units, labelled = "rows", f"{estimate['rows']:,} labelled rows"
    if "groups" in estimate:
        units, labelled = "groups", f"{labelled} of {estimate['groups']:,} groups"
    found = [
        f"estimated on {labelled} by {estimate['kind']}: {with_intervals(estimate)} (95 % intervals over {units})",
        rows_sentence(estimate["training_rows"], metrics["rows"]["training"]),
    ]
    share = estimate.get("trained_share", 1.0)  # it is there where the estimate has chosen it
    if share != 1:
        found.append(share_sentence(share))
    if estimate["calibrated"]:
        found.append(calibration_sentence(estimate["temperature_scaling"]))
    return found


def rows_sentence(of_models: Sequence[int], of_run: int) -> str:
    """On how many rows the models of an estimate are trained, beside the model of the run.

    Args:
        of_models: the training rows of each of them.
        of_run: those of the run's own model.
    """
    least, most = min(of_models), max(of_models)
    rows = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    better = ", and is likely to be better" * (of_run > most)
    return f"the models of the estimate are trained on {rows} rows; the saved model is trained on {of_run:,}{better}"


def share_sentence(share: float) -> str:
    """Which weights between those before and after its training a model has."""
    return (
        f"the saved weights are {share:.0%} of the way from those before training to the trained ones: with them, "
        "these rows are predicted better"
    )


def with_intervals(scores: Mapping[str, Any]) -> str:
    """The two scores that have intervals: "accuracy 0.842 [0.758, 0.901], macro-F1 0.830 [0.741, 0.893]"."""
    return ", ".join(f"{title} {with_interval(scores, name)}" for name, title in labels_in(scores).estimated.items())


def with_interval(scores: Mapping[str, Any], score: str) -> str:
    """A score with its interval, if it has one: "0.842 [0.758, 0.901]"."""
    bounds = scores[f"{score}_interval"]
    interval = "" if bounds is None else f" [{bounds[0]:.3f}, {bounds[1]:.3f}]"
    return f"{scores[score]:.3f}{interval}"


def abstention_sentences(found: Mapping[str, Any]) -> list[str]:
    """What the thresholds decide, in a line, and what they gave on test rows, in another.

    Args:
        found: the entry of metrics.json.
    """
    target = f"a precision of {found['target_precision']:g}"
    if not found["decided"]:
        highest = found.get("reachable")
        instead = "not even 0.5" if highest is None else f"at most {highest:g}"
        return [
            f"{target} is out of reach: on {found['rows']:,} rows of the estimate, {instead} can be stated with 95 % "
            "certainty; predict decides no text, unless --no-abstain or --threshold says otherwise"
        ]
    never = [quoted(label) for label, value in found["thresholds"].items() if value == 1]
    none = f"; never decided: {listed(never, 5)}" if never else ""
    lines = [
        f"predict abstains below thresholds for {target}: it decides {with_interval(found, 'coverage')} of the texts, "
        f"by {found['rows']:,} rows of the estimate, whose models reach it with 95 % certainty{none}"
    ]
    if test := found.get("test"):
        precision = f", of which {with_interval(test, 'precision')} are right" if test["decided"] else ""
        share = with_interval(test, "coverage")
        lines.append(f"{test['decided']:,} of {test['rows']:,} test rows are decided ({share}){precision}")
    return lines


def calibration_sentence(scaling: Mapping[str, Any]) -> str:
    """What was folded into the model, in one line.

    Args:
        scaling: what `cross_fitted` gives.
    """
    before, after = scaling["calibration_error"], scaling["calibration_error_scaled"]
    errors = "" if after is None else f": calibration error {before:.3f} without, {after:.3f} with it (cross-fitted)"
    return f"calibrated by the temperature {scaling['temperature']:.3g}{errors}"


def precision_sentences(metrics: Mapping[str, Any]) -> list[str]:
    """Which labels reach the target, in a line, and which are never predicted, in another; empty without a target.

    Args:
        metrics: of the run, as metrics.json has them.
    """
    found = metrics.get("estimate", {}).get("label_precision")
    if found is None:
        return []
    target, labels = f"a precision of {found['target_precision']:g}", found["labels"]
    never = [
        f"{quoted(name)} ({'not even 0.5' if each['reachable'] is None else format(each['reachable'], 'g')})"
        for name, each in labels.items() if each["threshold"] == 1
    ]  # fmt: skip
    reached = len(labels) - len(never)
    lines = [
        f"labels are predicted from thresholds for {target}: {reached} of {len(labels)} labels reach it with 95 % "
        f"certainty on {found['rows']:,} rows of the estimate"
    ]
    if never:
        lines.append(
            f"never predicted, because {target} is out of reach: {listed(never, 5)}; in brackets the precision that "
            "can be stated; predict --threshold predicts them all the same"
        )
    return lines


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
    """The points of the curves, one for each step at which something was measured, in order.

    Times and learning rates are left out: the file is the same if the run is repeated.

    Args:
        logs: the `log_history` of the Trainer's state.

    Returns:
        For each point "step", and what was measured there of "loss" (the training loss, mean over the steps since the
        point before), "validation_accuracy", "validation_macro_f1" and "validation_log_loss"; where a text can have
        several labels, "validation_micro_f1" and "validation_ranking_precision" in place of the accuracy. Numbers that
        are not finite are None.
    """
    points: dict[int, dict[str, Any]] = {}
    for log in logs:
        found = {name: finite(log[logged]) for logged, name in KEPT.items() if logged in log}
        if found:
            step = int(log["step"])
            points.setdefault(step, {"step": step}).update(found)
    return [points[step] for step in sorted(points)]


def finite(value: float) -> float | None:
    """None for NaN and infinity, which JSON cannot write."""
    return float(value) if isfinite(value) else None


def data_facts(
    task: Task, encoded: Mapping[str, Encoded], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> dict[str, Any]:
    """Facts on every part of the data.

    Args:
        task: the labelled texts.
        encoded: "training" and, where there are such rows, "validation" and "test" to the same texts, encoded.
            Descriptions of labels may follow the training texts.
        tokenizer, max_length: of the classifier that reads them.

    Returns:
        "max_length", the number of tokens that are read of a text, and "parts": for each part "rows", "classes" (rows
        by label), "tokens" ("median", "percentile_95" and "longest" of the lengths before texts are cut, special
        tokens included), "cut" (texts longer than what is read), "duplicates" (rows whose text is in an earlier row of
        the part), "contradictions" (rows whose text is in the part with another label too) and, except of training,
        "in_training" (rows whose text is in the training part). Where a text can have several labels also "no_label"
        and "several_labels" (rows without a label, and with two or more). Texts are compared without the space around
        them.
    """
    texts = {"training": task.training, "validation": task.validation, "test": task.test}
    parts = {}
    for role, rows in encoded.items():
        part = texts[role]
        labels = part.known_labels
        counts = (labels.sum(0) if task.multi_label else np.bincount(labels, minlength=len(task.labels))).tolist()
        parts[role] = {
            "rows": len(part),
            "classes": dict(zip(task.labels, counts, strict=True)),
            "tokens": length_facts(whole_lengths(part, rows, tokenizer)),
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


def length_facts(lengths: np.ndarray) -> dict[str, float]:
    """The median, the length that 95 % of the texts do not exceed, and the largest of lengths (N,)."""
    return {
        "median": float(np.median(lengths)),
        "percentile_95": int(np.quantile(lengths, 0.95, method="inverted_cdf")),
        "longest": int(lengths.max()),
    }
