"""Parameters of every type that scikit-learn's users give, and the tools that set, copy and search them."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from salience import SalienceClassifier
from salience.errors import InputError

NUMPY = {
    "steps": np.int64(2), "learning_rate": np.float32(0.01), "clean": np.float64(0.5), "batch_size": np.int16(16),
    "iterations": np.uint8(3), "max_length": np.int32(64), "random_state": np.int64(0),
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
    loaded = SalienceClassifier.load(tmp_path).get_params()
    assert loaded == same.get_params()
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
    with pytest.raises(InputError, match=r"random_state|--seed"):
        short(random_state=value).fit(texts, labels)


@pytest.mark.parametrize("name", ["steps", "batch_size", "max_length"])
def test_zero_is_not_the_default(name, short, texts, labels):
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} must be from"):
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
