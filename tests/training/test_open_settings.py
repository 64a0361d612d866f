"""What a recipe that leaves the method and the losses open is trained with."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import families
from labelled import FILLER, WORDS, labelled_rows, rows_of_several, write_csv
from salience.classify.frozen_encoder import sentence_vectors
from salience.errors import InputError
from salience.mixing import SenMixup
from salience.training.head import last_map, regressions
from salience.training.recipe import Plan, Recipe
from salience.training.run import prepare_files


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rows, and an encoder that sentence-transformers uses with a mean, and the same without that file."""
    folder = tmp_path_factory.mktemp("place")
    words = [*WORDS.values(), " ".join(FILLER)]
    plain, mean = (families.save_tiny_model(folder / name, words) for name in ("plain", "mean"))
    (mean / "1_Pooling").mkdir()
    (mean / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    data = write_csv(folder / "rows.csv", labelled_rows(24))
    return SimpleNamespace(data=str(data), plain=str(plain), mean=str(mean))


def prepared(place, model, data=None, **settings):
    recipe = Recipe(data or place.data, model=getattr(place, model), steps=3, device="cpu", **settings)
    return prepare_files(recipe)[0]


def test_a_mean_is_trained_with_mixtures_of_vectors_and_contrast(place):
    found = prepared(place, "mean")
    assert (found.plan.pooling, found.plan.method, found.plan.method_options) == (
        "mean",
        "senmixup",
        {"alpha": 1},
    )
    assert found.method == SenMixup(alpha=1.0)
    assert (found.plan.contrastive, found.plan.contrastive_temperature) == (0.6, 0.1)
    assert found.plan.head_start == "logistic"


def test_another_head_is_trained_without(place):
    for found in (prepared(place, "plain"), prepared(place, "mean", pooling="cls")):
        assert (found.plan.pooling, found.plan.method, found.method) == ("cls", "plain", None)
        assert found.plan.contrastive == 0
        assert found.plan.head_start == "random"


def test_several_labels_have_the_same_beginning_and_no_contrast(place, tmp_path):
    data = write_csv(tmp_path / "several.csv", rows_of_several(24, 0))
    found = prepared(place, "mean", data=str(data))
    assert (found.plan.head_start, found.plan.method, found.plan.contrastive) == ("logistic", "senmixup", 0)
    vectors = sentence_vectors(found.model, found.training)
    weights, biases = regressions(vectors, np.asarray(found.training.labels))
    assert last_map(found.model).weight.detach().numpy() == pytest.approx(weights, abs=1e-6)
    assert last_map(found.model).bias.detach().numpy() == pytest.approx(biases, abs=1e-6)


def test_a_head_that_was_trained_is_kept(place, tmp_path):
    """It begins anew where the labels are others."""
    first = prepared(place, "mean")
    weights = last_map(first.model).weight + 1
    last_map(first.model).weight.data = weights
    first.model.save_pretrained(tmp_path / "run")
    first.classifier.tokenizer.save_pretrained(tmp_path / "run")
    again = prepare_files(Recipe(place.data, model=str(tmp_path / "run"), steps=3, device="cpu"))[0]
    assert (again.plan.pooling, again.plan.head_start) == ("mean", "random")
    assert torch.equal(last_map(again.model).weight, weights)
    texts = [(text, f"{label} {len(text) % 2}") for text, label in labelled_rows(24)]
    others = write_csv(tmp_path / "others.csv", texts)
    fresh = prepare_files(Recipe(str(others), model=str(tmp_path / "run"), steps=3, device="cpu"))[0]
    assert fresh.plan.head_start == "logistic"


@pytest.mark.parametrize(
    ("settings", "method", "contrast"),
    [
        ({"method": "plain"}, "plain", 0.6),
        ({"method": "ssmix"}, "ssmix", 0.6),
        ({"contrastive": 0.0}, "senmixup", 0),
        ({"contrastive": 0.2}, "senmixup", 0.2),
        ({"clean": 0.0}, "senmixup", 0),  # there are no unmixed texts to compare
        ({"clean": 0.0, "method": "plain"}, "plain", 0.6),  # clean is about mixtures, and here are none
        ({"accumulation": 2}, "senmixup", 0),  # the parts of a batch cannot be compared
        ({"head_start": "random"}, "senmixup", 0.6),
    ],
)
def test_what_is_asked_comes_first(settings, method, contrast, place):
    recipe = prepared(place, "mean", **settings).plan
    assert (recipe.method, recipe.contrastive) == (method, contrast)
    assert recipe.head_start == settings.get("head_start", "logistic")


def test_several_processes_have_no_contrast_by_default(monkeypatch):
    found = {"pooling": "mean", "head_start": "random", "max_length": 8}
    assert Recipe("rows.csv").resolved(60, 3, 384, **found).contrastive == 0.6
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert Recipe("rows.csv").resolved(60, 3, 384, **found).contrastive == 0


def test_a_resolved_recipe_stays_as_it_is(place):
    """So a run is repeated by its recipe.yaml, also by versions with other defaults."""
    recipe = prepared(place, "mean").plan
    assert prepare_files(recipe)[0].plan == recipe
    assert Plan.from_mapping(recipe.as_mapping()) == recipe


def test_options_without_a_method_are_refused():
    with pytest.raises(InputError, match="window: settings of a method need its name: add --method NAME"):
        Recipe("rows.csv", method_options={"window": 0.2})
