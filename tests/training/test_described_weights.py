"""`--class-weights auto` beside `--label-descriptions`: the weights are those of all texts that are trained on."""

import json
from collections import Counter

import numpy as np
import pytest

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.training.prepare import prepare
from salience.training.recipe import Recipe
from salience.training.task import task_of


def test_all_classes_count_alike_with_their_descriptions(tmp_path):
    """Two rows of one label and ten of each other one; three descriptions of the first, one of the second."""
    left, rows = {"sport": 10, "music": 10, "food": 2}, []
    for text, label in labelled_rows(60):
        if left[label]:
            rows.append((text, label))
            left[label] -= 1
    assert Counter(label for _, label in rows) == {"sport": 10, "music": 10, "food": 2}
    described = {"food": ["a soup", "a meal", "a dish"], "music": ["a song"]}
    (tmp_path / "labels.yaml").write_text(json.dumps(described))
    recipe = Recipe(
        data=str(write_csv(tmp_path / "rows.csv", rows)), class_weights="auto", method="plain", device="cpu",
        model=str(families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])),
        label_descriptions=str(tmp_path / "labels.yaml"), pooling="cls", steps=1,
    )  # fmt: skip
    task = task_of(recipe, lambda line: None)
    weights = dict(zip(task.labels, prepare(recipe, task).class_weights, strict=True))
    texts = {"sport": 10, "music": 11, "food": 5}
    assert [weights[label] * texts[label] for label in texts] == pytest.approx([26 / 3] * 3)
    assert np.mean([weights[label] for label in texts for _ in range(texts[label])]) == pytest.approx(1)
