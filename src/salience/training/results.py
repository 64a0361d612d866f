"""What a run leaves behind: a plain Hugging Face checkpoint, and beside it what was measured and how to repeat it."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
import yaml

from salience.data.task import Task
from salience.data.texts import Texts
from salience.files import write_json, write_lines, write_whole
from salience.inference import TextClassifier
from salience.models.attention_classifier import AttentionClassifier
from salience.training.baselines import baseline_scores
from salience.training.card import model_card
from salience.training.manifest import RECIPE
from salience.training.metrics import scores
from salience.training.recipe import Recipe


def measure(task: Task, probabilities: dict[str, np.ndarray]) -> dict:
    """The scores on every part that was held out, and beside them what the cheap baselines reach there."""
    parts = {"validation": task.validation, "test": task.test}
    measured = {role: scores(probability, parts[role].known_labels) for role, probability in probabilities.items()}
    judge = "test" if "test" in measured else "validation"
    if judge not in measured:
        return {}
    training, judged = task.training, parts[judge]
    baselines = baseline_scores(
        joined(training), training.known_labels, joined(judged), judged.known_labels, len(task.labels)
    )
    return measured | {"baselines": baselines, "judged_on": judge}


def joined(texts: Texts) -> list[str]:
    """Texts as the baselines read them: the texts of a pair as one text."""
    if texts.second is None:
        return texts.texts
    return [f"{first} {second}" for first, second in zip(texts.texts, texts.second, strict=True)]


def write_results(
    folder: Path,
    classifier: TextClassifier,
    recipe: Recipe,
    task: Task,
    metrics: dict,
    probabilities: dict[str, np.ndarray],
    keep_model: bool = True,
) -> None:
    """Fills `folder` with everything, or without the model with scores, predictions and recipe.

    `pipeline("text-classification", model=folder)` needs no salience to load it, but for the models of our own.
    """
    model, tokenizer = classifier.model, classifier.tokenizer
    shutil.rmtree(folder, ignore_errors=True)  # an earlier try was killed here
    folder.mkdir()
    # The same weights come out again on the same versions and the same number of threads.
    machine = {"processor": platform.machine(), "device": model.device.type, "threads": torch.get_num_threads()}
    about = {"versions": versions(), "machine": machine}
    write_json(folder / "metrics.json", metrics | about)
    judge = metrics.get("judged_on")
    if judge:
        part = task.test if judge == "test" else task.validation
        write_lines(folder / "predictions.jsonl", prediction_rows(part, probabilities[judge], task.labels))
    write_whole(folder / RECIPE, yaml.safe_dump(recipe.as_mapping(), sort_keys=False, allow_unicode=True))
    if not keep_model:
        return
    # No path of this machine.
    model.config._name_or_path = recipe.model
    model.base_model.config._name_or_path = recipe.model
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_whole(folder / "README.md", model_card(recipe, task, metrics, about, isinstance(model, AttentionClassifier)))


def prediction_rows(texts: Texts, probabilities: np.ndarray, labels: list[str]) -> Iterator[dict]:
    """Yields a row for each text, in the order of the file.

    Args:
        texts: N texts of a file, with labels.
        probabilities: (N, C), in the order of `labels`.
    """
    rows = texts.rows or range(1, len(texts) + 1)
    for index, probability in enumerate(probabilities):
        row: dict = {"row": rows[index], "text": texts.texts[index]}
        if texts.second is not None:
            row["text_pair"] = texts.second[index]
        yield row | {
            "label": labels[texts.known_labels[index]],
            "predicted": labels[int(probability.argmax())],
            "probabilities": [round(float(value), 6) for value in probability],
        }


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("salience", "torch", "transformers", "datasets", "tokenizers")} | {
        "python": platform.python_version()
    }
