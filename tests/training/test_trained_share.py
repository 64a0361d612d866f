"""Weights between those before and after a training, and which runs keep them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from test_resuming import Killed, fitted, seconds  # noqa: F401  `seconds` is a fixture

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.errors import InputError
from salience.training.fit import fit
from salience.training.head import regression
from salience.training.recipe import Recipe
from salience.training.run import prepare_files


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rows, and an encoder that sentence-transformers uses with a mean."""
    folder = tmp_path_factory.mktemp("place")
    model = families.save_tiny_model(folder / "mean", [*WORDS.values(), " ".join(FILLER)])
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return SimpleNamespace(data=str(write_csv(folder / "rows.csv", labelled_rows(24))), model=str(model))


def recipe_of(place, **settings) -> Recipe:
    return Recipe(place.data, model=place.model, device="cpu", estimate="none", **{"steps": 4, **settings})


def trained_weights(recipe, folder):
    """The weights before and after a training, by name."""
    prepared, _ = prepare_files(recipe)
    before = {name: weight.detach().clone() for name, weight in prepared.model.named_parameters()}
    model = fit(prepared, folder).classifier.model
    return before, {name: weight.detach().clone() for name, weight in model.named_parameters()}


def test_the_weights_are_between_those_before_and_after(place, tmp_path):
    before, after = trained_weights(recipe_of(place, trained_share=1.0), tmp_path / "all")
    same, kept = trained_weights(recipe_of(place, trained_share=0.75), tmp_path / "part")
    moved = 0
    for name, weight in kept.items():
        assert torch.equal(before[name], same[name])
        assert torch.allclose(weight, 0.25 * before[name] + 0.75 * after[name], atol=1e-7), name
        moved += not torch.equal(before[name], after[name])
    assert moved > 10


def test_none_of_the_trained_weights_is_the_regression(place, tmp_path):
    before, kept = trained_weights(recipe_of(place, trained_share=0.0), tmp_path)
    assert all(torch.equal(before[name], weight) for name, weight in kept.items())


@pytest.mark.parametrize("at", [3, 17])
def test_a_killed_run_ends_with_the_same_weights(at, seconds, tmp_path):  # noqa: F811
    """The weights before the training are those of the fresh model, not those of the checkpoint."""
    _, whole, _ = fitted(tmp_path / "whole", validation=False, trained_share=0.5)
    seconds(3)
    with pytest.raises(Killed):
        fitted(tmp_path / "killed", False, at, trained_share=0.5)
    _, resumed, _ = fitted(tmp_path / "killed", validation=False, trained_share=0.5)
    assert resumed == whole


def test_the_strength_is_that_of_scikit_learn(place):
    generator = np.random.default_rng(0)
    vectors, labels = generator.normal(size=(40, 3)), np.arange(40) % 4
    length = np.linalg.norm(vectors, axis=1).mean()
    for strength in (1.0, 10.0):
        weights, biases = regression(vectors, labels, 4, strength=strength)
        fitted = LogisticRegression(C=strength, max_iter=1000).fit(vectors / length, labels)
        np.testing.assert_allclose(vectors @ weights.T + biases, fitted.decision_function(vectors / length))


def test_what_does_not_fit_is_refused(place):
    with pytest.raises(InputError, match=r"trained_share .* validation rows"):
        prepare_files(recipe_of(place, trained_share=0.5, validation_share=0.25))


@pytest.mark.parametrize("settings", [{"head_start": "random"}, {"pooling": "cls"}])
def test_a_strength_without_a_regression_is_refused(place, settings):
    with pytest.raises(InputError, match="head_strength has no effect without --set head_start=logistic"):
        prepare_files(recipe_of(place, head_strength=10.0, **settings))


def test_a_strength_does_not_need_a_start_where_the_start_is_a_regression(place):
    recipe = recipe_of(place, head_strength=10.0)
    assert prepare_files(recipe)[0].plan.head_start == "logistic"
