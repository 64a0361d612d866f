"""The files of a run: a Hugging Face checkpoint, metrics, predictions, the recipe and the model card."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import yaml

from salience.data.task import Task
from salience.data.texts import Texts
from salience.files import replacing, write_json, write_lines, write_whole
from salience.inference import TextClassifier
from salience.inference.abstaining import FILE as THRESHOLDS
from salience.models.attention_classifier import AttentionClassifier
from salience.training.baselines import baseline_scores
from salience.training.card import model_card
from salience.training.data_facts import FACTS
from salience.training.estimating import Estimated
from salience.training.held_out import HeldOutPredictions
from salience.training.manifest import RECIPE
from salience.training.recipe import Recipe
from salience.training.scoring import scoring_of

# Of the rows in predictions.jsonl (N, C), with their class numbers (N,), and the names of the classes (C,).
PREDICTIONS, PROBABILITIES = "predictions.jsonl", "probabilities.npz"
OUT_OF_FOLD = ("out_of_fold.jsonl", "out_of_fold.npz")  # the same of the rows of an estimate, with their folds


def measure(task: Task, predictions: HeldOutPredictions, seed: int) -> dict:
    """The scores on every held-out part, and those of the baselines on the test part, or else the validation part.

    Args:
        task: the labelled texts.
        predictions: of the held-out parts; empty if nothing was held out.
        seed: of the bootstrap of the intervals.

    Returns:
        "validation" and "test" to scores with intervals, "baselines" to the scores of each, and "judged_on", the part
        on which the baselines are scored; if there are test rows, also "temperature_scaling", their calibration with a
        temperature that is fitted on the validation rows, or without these on the other half of the test rows
        (`cross_fitted`).
        Empty if nothing was held out.
    """
    parts = {"validation": task.validation, "test": task.test}
    probabilities, decided = predictions.probabilities, predictions.decided
    scoring = scoring_of(task.training.known_labels)
    measured: dict = {
        role: scoring.with_intervals(
            probability, parts[role].known_labels, None, seed, *([decided[role]] if role in decided else [])
        )
        for role, probability in probabilities.items()
    }
    judge = "test" if "test" in measured else "validation"
    if judge not in measured:
        return {}
    if judge == "test":
        tested = probabilities["test"], task.test.known_labels
        measured["temperature_scaling"] = (
            scoring.temperature_scores(probabilities["validation"], task.validation.known_labels, *tested)
            if "validation" in probabilities else scoring.cross_fitted(*tested)
        )  # fmt: skip
    baselines = baseline_scores([(task.training, parts[judge])], len(task.labels))
    return measured | {"baselines": baselines, "judged_on": judge}


@dataclass(frozen=True)
class RunResults:
    """What a run has found.

    Args:
        recipe: the settings of the run.
        task: the labelled texts.
        metrics: the content of metrics.json, to which versions and machine are added.
        predictions: of the held-out parts.
        estimated: the rows of the estimate with their predictions; None if there is none.
    """

    recipe: Recipe
    task: Task
    metrics: dict[str, Any]
    predictions: HeldOutPredictions
    estimated: Estimated | None = None


def write_results(folder: Path, classifier: TextClassifier, results: RunResults, more: Mapping[str, Any]) -> None:
    """Writes the files of a run to a new folder.

    `pipeline("text-classification", model=folder)` of transformers loads the model without salience, except for
    attention classifiers.

    Args:
        folder: replaced if it exists.
        classifier: the trained model with its tokenizer.
        results: of the run.
        more: names of further JSON files to their contents.
    """
    model, tokenizer, recipe = classifier.model, classifier.tokenizer, results.recipe
    about = write_scores(folder, model.device.type, results)
    # The name under which the model was loaded, without the path on this machine.
    model.config._name_or_path = recipe.model
    model.base_model.config._name_or_path = recipe.model
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for name, content in more.items():
        write_json(folder / name, content)
    ours = isinstance(model, AttentionClassifier)
    card = model_card(recipe, results.task.labels, results.metrics, about, ours, facts=more.get(FACTS))
    write_whole(folder / "README.md", card)


def write_scores(folder: Path, device: str, results: RunResults) -> dict:
    """Writes the files of a run but the model, its tokenizer and its card to a new folder.

    Args:
        folder: replaced if it exists.
        device: on which the run was made, such as "cpu".
        results: of the run.

    Returns:
        "versions" and "machine", as they are written into metrics.json.
    """
    task, metrics, predictions, estimated = results.task, results.metrics, results.predictions, results.estimated
    shutil.rmtree(folder, ignore_errors=True)  # a process was killed while it wrote this folder
    folder.mkdir()
    # Weights can be reproduced to the last bit with the same versions and the same number of threads.
    machine = {"processor": platform.machine(), "device": device, "threads": torch.get_num_threads()}
    about = {"versions": versions(), "machine": machine}
    write_json(folder / "metrics.json", metrics | about)
    judge = metrics.get("judged_on")
    if judge:
        part = task.test if judge == "test" else task.validation
        decided = predictions.decided.get(judge)
        write_predictions(folder, part, predictions.probabilities[judge], task.labels, decided=decided)
    if estimated is not None:
        rows, found = estimated.texts, estimated.probabilities
        more = {"fold": estimated.folds} | ({} if estimated.groups is None else {"group": estimated.groups})
        write_predictions(folder, rows, found, task.labels, OUT_OF_FOLD, more, estimated.decided)
    if "abstention" in metrics:
        names = ("target_precision", "certainty", "thresholds")
        write_json(folder / THRESHOLDS, {name: metrics["abstention"][name] for name in names})
    write_whole(folder / RECIPE, yaml.safe_dump(results.recipe.as_mapping(), sort_keys=False, allow_unicode=True))
    return about


def write_predictions(
    folder: Path, texts: Texts, probabilities: np.ndarray, labels: list[str],
    names: tuple[str, str] = (PREDICTIONS, PROBABILITIES), more: Mapping[str, Any] = MappingProxyType({}),
    decided: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Writes predictions as lines and as arrays.

    Args:
        texts: N texts of a file, with labels.
        probabilities: (N, C), in the order of `labels`.
        names: of both files.
        more: by name, arrays (N,) of further whole numbers of the rows.
        decided: (N, C) bool, the labels that are predicted, where a text can have several.
    """
    rows = prediction_rows(texts, probabilities, labels, decided)
    columns = [{name: int(values[index]) for name, values in more.items()} for index in range(len(texts))]
    write_lines(folder / names[0], (row | column for row, column in zip(rows, columns, strict=True)))
    with replacing(folder / names[1]) as unfinished, open(unfinished, "wb") as file:
        arrays: dict[str, Any] = {"probabilities": probabilities, "labels": texts.known_labels}
        arrays |= {} if decided is None else {"decided": decided}
        np.savez(file, **arrays, names=np.array(labels, str), **more)


def prediction_rows(
    texts: Texts, probabilities: np.ndarray, labels: list[str], decided: np.ndarray | None = None
) -> Iterator[dict]:
    """Yields a row for each text, in the order of the file.

    Args:
        texts: N texts of a file, with labels.
        probabilities: (N, C), in the order of `labels`.
        decided: as of `write_predictions`; "label" and "predicted" are then lists.
    """

    def names(chosen: np.ndarray) -> list[str]:
        return [labels[number] for number in np.flatnonzero(chosen)]

    rows = texts.rows or range(1, len(texts) + 1)
    for index, probability in enumerate(probabilities):
        row: dict = {"row": rows[index], "text": texts.texts[index]}
        if texts.second is not None:
            row["text_pair"] = texts.second[index]
        known: Any = texts.known_labels[index]
        several = decided is not None
        yield row | {
            "label": names(known) if several else labels[known],
            "predicted": labels[int(probability.argmax())] if decided is None else names(decided[index]),
            "probabilities": [round(float(value), 6) for value in probability],
        }


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries on which results depend, by name."""
    return {name: version(name) for name in ("salience", "torch", "transformers", "datasets", "tokenizers")} | {
        "python": platform.python_version()
    }
