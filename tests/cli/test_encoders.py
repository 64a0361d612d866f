"""`salience encoders`: encoders by a cross-validated regression on their vectors, and which ones are there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_bad_input import refused

import families
from labelled import FILLER, WORDS, write_csv
from salience.data.task import Texts
from salience.errors import InputError
from salience.training import encoders
from salience.training.encoders import encoders_here, rank_encoders
from salience.training.estimate import choose_folds
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.task import task_of


@pytest.fixture(scope="module")
def first(place):
    return with_mean(families.save_tiny_model(place.folder / "first", [*WORDS.values(), " ".join(FILLER)]))


@pytest.fixture(scope="module")
def second(place):
    return with_mean(families.save_tiny_model(place.folder / "second", ["none of them"], seed=1))


def with_mean(folder: Path) -> str:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    return str(folder)


def test_the_best_encoder_comes_first(place, first, second, monkeypatch):
    """The rows of each fold are predicted by the model with which `train` would begin on the others."""
    recipe = Recipe(str(place.data), device="cpu", precision="fp32")
    task = task_of(recipe, silent)
    monkeypatch.setattr(encoders.time, "perf_counter", iter([0.0, 2.0, 0.0, 4.0]).__next__)
    ranked = rank_encoders(recipe, task, [first, second])
    for each in ranked:
        own = replace(recipe, model=each.name, trained_layers=0, estimate="folds:5")
        prepared = prepare(own, task)
        folds = choose_folds(prepared.plan, task, silent)
        right = np.zeros(len(folds.texts), bool)
        for number in folds.predicted:
            training, predicted = folds.divided(number)
            part = prepare(own, replace(task, training=training, test=predicted))
            found = part.classifier.predict_proba(Texts(predicted.texts)).argmax(1)
            right[folds.numbers == number] = found == predicted.known_labels
        assert each.scores["accuracy"] == right.mean()
        assert each.parameters == sum(weight.numel() for weight in prepared.model.base_model.parameters())
    best, worst = (each.scores["accuracy"] for each in ranked)
    assert best > worst and ranked[0].scores["accuracy_interval"][0] < best
    speeds = {first: 30, second: 15}  # 60 texts in two and in four seconds
    # A pass forward and backward is three forward passes; each text of a step is read once.
    plan = prepare(replace(own, trained_layers="all"), task).plan
    for each in ranked:
        assert each.texts_per_second == speeds[each.name]
        assert each.training_seconds == pytest.approx(plan.steps * plan.batch_size * 3 / speeds[each.name])


def test_the_table(place, first, second, salience):
    answer = salience("encoders", place.data, "--models", f"{first},{second}", "--device", "cpu", "--size", "40")
    assert answer.code == 0, answer.err
    shown = answer.out.replace("\n", "").replace("│", "").replace(" ", "")
    assert "40rows,3labels" in shown and "weights" in answer.out and "accuracy" in answer.out
    assert answer.out.count(": vectors of 40 texts") == 2


def test_what_cannot_be_ranked(place, salience, tmp_path):
    refused(salience("encoders", place.data, "--models", f"{place.model},{place.model}"), "name each encoder once")
    refused(salience("encoders", place.data, "--models", "./nowhere"), "no model at ./nowhere")
    refused(salience("encoders", place.data, "--models", "attention:dot"), "attention:dot")
    single = write_csv(tmp_path / "single.csv", [("a", "b"), ("c", "d")])
    refused(salience("encoders", single, "--models", place.model, "--device", "cpu"), "no class has more than 1 row")


def test_encoders_that_need_no_connection(tmp_path, monkeypatch):
    """Those with modules of sentence-transformers in the hub's cache; other models and data sets are none."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.utils._cache_manager.HF_HUB_CACHE", str(tmp_path / "nothing"), raising=False)
    assert encoders_here() == ["minilm"]
    monkeypatch.setattr("huggingface_hub.utils._cache_manager.HF_HUB_CACHE", str(tmp_path), raising=False)
    for kind, name, file in (
        ("models", "b--encoder", "modules.json"), ("models", "a--encoder", "modules.json"),
        ("models", "me--classifier", "config.json"), ("datasets", "me--texts", "modules.json"),
    ):  # fmt: skip
        folder = tmp_path / f"{kind}--{name}"
        blob, snapshot = folder / "blobs" / "0", folder / "snapshots" / "1" / file
        for each in (blob, snapshot, folder / "refs" / "main"):
            each.parent.mkdir(parents=True)
        blob.write_text("[]")
        snapshot.symlink_to(blob)
        (folder / "refs" / "main").write_text("1")
    assert encoders_here() == ["minilm", "a/encoder", "b/encoder"]


def test_no_models_at_all(place):
    with pytest.raises(InputError, match="name each encoder once"):
        rank_encoders(Recipe(str(place.data)), None, [])
