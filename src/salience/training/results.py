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

from salience.data.task import Part, Task
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
    held_out = {"validation": task.validation, "test": task.test}
    parts = {role: part for role, part in held_out.items() if part is not None}
    found = {role: scores(probability, parts[role].labels) for role, probability in probabilities.items()}
    judge = "test" if "test" in found else "validation"
    if judge not in found:
        return {}
    baselines = baseline_scores(
        joined(task.train), task.train.labels, joined(parts[judge]), parts[judge].labels, len(task.names)
    )
    return found | {"baselines": baselines, "judged_on": judge}


def joined(part: Part) -> list[str]:
    """Texts as the baselines read them: both of a pair in one."""
    texts, pairs = part.examples.texts, part.examples.pairs
    return texts if pairs is None else [f"{text} {pair}" for text, pair in zip(texts, pairs, strict=True)]


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
        assert part is not None  # the metrics are of its rows
        write_lines(folder / "predictions.jsonl", prediction_rows(part, probabilities[judge], task.names))
    write_whole(folder / RECIPE, yaml.safe_dump(recipe.as_mapping(), sort_keys=False, allow_unicode=True))
    if not keep_model:
        return
    # No path of this machine.
    model.config._name_or_path = recipe.model
    model.base_model.config._name_or_path = recipe.model
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_whole(folder / "README.md", model_card(recipe, task, metrics, about, isinstance(model, AttentionClassifier)))


def prediction_rows(part: Part, probabilities: np.ndarray, names: list[str]) -> Iterator[dict]:
    """One row a text, in the file's order; `probabilities` in the order of the model's labels."""
    examples = part.examples
    assert examples.labels is not None  # of a file, which has names of labels
    for index, probability in enumerate(probabilities):
        row = {"row": examples.rows[index], "text": examples.texts[index]}
        if examples.pairs is not None:
            row["text_pair"] = examples.pairs[index]
        yield row | {
            "label": examples.labels[index],
            "predicted": names[int(probability.argmax())],
            "probabilities": [round(float(value), 6) for value in probability],
        }


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("salience", "torch", "transformers", "datasets", "tokenizers")} | {
        "python": platform.python_version()
    }
