"""A plain stage before the method: its parameter, its short form, and searches over both."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from salience import SalienceClassifier, SSMix
from salience.errors import InputError


def test_a_plain_stage_is_a_parameter_and_a_part_of_the_name(short, texts, labels, tmp_path):
    forms = [
        {"method": "plain+ssmix:window=0.3"},
        {"method": "plain+ssmix", "method_options": {"window": 0.3}},
        {"method": "ssmix", "method_options": {"window": 0.3}, "plain_share": 0.375},
        {"method": SSMix(window=0.3), "plain_share": np.float64(0.375)},
    ]
    fitted = [short(steps=6, **form).fit(texts, labels) for form in forms]
    expected = fitted[0].predict_proba(texts)
    assert all(np.array_equal(each.predict_proba(texts), expected) for each in fitted)
    others = ({"method": "ssmix:window=0.3"}, {"method": "plain+ssmix:window=0.3", "plain_share": 0.7})
    for other in others:
        found = short(steps=6, **other).fit(texts, labels).predict_proba(texts)
        assert not np.array_equal(found, expected)
    for number, each in enumerate(fitted):
        each.save(tmp_path / str(number))
        loaded = SalienceClassifier.load(tmp_path / str(number))
        assert np.array_equal(loaded.predict_proba(texts), expected)
        assert np.array_equal(clone(loaded).fit(texts, labels).predict_proba(texts), expected)


def test_a_classifier_of_an_earlier_version_has_none(fitted, texts, tmp_path):
    fitted.save(tmp_path)
    settings = json.loads((tmp_path / "salience.json").read_text())
    assert settings["parameters"].pop("plain_share") == 0
    assert settings["parameters"].pop("pooling") == "auto"
    (tmp_path / "salience.json").write_text(json.dumps(settings))
    assert SalienceClassifier.load(tmp_path).get_params() == fitted.get_params() | {"pooling": "cls"}


def test_fields_of_a_method_behind_a_plain_stage_are_set():
    estimator = SalienceClassifier("plain+ssmix").set_params(method__window=0.2)
    assert (estimator.method, estimator.method_options) == ("plain+ssmix", {"window": 0.2})
    assert SalienceClassifier("plain+ssmix").get_params()["method__window"] == 0.1
    assert "method__window" not in SalienceClassifier("plain+plain").get_params()
    with pytest.raises(InputError, match="method__windw"):
        estimator.set_params(method__windw=0.2)


def test_a_plain_stage_is_searched(short, texts, labels):
    grid = [
        {"method": ["ssmix", "plain+ssmix"], "method__window": [0.1, 0.9]},
        {"method": ["ssmix"], "plain_share": [0, 0.375]},
    ]
    search = GridSearchCV(short(steps=4), grid, cv=2, scoring="neg_log_loss").fit(texts, labels)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and len(scores) == 6
    assert (scores[0], scores[2]) == (scores[4], scores[5])  # window=0.1 is the default
    assert len(set(scores)) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "plain+ssmx"}, 'unknown method "ssmx"'),
        ({"method": "plain+plain+ssmix"}, r"write plain\+ once"),
        ({"plain_share": 1}, "--plain-share is 1: give a number from 0 to 0.95"),
        ({"method": "plain+ssmix", "model": "lstm-vat"}, "VAT is trained by turns"),
        ({"method": "plain+ssmix", "steps": 1}, "a single step has no two stages"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(settings, message, short, texts, labels):
    with pytest.raises(InputError, match=message) as error:
        short(**settings).fit(texts, labels)
    assert "\n" not in str(error.value)
