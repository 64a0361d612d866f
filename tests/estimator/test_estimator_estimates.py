"""What the estimator shares with `salience train` since runs of all rows: pooling, rates, estimates, calibration."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import accuracy_score

import families
from salience import SalienceClassifier, SSMix
from salience.errors import InputError
from salience.training.head import last_map
from salience.training.recipe import Recipe

GROUPS = [f"author {number // 3}" for number in range(24)]


def test_defaults_are_those_of_a_recipe():
    """But for the estimate: what searches and cross-validation measure is not measured twice."""
    recipe = Recipe("x")
    for name, parameter in inspect.signature(SalienceClassifier).parameters.items():
        if hasattr(recipe, name) and name not in ("model_options", "method_options"):
            assert parameter.default == getattr(recipe, name) or name == "estimate", name
    assert SalienceClassifier().estimate == "none"


def test_pooling_and_rates_reach_the_training(short, texts, labels, tmp_path):
    found = {}
    for name, settings in {"usual": {}, "mean": {"pooling": "mean"}, "rate": {"head_rate": 5.0}}.items():
        found[name] = short(method="plain", **settings).fit(texts, labels)
    layers = {name: each.model_.config.num_hidden_layers for name, each in found.items()}
    assert layers["mean"] == layers["usual"] + 1  # the pooling layer
    assert not np.array_equal(found["rate"].predict_proba(texts), found["usual"].predict_proba(texts))
    found["mean"].save(tmp_path)
    loaded = SalienceClassifier.load(tmp_path)
    assert loaded.get_params() == found["mean"].get_params() and loaded.estimate_ is None
    assert np.array_equal(loaded.predict_proba(texts), found["mean"].predict_proba(texts))


def test_the_head_alone_makes_no_step(short, texts, labels):
    """A regression: no rate and no seed changes it, and its estimate is of the same rows."""
    alone = {"steps": None, "trained_layers": 0, "pooling": "mean", "estimate": "folds:4", "calibrate": False}
    fitted = [short(**alone, learning_rate=rate, random_state=5).fit(texts, labels) for rate in (1e-4, 0.1)]
    assert np.array_equal(*(each.predict_proba(texts) for each in fitted))
    assert fitted[0].estimate_["steps"] == [0] * 4 and fitted[0].out_of_fold_[1].shape == (24, 3)


@pytest.mark.whole
def test_less_effort_makes_fewer_steps(short, texts, labels):
    """12 rows of three classes in a fold: 50 epochs, 38 steps of 16, or an eighth of them."""
    open_ = {"steps": None, "batch_size": None, "pooling": "mean", "estimate": "folds:2", "method": "plain"}
    fitted = {effort: short(**open_, effort=effort).fit(texts, labels) for effort in ("quick", "best")}
    assert {effort: each.estimate_["steps"] for effort, each in fitted.items()} == {"quick": [5, 5], "best": [38, 38]}


@families.crossed("kind", ["holdout", "folds:3"], "method", ["plain", SSMix(window=0.3)])
def test_an_estimate_is_of_texts_that_its_models_have_not_seen(kind, method, short, texts, labels):
    alone = short(method=method, validation_share=0).fit(texts, labels)
    fitted = clone(alone).set_params(estimate=kind, calibrate=False).fit(texts, labels)
    assert np.array_equal(alone.predict_proba(texts), fitted.predict_proba(texts))
    assert alone.estimate_ is None and alone.out_of_fold_ is None
    places, probabilities = fitted.out_of_fold_
    assert fitted.estimate_["kind"] == kind and not fitted.estimate_["calibrated"]
    assert probabilities.shape == (len(places), 3) and len(places) == fitted.estimate_["rows"]
    assert len(places) == 24 if kind == "folds:3" else 3 <= len(places) <= 6
    predicted = fitted.classes_[probabilities.argmax(1)]
    assert fitted.estimate_["accuracy"] == accuracy_score(np.array(labels)[places], predicted)


def test_a_held_out_text_is_predicted_by_a_model_of_the_others(short, texts, labels):
    """As an estimator says that is fitted on the others."""
    fitted = short(method="plain", validation_share=0, estimate="holdout").fit(texts, labels)
    places, probabilities = fitted.out_of_fold_
    others = [place for place in range(24) if place not in places]
    alone = short(method="plain", validation_share=0)
    alone.fit([texts[place] for place in others], [labels[place] for place in others])
    assert np.array_equal(alone.predict_proba([texts[place] for place in places]), probabilities)


def test_texts_are_numbered_by_their_place_also_with_validation_texts(short, texts, labels):
    fitted = short(method="plain", estimate="folds:2").fit(texts, labels)
    assert fitted.out_of_fold_[0].tolist() == list(range(24))


def test_calibration_divides_the_last_map(short, texts, labels):
    settings = {"method": "plain", "validation_share": 0, "estimate": "folds:2"}
    before = short(**settings, calibrate=False).fit(texts, labels)
    after = short(**settings).fit(texts, labels)
    temperature = after.estimate_["temperature_scaling"]["temperature"]
    assert after.estimate_["calibrated"] and temperature != 1
    weights = [last_map(each.model_).weight for each in (before, after)]
    assert torch.allclose(weights[0] / temperature, weights[1])


def test_groups_are_not_divided(short, texts, labels, monkeypatch):
    from salience.training import estimate as estimated_fit

    seen, choose = [], estimated_fit.choose_folds
    monkeypatch.setattr(estimated_fit, "choose_folds", lambda *given: seen.append(choose(*given)) or seen[-1])
    fitted = short(method="plain", estimate="folds:2").fit(texts, labels, groups=GROUPS)
    assert fitted.estimate_["groups"] == 8
    (folds,) = seen
    for group in set(GROUPS):
        assert len({fold for fold, each in zip(folds.numbers, GROUPS, strict=True) if each == group}) == 1
    short(method="plain", estimate="holdout").fit(texts, labels, groups=np.arange(24) // 3)


@pytest.mark.parametrize(
    ("settings", "groups", "message"),
    [
        ({"estimate": "folds:2"}, GROUPS[:5], "24 texts, but 5 groups"),
        ({"estimate": "folds:2"}, [*GROUPS[:-1], None], r"groups\[23\] is missing"),
        ({"estimate": "folds:2"}, [*GROUPS[:-1], float("nan")], r"groups\[23\] is missing"),
        ({}, GROUPS, "groups are those of the estimate"),
        ({"calibrate": True}, None, "calibrate has no effect without an estimate"),
        ({"estimate": "folds:50"}, None, "estimate='folds:50': give none, holdout, or folds:K"),
        ({"estimate": "folds:20"}, None, "no class has more than 8 rows"),
        ({"pooling": "max"}, None, 'unknown pooling "max"'),
        ({"head_rate": "fast"}, None, "head_rate='fast'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(settings, groups, message, short, texts, labels):
    with pytest.raises(InputError, match=message) as error:
        short(**settings).fit(texts, labels, groups=groups)
    assert "\n" not in str(error.value)
