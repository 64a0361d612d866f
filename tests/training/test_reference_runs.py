"""Reference rows: what they learn from, and the folder that they leave."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pandas import read_csv
from sklearn.linear_model import LogisticRegression

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.classify.frozen_encoder import load_frozen
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.scores.labels import ONE_LABEL
from salience.training.baselines import tfidf_probabilities
from salience.training.recipe import Recipe
from salience.training.references import (
    all_labelled,
    encoder_of_recipe,
    make_reference,
    references_of,
)


@pytest.fixture
def recipe(tmp_path):
    """Nothing is left open in it."""
    model = families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])
    return Recipe(
        data=str(write_csv(tmp_path / "train.csv", labelled_rows(60))),
        test=str(write_csv(tmp_path / "test.csv", labelled_rows(30, seed=1))), text="text", label="label",
        model=str(model), max_length=32, steps=1, batch_size=16, learning_rate=0.1, precision="fp32", device="cpu",
    )  # fmt: skip


def texts_of(file, names) -> Texts:
    table = read_csv(file)
    return Texts(table["text"].tolist(), labels=[names.index(label) for label in table["label"]])


def made(recipe, folder):
    make_reference(recipe, folder)
    metrics = json.loads((folder / "metrics.json").read_text())
    with np.load(folder / "probabilities.npz") as arrays:
        return metrics, arrays["probabilities"], arrays["labels"]


def test_tfidf_learns_from_the_validation_rows_too(recipe, tmp_path):
    metrics, probabilities, labels = made(replace(recipe, method="tf-idf"), tmp_path / "out")
    names = sorted(WORDS)
    training, test = texts_of(recipe.data, names), texts_of(recipe.test, names)
    expected = tfidf_probabilities(training, test, len(names))
    assert probabilities == pytest.approx(expected, abs=1e-6)
    assert not np.allclose(probabilities, tfidf_probabilities(training.take(range(48)), test, len(names)), atol=1e-3)
    assert labels.tolist() == test.labels.tolist()
    assert metrics["rows"] == {"training": 60, "test": 30}
    wanted = ONE_LABEL.with_intervals(expected, test.labels, None, recipe.seed)
    assert metrics["test"].keys() == wanted.keys() and "accuracy_interval" in wanted
    assert all(metrics["test"][name] == pytest.approx(value, abs=1e-5) for name, value in wanted.items())
    assert metrics["judged_on"] == "test" and metrics["seconds"] > 0
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "metrics.json", "predictions.jsonl", "probabilities.npz", "recipe.yaml", "manifest.json"
    }  # fmt: skip
    assert not (tmp_path / ".out.partial").exists()


def test_the_frozen_encoder_is_that_of_the_recipe(recipe, tmp_path):
    _, probabilities, _ = made(replace(recipe, method="frozen"), tmp_path / "out")
    names = sorted(WORDS)
    training, test = texts_of(recipe.data, names), texts_of(recipe.test, names)
    encoder = load_frozen(recipe.model, 32, "cpu", "fp32")
    regression = LogisticRegression(C=10, max_iter=1000).fit(encoder.vectors(training), training.labels)
    assert probabilities == pytest.approx(regression.predict_proba(encoder.vectors(test)), abs=1e-4)


def test_a_drawn_part_is_what_the_majority_counts(recipe, tmp_path):
    rows = [*labelled_rows(30), *[("a song", "music")] * 30]
    data = str(write_csv(tmp_path / "uneven.csv", rows))
    metrics, probabilities, _ = made(replace(recipe, data=data, method="majority", size=20), tmp_path / "out")
    names, counts = np.unique([label for _, label in rows], return_counts=True)
    assert metrics["rows"]["training"] == 20
    assert probabilities.shape == (30, len(names))
    assert probabilities[0] == pytest.approx(counts / 60, abs=0.05)  # stratified
    assert probabilities[0] * 20 == pytest.approx((probabilities[0] * 20).round())


def test_rows_of_one_file_are_in_its_order_and_those_of_two_are_joined():
    task = Task(["a", "b"], Texts(["x", "z"], labels=[0, 1], rows=[1, 3]), Texts(["y"], labels=[1], rows=[2]))
    assert all_labelled(task) == Texts(["x", "y", "z"], labels=[0, 1, 1], rows=[1, 2, 3])
    other = Task(["a", "b"], Texts(["x", "z"], labels=[0, 1], rows=[1, 3]), Texts(["y"], labels=[1], rows=[1]))
    assert all_labelled(other).texts == ["x", "z", "y"]
    alone = Task(["a", "b"], Texts(["x", "z"], labels=[0, 1], rows=[1, 3]))
    assert all_labelled(alone) is alone.training


def test_models_over_words_have_another_frozen_encoder(recipe):
    same = encoder_of_recipe(replace(recipe, precision="fp16"))
    assert (same.name, same.max_length, same.precision) == (recipe.model, 32, "fp32")
    words = encoder_of_recipe(replace(recipe, model="attention:dot"))
    assert (words.name, words.max_length) == ("minilm", None)
    named = encoder_of_recipe(replace(recipe, model="attention:dot", model_options={"encoder": "some/encoder"}))
    assert named.name == "some/encoder"


def test_names_of_references(recipe):
    assert references_of("none") == ()
    assert references_of("default") == ("majority", "tf-idf", "frozen")
    assert references_of("tf-idf, majority") == ["tf-idf", "majority"]
    with pytest.raises(InputError, match="tf-idf"):
        references_of("tfidf")
    with pytest.raises(InputError, match="majority has no options, so window"):
        replace(recipe, method="majority:window=1")
    for name in ("setfit", "setfit-equal"):
        with pytest.raises(InputError, match=f"{name} is no longer offered: .*setfit_text.py"):
            references_of(f"majority,{name}")
        with pytest.raises(InputError, match="setfit_text"):
            replace(recipe, method=name)


def test_a_file_that_has_changed_is_refused(recipe, tmp_path):
    with pytest.raises(InputError, match="has changed since the recipe was written"):
        make_reference(replace(recipe, method="majority", checksums={recipe.data: "0"}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
