"""The pace of a run leaves no trace, and plans are cut in their order: folds, steps, all layers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import families
from labelled import WORDS, labelled_rows, write_csv
from salience.errors import InputError
from salience.runs.folder import RECIPE, read_recipe
from salience.training.estimate import plan_estimate
from salience.training.pace import Pace, measured
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.run import train
from salience.training.task import task_of
from word_models import bits


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pace")
    data = write_csv(folder / "rows.csv", labelled_rows(40))
    model = families.save_tiny_model(folder / "tiny", list(WORDS.values()), dropout=0.1)
    return {"data": str(data), "model": str(model), "device": "cpu", "pooling": "mean"}


def prepared_of(files, **settings):
    recipe = Recipe(**files, steps=20, **settings)
    task = task_of(recipe, silent)
    prepared = prepare(recipe, task)
    return prepared, task, plan_estimate(prepared, task, silent)


@pytest.mark.parametrize("layers", ["all", 1])
def test_the_model_and_random_numbers_stay_as_they_are(files, layers):
    prepared, *_ = prepared_of(files, trained_layers=layers)
    before, drawn = bits(prepared.model), torch.get_rng_state()
    pace = measured(prepared, 3.0)
    assert bits(prepared.model) == before and torch.equal(torch.get_rng_state(), drawn)
    assert all(weight.grad is None for weight in prepared.model.parameters()) and not prepared.model.training
    assert pace.model == 3 and pace.step > 0 and pace.text > 0


def test_seconds_are_those_of_all_models_and_predictions(files):
    prepared, task, folds = prepared_of(files, estimate="folds:5")
    none = Pace(100, 1, 0).seconds(prepared, task, None)
    assert none == 20
    assert Pace(100, 1, 0).seconds(prepared, task, folds) == 6 * none
    # Each row by one model, with three shares of its weights, and explained; and the regression after each training.
    explained = 5 * 40
    assert texts_of_folds(prepared, task, folds) == 3 * 40 + explained + 5 * 32
    assert texts_of_folds(*prepared_of(files, estimate="folds:5", head_end="trained")) == 3 * 40 + explained
    assert texts_of_folds(*prepared_of(files, estimate="folds:5", trained_share=1.0)) == 40 + explained + 5 * 32


def test_the_vectors_of_the_initial_head_count(files):
    """Once for it, and once more for the regression at the end; the page explains nothing without held-out rows."""
    per_text = Pace(0, 0, 1)
    for settings, reads in (({}, 2), ({"head_end": "trained"}, 1), ({"head_start": "random"}, 0)):
        prepared, task, _ = prepared_of(files, estimate="none", **settings)
        assert per_text.seconds(prepared, task, None) == reads * 40


def texts_of_folds(prepared, task, folds) -> float:
    per_text = Pace(0, 0, 1)
    return per_text.seconds(prepared, task, folds) - per_text.seconds(prepared, task, None)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (220, {}),
        (219, {"estimate": "folds:5"}),
        (119, {"estimate": "folds:2"}),
        (59, {"estimate": "none"}),
        (19, {"estimate": "none", "steps": 19}),
        (2, {"estimate": "none", "steps": 2}),
    ],
)
def test_folds_are_cut_first_and_steps_then(files, limit, expected):
    assert Pace(0, 1, 0).within(limit, *prepared_of(files, estimate="folds:10")) == expected


def test_at_last_the_head_alone_is_trained_and_less_is_refused(files):
    prepared = prepared_of(files)
    head = Pace(0, 1, 0).within(1, *prepared)
    assert (head["trained_layers"], head["steps"]) == (0, 0)
    with pytest.raises(InputError, match="even the head alone takes 30 s"):
        Pace(15, 1, 0).within(1, *prepared)  # it is prepared anew, after 15 s that it took before
    with pytest.raises(InputError, match="too short for any training of this model: give it 50 s"):
        Pace(15, 1, 0).within(1, *prepared_of(files, head_start="random", estimate="none"))


def test_an_estimate_that_is_needed_is_kept(files):
    needs = prepared_of(files, estimate="folds:5", calibrate=True)
    assert Pace(0, 1, 0).within(30, *needs) == {"estimate": "folds:2", "steps": 10}


def test_how_long_it_takes_is_said_before_the_texts_are_computed(files, tmp_path, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr("salience.training.prepare.set_regression", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(Recipe(**files, steps=20), tmp_path / "run", note=said.append, timed=True)
    assert said[-1].startswith("this takes about")


@pytest.mark.whole
def test_what_was_cut_is_in_the_recipe_which_repeats_the_run(files, tmp_path, monkeypatch):
    monkeypatch.setattr("salience.training.run.measured", lambda prepared, seconds: Pace(0, 1, 0))
    said: list[str] = []
    recipe = Recipe(**files, steps=20)
    run = train(recipe, tmp_path / "cut", note=said.append, time_limit=1000 + 5, timed=True)
    assert any(line.startswith("this takes about") for line in said) and run.recipe["steps"] == 20
    monkeypatch.setattr("salience.training.run.time", SimpleNamespace(time=lambda: 0.0))
    cut = train(recipe, tmp_path / "cut", overwrite=True, note=said.append, time_limit=5)
    assert (cut.recipe["steps"], cut.recipe["estimate"]) == (5, "none")
    assert "to end within 5 s: estimate=none, steps=5" in said
    again = train(Recipe.from_mapping(read_recipe(tmp_path / "cut" / RECIPE)), tmp_path / "again", note=silent)
    assert bits(again.classifier.model) == bits(cut.classifier.model)
    assert np.array_equal(again.metrics["steps"], cut.metrics["steps"])
