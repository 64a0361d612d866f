"""Baselines and reference rows: their probabilities, features and regressions, and the folders they leave."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pandas import read_csv
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.classify.frozen_encoder import load_frozen
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.scores.labels import ONE_LABEL
from salience.scores.predictions import Predictions
from salience.training.baselines import (
    baseline_scores,
    encoder_probabilities,
    held_out_scores,
    majority_probabilities,
    regression_probabilities,
    tfidf_probabilities,
)
from salience.training.recipe import Recipe
from salience.training.references import (
    all_labelled,
    encoder_of_recipe,
    make_reference,
    references_of,
)

NAMES = list(WORDS)


def texts_of(count: int, seed: int = 0) -> Texts:
    rows = labelled_rows(count, seed)
    return Texts([text for text, _ in rows], labels=np.array([NAMES.index(label) for _, label in rows]))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    families.save_tiny_model(folder, [*WORDS.values(), " ".join(FILLER)])
    return load_frozen(str(folder), device="cpu", precision="fp32")


@pytest.fixture(params=["majority", "tfidf", "encoder"])
def baseline(request, encoder):
    return {
        "majority": majority_probabilities,
        "tfidf": tfidf_probabilities,
        "encoder": lambda training, test, classes: encoder_probabilities(training, test, classes, encoder),
    }[request.param]


def test_every_score_applies_to_a_baseline_that_knows_some_classes_only(baseline):
    """Five classes, of which the training rows have the last three, in an order of their own."""
    training, test = texts_of(30), texts_of(12, 1)
    own = np.array([4, 2, 3])
    training = Texts(training.texts, labels=own[training.labels])
    found = baseline(training, test, 5)
    assert found.shape == (12, 5)
    assert found.dtype == np.float32
    assert found.sum(1) == pytest.approx(1)
    assert (found[:, :2] == 0).all()
    assert (found[:, 2:] > 0).all()
    # The columns follow the numbers of the classes, not the order in which they occur.
    assert found[:, own] == pytest.approx(baseline(texts_of(30), test, 3), abs=2e-3)
    assert all(
        np.isfinite(value) for value in ONE_LABEL.detailed(found, own[test.labels]).values() if value is not None
    )


def test_training_rows_of_one_class(baseline):
    training = Texts(["a goal", "the match"], labels=[1, 1])
    assert baseline(training, Texts(["a song"]), 3).tolist() == [[0, 1, 0]]


def test_the_majority_class_has_the_shares_of_the_training_rows():
    training = Texts(["a", "b", "c", "d"], labels=[2, 0, 2, 2])
    assert majority_probabilities(training, Texts(["e", "f"]), 4).tolist() == [[0.25, 0, 0.75, 0]] * 2


def test_words_and_word_pairs_are_weighted_and_regressed():
    training, test = texts_of(45), texts_of(30, 1)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\w+|[^\w\s]")
    regression = LogisticRegression(C=10, max_iter=1000).fit(words.fit_transform(training.texts), training.labels)
    expected = regression.predict_proba(words.transform(test.texts))
    assert tfidf_probabilities(training, test, 3) == pytest.approx(expected, abs=1e-6)
    assert ONE_LABEL.detailed(expected, test.labels)["accuracy"] > 0.9


@pytest.mark.parametrize("baseline", ["tfidf", "encoder"], indirect=True)
def test_both_texts_of_a_pair_are_read(baseline):
    """The first texts are all the same, so all differences between the test rows are of the second texts."""
    training, test = texts_of(60), texts_of(30, 1)
    pairs = [Texts(["the"] * len(part), part.texts, part.labels) for part in (training, test)]
    found = baseline(*pairs, 3)
    assert np.ptp(found, axis=0).min() > 0.1
    assert (found.argmax(1) == test.labels).mean() > 0.45  # chance is a third


def test_a_regression_minimises_the_penalised_loss():
    """sum of -ln p(label) + |w|^2 / (2 C) with C = 10, by a slow descent from the formula."""
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(30, 4)), random.integers(0, 3, 30)
    weights, biases = np.zeros((4, 3)), np.zeros(3)
    for _ in range(20_000):
        logits = features @ weights + biases
        probabilities = np.exp(logits - logits.max(1, keepdims=True))
        probabilities /= probabilities.sum(1, keepdims=True)
        gap = probabilities - np.eye(3)[labels]
        weights -= 0.01 * (features.T @ gap + weights / 10)
        biases -= 0.01 * gap.sum(0)
    others = random.normal(size=(7, 4))
    logits = others @ weights + biases
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert regression_probabilities(features, labels, others, 3) == pytest.approx(expected, abs=1e-3)


def test_the_encoder_s_vectors_are_regressed(encoder):
    training, test = texts_of(60), texts_of(30, 1)
    vectors = encoder.vectors(training), encoder.vectors(test)
    expected = regression_probabilities(vectors[0], training.labels, vectors[1], 3)
    found = encoder_probabilities(training, test, 3, encoder)
    assert (found == expected).all()
    assert ONE_LABEL.detailed(found, test.labels)["accuracy"] > 0.5  # of a random encoder


def test_a_run_is_measured_with_its_baselines_and_its_temperature():
    training, validation, test = texts_of(30), texts_of(12, 1), texts_of(15, 2)
    task = Task(NAMES, training, validation, test)
    random = np.random.default_rng(0)
    probabilities = {
        "validation": random.dirichlet(np.ones(3), 12).astype(np.float32),
        "test": random.dirichlet(np.ones(3), 15).astype(np.float32),
    }
    predictions = {
        role: Predictions(found, rows.labels)
        for (role, found), rows in zip(probabilities.items(), (validation, test), strict=True)
    }
    measured = held_out_scores(task, predictions, seed=3)
    assert measured["judged_on"] == "test"
    assert measured["test"] == ONE_LABEL.with_intervals(probabilities["test"], test.labels, None, 3)
    assert measured["test"].items() >= ONE_LABEL.detailed(probabilities["test"], test.labels).items()
    assert measured["baselines"] == baseline_scores([(training, test)], 3)
    assert list(measured["baselines"]) == ["majority class", "TF-IDF + logistic regression"]
    assert measured["temperature_scaling"] == ONE_LABEL.temperature_scores(
        probabilities["validation"], validation.labels, probabilities["test"], test.labels
    )
    without = held_out_scores(Task(NAMES, training, test=test), {"test": predictions["test"]}, 0)
    assert without["temperature_scaling"] == ONE_LABEL.cross_fitted(probabilities["test"], test.labels)
    of_validation = held_out_scores(Task(NAMES, training, validation), {"validation": predictions["validation"]}, 0)
    assert of_validation["judged_on"] == "validation"
    assert "temperature_scaling" not in of_validation
    assert held_out_scores(Task(NAMES, training), {}, 0) == {}


@pytest.fixture
def recipe(tmp_path):
    """Nothing is left open in it."""
    model = families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])
    return Recipe(
        data=str(write_csv(tmp_path / "train.csv", labelled_rows(60))),
        test=str(write_csv(tmp_path / "test.csv", labelled_rows(30, seed=1))), text="text", label="label",
        model=str(model), max_length=32, steps=1, batch_size=16, learning_rate=0.1, precision="fp32", device="cpu",
    )  # fmt: skip


def rows_of_file(file, names) -> Texts:
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
    training, test = rows_of_file(recipe.data, names), rows_of_file(recipe.test, names)
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
    training, test = rows_of_file(recipe.data, names), rows_of_file(recipe.test, names)
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
