"""Parameters of every type that scikit-learn's users give, and the tools that set, copy and search them."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from salience import DropMix, SalienceClassifier, SSMix
from salience.errors import InputError
from salience.estimator.classifier import recipe_of
from salience.mixing import shuffle
from salience.mixing.choosing import choose_method
from salience.training.procedures import Turns

NUMPY = {
    "steps": np.int64(2), "learning_rate": np.float32(0.01), "clean": np.float64(0.5), "batch_size": np.int16(16),
    "max_length": np.int32(64), "random_state": np.int64(0),
    "class_weights": {"food": np.float64(2)}, "method_options": {"window": np.float32(0.2)},
    "method": np.str_("ssmix"),
}  # fmt: skip


def test_numpy_numbers_are_numbers(short, tiny, texts, labels, tmp_path):
    given = short(**NUMPY | {"model": Path(tiny)}).fit(texts, labels)
    plain = {name: value.item() for name, value in NUMPY.items() if isinstance(value, np.generic)}
    plain |= {"class_weights": {"food": 2.0}, "method_options": {"window": float(np.float32(0.2))}}
    same = short(**plain).fit(texts, labels)
    assert np.array_equal(given.predict_proba(texts), same.predict_proba(texts))
    given.save(tmp_path)
    loaded = SalienceClassifier.load(tmp_path).get_params(deep=False)
    assert loaded == same.get_params(deep=False)
    assert {type(value) for value in loaded.values()} <= {int, float, str, dict, type(None)}


def test_numpy_bools_of_options(tiny, texts, labels, tmp_path):
    options = {"encoder": "lstm", "width": np.int64(8), "bidirectional": np.bool_(True)}
    estimator = SalienceClassifier("plain", "attention:dot", model_options=options, steps=2, device="cpu")
    estimator.fit(texts, labels).save(tmp_path)
    assert SalienceClassifier.load(tmp_path).predict(texts).tolist() == estimator.predict(texts).tolist()


@pytest.mark.parametrize("draw", [lambda: None, lambda: np.random.RandomState(3)], ids=["None", "RandomState"])
def test_a_drawn_seed_is_kept_and_repeats_the_run(draw, short, texts, labels, tmp_path):
    np.random.seed(5)
    estimator = short(random_state=draw()).fit(texts, labels)
    first, before = estimator.seed_, estimator.predict_proba(texts)
    again = short(random_state=first).fit(texts, labels)
    assert np.array_equal(again.predict_proba(texts), before)
    estimator.save(tmp_path)
    assert SalienceClassifier.load(tmp_path).seed_ == first
    assert estimator.fit(texts, labels).seed_ != first
    assert type(first) is int


def test_drawn_seeds_do_not_follow_from_each_other(short, texts, labels):
    np.random.seed(5)
    expected = [int(np.random.randint(2**31 - 1)) for _ in range(3)]
    np.random.seed(5)
    assert [short(random_state=None).fit(texts, labels).seed_ for _ in range(3)] == expected


@pytest.mark.parametrize("value", [-1, 2**32, 1.5, "7", np.random.default_rng(0)], ids=str)
def test_what_is_no_random_state_is_refused(value, short, texts, labels):
    with pytest.raises(InputError, match=r"random_state|seed"):
        short(random_state=value).fit(texts, labels)


@pytest.mark.parametrize("name", ["steps", "batch_size", "max_length"])
def test_zero_is_not_the_default(name, short, texts, labels):
    with pytest.raises(InputError, match=f"{name}(=0: give a whole number from| must be at least 1)"):
        short(**{name: 0}).fit(texts, labels)


def test_all_texts_are_trained_on_where_none_are_to_be_held_out(short, texts, labels):
    few, every = (short(validation_share=share).fit(texts, labels) for share in (None, 0))
    assert not np.array_equal(few.predict_proba(texts), every.predict_proba(texts))


def test_sample_weights_are_refused(short, texts, labels):
    with pytest.raises(TypeError, match="sample_weight"):
        short().fit(texts, labels, sample_weight=np.ones(len(texts)))


def test_scores_may_be_weighted(fitted, texts, labels):
    right = fitted.predict(texts) == np.array(labels)
    assert fitted.score(texts, labels, sample_weight=right + 1e-9) == pytest.approx(1, abs=1e-6)


def test_an_estimator_is_cloned_without_its_model(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(["goal"])


@pytest.mark.whole
def test_searches_and_cross_validation(short, texts, labels):
    search = GridSearchCV(short(), {"steps": np.array([1, 2]), "learning_rate": np.logspace(-3, -2, 2)}, cv=2)
    search.fit(np.array(texts, dtype=object), np.array(labels, dtype=object))
    assert set(search.predict(texts)) <= set(labels)
    assert cross_val_score(short(), texts, labels, cv=2).shape == (2,)


def test_pickled_and_read_again(short, fitted, texts):
    assert pickle.loads(pickle.dumps(short())).get_params() == short().get_params()
    read = pickle.loads(pickle.dumps(fitted))
    assert read.get_params() == fitted.get_params()
    assert np.array_equal(read.predict_proba(texts), fitted.predict_proba(texts))


def test_saving_before_fitting(tmp_path):
    with pytest.raises(NotFittedError):
        SalienceClassifier().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_method_is_given_by_name_or_as_an_object(short, texts, labels, tmp_path):
    named = short(method="ssmix", method_options={"window": 0.3}).fit(texts, labels)
    written = short(method="ssmix:window=0.3").fit(texts, labels)
    given = short(method=SSMix(window=0.3)).fit(texts, labels)
    other = short(method=SSMix(window=0.9)).fit(texts, labels)
    expected = named.predict_proba(texts)
    assert np.array_equal(given.predict_proba(texts), expected) and np.array_equal(
        written.predict_proba(texts), expected
    )
    assert not np.array_equal(other.predict_proba(texts), expected)
    given.save(tmp_path)
    loaded = SalienceClassifier.load(tmp_path)
    assert (loaded.method, loaded.method_options) == ("ssmix", {"window": 0.3})
    assert np.array_equal(loaded.predict_proba(texts), expected)


def test_a_method_is_cloned_and_its_fields_are_set_without_changing_it():
    method = SSMix(window=0.3)
    estimator = SalienceClassifier(method=method)
    copy = clone(estimator).set_params(method__window=0.2)
    assert (method.window, estimator.method.window, copy.method) == (0.3, 0.3, SSMix(window=0.2))
    assert clone(estimator).get_params() == estimator.get_params()
    by_name = SalienceClassifier("ssmix").set_params(method__window=0.2)
    assert (by_name.method, by_name.method_options) == ("ssmix", {"window": 0.2})
    assert SalienceClassifier("ssmix").get_params()["method__window"] == 0.1
    same = SalienceClassifier("ssmix")
    assert same.set_params(**same.get_params()).method_options is None
    by_turns = SalienceClassifier(procedure=Turns(iterations=2)).set_params(procedure__beta=0.5)
    assert by_turns.procedure == Turns(2, 0.5)


def test_options_behind_the_name_are_settings_that_can_be_set():
    written = "ssmix:window=0.5"
    estimator = SalienceClassifier(written)
    assert estimator.get_params()["method__window"] == 0.5
    for window in (0.2, 0.1, 0.5):  # 0.1 is the default of the class
        copy = clone(estimator).set_params(method__window=window)
        recipe, _ = recipe_of(copy.get_params(deep=False), 0)
        assert choose_method(recipe.method, recipe.method_options).window == window
        assert copy.get_params()["method__window"] == window
        assert recipe.method == "ssmix"
    assert (estimator.method, estimator.method_options) == (written, None)


def test_other_options_behind_the_name_are_kept():
    estimator = SalienceClassifier("dropmix-g:alpha=0.5,ratio=0.3", method_options={"alpha": 2})
    shown = estimator.get_params()
    assert (shown["method__alpha"], shown["method__ratio"]) == (0.5, 0.3)  # as a recipe reads them
    estimator.set_params(method__ratio=0.4)
    assert (estimator.method, estimator.method_options) == ("dropmix-g", {"alpha": 0.5, "ratio": 0.4})


@pytest.mark.parametrize(
    ("settings", "name", "message"),
    [
        ({}, "method__window", "method__window cannot be set: method=None has no settings"),
        ({}, "procedure__beta", "procedure__beta cannot be set: procedure=None has no settings"),
        ({"method": "plain"}, "method__window", "method='plain' has no settings"),
        ({"procedure": "turns"}, "procedure__beta", "procedure='turns' has no settings"),
        ({"method": SSMix}, "method__windw", "method=<class .*> has no settings"),
        ({"method": "ssmix:window=0.5"}, "method__windw", 'Did you mean "method__window"'),
    ],
)
def test_what_has_no_such_setting_is_named(settings, name, message):
    with pytest.raises(InputError, match=message):
        SalienceClassifier(**settings).set_params(**{name: 0.5})


@pytest.mark.parametrize("name", ["method__windw", "procedure__beta", "method_window", "metod__window"])
def test_an_unknown_nested_parameter_is_refused(name):
    with pytest.raises(ValueError):
        SalienceClassifier(SSMix()).set_params(**{name: 0.5})


@pytest.mark.whole
def test_methods_and_their_fields_are_searched(short, texts, labels):
    grid = [{"method": ["plain", DropMix()]}, {"method": [SSMix(), "ssmix"], "method__window": [0.1, 0.9]}]
    search = GridSearchCV(short(), grid, cv=2).fit(texts, labels)
    tried = search.cv_results_["params"]
    assert len(tried) == 6 and [own.get("method__window") for own in tried] == [None, None, 0.1, 0.9, 0.1, 0.9]
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and scores[2] == scores[4] and scores[3] == scores[5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": 5}, "method=5: give a name"),
        ({"method": SSMix}, r"method=<class 'salience.mixing.ssmix.SSMix'>: give a name .* or an object"),
        ({"method": SSMix(), "method_options": {"window": 0.2}}, "method given by name"),
        ({"procedure": {"beta": 0.2}}, "give Standard"),
        ({"procedure": Turns()}, "only VAT is trained by turns"),
    ],
)
def test_what_is_no_method_or_procedure_is_refused(settings, message, short, texts, labels):
    with pytest.raises(InputError, match=message):
        short(**settings).fit(texts, labels)


def test_a_method_that_only_python_can_set_is_trained_but_not_saved(short, texts, labels, tmp_path):
    estimator = short(method=SSMix(pair=shuffle)).fit(texts, labels)
    assert set(estimator.predict(texts)) <= set(labels)
    with pytest.raises(InputError, match="cannot be written by name and options"):
        estimator.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
