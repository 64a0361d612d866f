"""The files of a run: a Hugging Face checkpoint, metrics, predictions, the recipe and the model card."""

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
    """The scores on every held-out part, and those of the baselines on the test part, or else the validation part.

    Args:
        task: the labelled texts.
        probabilities: "validation" and "test" to predicted probabilities (N, C); empty if nothing was held out.

    Returns:
        "validation" and "test" to scores, "baselines" to the scores of each, and "judged_on", the part on which the
        baselines are scored; empty if nothing was held out.
    """
    parts = {"validation": task.validation, "test": task.test}
    metrics: dict = {role: scores(probability, parts[role].labels) for role, probability in probabilities.items()}
    judged_on = "test" if "test" in metrics else "validation"
    if judged_on not in metrics:
        return {}
    baselines = baseline_scores(
        joined(task.train), task.train.labels, joined(parts[judged_on]), parts[judged_on].labels, len(task.names)
    )
    return metrics | {"baselines": baselines, "judged_on": judged_on}


def joined(part: Part) -> list[str]:
    """Texts for the baselines: the two texts of a pair are joined by a space."""
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
    """Writes the files of a run to a new folder.

    `pipeline("text-classification", model=folder)` of transformers loads the model without salience, except for
    attention classifiers.

    Args:
        folder: replaced if it exists.
        classifier: the trained model with its tokenizer.
        recipe: the settings of the run.
        task: the labelled texts.
        metrics: the content of metrics.json, to which versions and machine are added.
        probabilities: "validation" and "test" to predicted probabilities (N, C).
        keep_model: whether to write the model, its tokenizer and its card too.
    """
    model, tokenizer = classifier.model, classifier.tokenizer
    shutil.rmtree(folder, ignore_errors=True)  # a process was killed while it wrote this folder
    folder.mkdir()
    # Weights can be reproduced to the last bit with the same versions and the same number of threads.
    machine = {"processor": platform.machine(), "device": model.device.type, "threads": torch.get_num_threads()}
    about = {"versions": versions(), "machine": machine}
    write_json(folder / "metrics.json", metrics | about)
    judged_on = metrics.get("judged_on")
    if judged_on:
        part = task.test if judged_on == "test" else task.validation
        write_lines(folder / "predictions.jsonl", prediction_rows(part, probabilities[judged_on], task.names))
    write_whole(folder / RECIPE, yaml.safe_dump(recipe.as_mapping(), sort_keys=False, allow_unicode=True))
    if not keep_model:
        return
    # The name under which the model was loaded, without the path on this machine.
    model.config._name_or_path = recipe.model
    model.base_model.config._name_or_path = recipe.model
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_whole(folder / "README.md", model_card(recipe, task, metrics, about, isinstance(model, AttentionClassifier)))


def prediction_rows(part: Part, probabilities: np.ndarray, names: list[str]) -> Iterator[dict]:
    """One row per text, in the order of the file.

    Args:
        probabilities: (N, C).
        names: the labels (C,), in the order of the columns.
    """
    examples = part.examples
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
    """The versions of Python and of the libraries on which results depend, by name."""
    return {name: version(name) for name in ("salience", "torch", "transformers", "datasets", "tokenizers")} | {
        "python": platform.python_version()
    }
