"""Labels of every type: what stays as it is, and what is refused."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError

from salience.data.texts import Texts
from salience.errors import InputError
from salience.estimator.classifier import parted
from salience.training.procedures import Standard, Turns
from salience.training.recipe import Recipe

TYPES = {
    "str": ["food", "music", "sport"],
    "int": [10, 20, 30],
    "bool": [False, True, True],
    "float": [-1.0, 0.0, 2.0],
    "dates": [date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 3)],
    "bytes": [b"food", b"music", b"sport"],
    "half characters": ["food\ud83d", "music", "sport"],
}

FEW = ("float", "dates", "bytes")  # the others are saved too, in test_estimator_saving.py


def renamed(labels, names):
    number = {label: place for place, label in enumerate(sorted(set(labels)))}
    return [names[number[label]] for label in labels]


@pytest.mark.parametrize(
    "names", [
        pytest.param(names, id=name, marks=() if name in FEW else pytest.mark.whole) for name, names in TYPES.items()
    ],
)  # fmt: skip
def test_predicted_labels_are_those_of_y(names, short, texts, labels):
    y = renamed(labels, names)
    estimator = short().fit(texts, y)
    assert estimator.classes_.tolist() == sorted(set(names))
    predicted = estimator.predict(texts).tolist()
    assert set(predicted) <= set(names)
    assert {type(label) for label in predicted} == {type(names[0])}


def test_numpy_and_pandas_keep_their_types(short, texts, labels):
    numbers = renamed(labels, [1, 2, 3])
    for y, dtype in [
        (np.array(numbers, np.int8), np.int8),
        (np.array(numbers, np.uint16), np.uint16),
        (np.array(numbers, dtype=object), np.int64),
        (pd.Series(numbers, dtype="Int64"), np.int64),
        (pd.Series(labels, dtype="category"), object),
        (np.array(labels, dtype=object), object),
        (np.array(labels, dtype="T"), object),
    ]:
        assert short(steps=1).fit(texts, y).classes_.dtype == dtype


def test_a_column_of_labels_is_taken_with_scikit_learns_warning(short, texts, labels, fitted):
    for column in (np.array(labels).reshape(-1, 1), [[label] for label in labels], pd.DataFrame({"label": labels})):
        with pytest.warns(DataConversionWarning):
            estimator = short().fit(texts, column)
        assert np.array_equal(estimator.predict_proba(texts), fitted.predict_proba(texts))


def test_texts_and_labels_that_can_be_read_once(short, texts, labels, fitted):
    estimator = short().fit(iter(texts), iter(labels))
    assert np.array_equal(estimator.predict_proba(iter(texts)), fitted.predict_proba(texts))
    assert estimator.score(texts, iter(labels)) == fitted.score(texts, labels)


REFUSED = {
    "None": (None, "requires y to be passed"),
    "one string": ("abcdef", "y is str; give a sequence of labels"),
    "a dict": ({"a": 1}, "y is dict; give a sequence of labels"),
    "a set": ({"a", "b"}, "y is set; give a sequence of labels"),
    "two columns": (np.array([("a", "b")] * 6), r'y\[0, 0\] is "a", not 0 or 1.*y should be a 1d array'),
    "two columns of classes": ([[0, 2], [1, 0], [1, 1]] * 2, r'y\[0, 1\] is "2", not 0 or 1'),
    "a gap in a matrix": (np.array([[0, 1], [np.nan, 1], [1, 0]] * 2), r"y\[1, 0\] is missing"),
    "two columns of one name": (
        pd.DataFrame([[0, 1], [1, 0]] * 3, columns=["a", "a"]),
        '2 labels in y have the same name, "a"',
    ),
    "too few": (["a", "b"], "6 texts, but 2 labels"),
    "none": ([], "6 texts, but 0 labels"),
    "one class": (["a"] * 6, 'only one class, "a"'),
    "a missing label": (["a", "b", None] * 2, r"y\[2\] is missing \(None"),
    "nan among strings": (["a", float("nan"), "b"] * 2, r"y\[1\] is missing \(nan"),
    "nan among numbers": (np.array([1, np.nan, 2] * 2), r"y\[1\] is missing"),
    "no date": (np.array(["2020-01-01", "NaT", "2020-01-02"] * 2, "datetime64[D]"), r"y\[1\] is missing"),
    "pandas' NA": (pd.Series(["a", pd.NA, "b"] * 2, dtype="string"), r"y\[1\] is missing"),
    "strings and numbers": (["a", 1, "b"] * 2, r"y\[1\] is int, but y\[0\] is str; give labels of one type"),
    "a list among labels": (["a", ["a", "b"], "b"] * 2, r"y\[1\] is list of shape \(2,\); give one label"),
    "lists of numbers": ([[1], [1, 5], [5]] * 2, r"y\[0\] contains int; give lists of names, or a matrix of 0 and 1"),
    "lists of one name": ([["a"], [], ["a"]] * 2, "the lists in y name 1 different labels"),
    "no name at all": ([[], []] * 3, "the lists in y name 0 different labels"),
    "lists that are too few": ([["a", "b"], ["a"]], "6 texts, but 2 labels"),
    "dicts": ([{"a": 1}, {"a": 2}] * 3, r"y\[0\] is dict; give one label for each text"),
    "what has no order": ([object(), object()] * 3, "labels of type object cannot be sorted"),
    "fractions": ([0.5, 1.5] * 3, "Unknown label type: continuous"),
    "infinity": ([1.0, float("inf")] * 3, "infinity"),
    "complex numbers": (np.array([1j, 2] * 3), "Complex data not supported"),
    "the same name": (["a\ud83d", "a\ufffd"] * 3, "2 labels in y have the same name"),
}


def test_a_class_of_one_text_cannot_be_held_out(short):
    estimator = short(validation_share=0.2)
    with pytest.raises(ValueError, match=r'the class "b" has a single text.*validation_share=0'):
        estimator.fit(["goal", "match", "song", "band", "soup", "bread"], ["a"] * 5 + ["b"])


def test_equal_texts_and_groups_are_not_held_out_in_part():
    texts = Texts([f"text {number // 2}" for number in range(40)], labels=np.arange(40) // 2 % 2)
    authors = [f"author {number // 4}" for number in range(40)]
    for given, units in ((texts, texts.texts), (replace(texts, groups=authors), authors)):
        training, held_out = parted(given, Recipe("texts", validation_share=0.2), ["a", "b"])
        assert len(held_out) == 8 and len(training) == 32
        assert not {units[row] for row in training} & {units[row] for row in held_out}


@pytest.mark.parametrize("y, message", REFUSED.values(), ids=list(REFUSED))
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_no_label_is_refused(y, message, short):
    estimator = short()
    with pytest.raises(ValueError, match=message):
        estimator.fit(["goal", "match", "song", "band", "soup", "bread"], y)
    with pytest.raises(NotFittedError):
        estimator.predict(["goal"])


def test_a_class_of_one_text_can_be_trained_on(short):
    assert short(validation_share=0).fit(["goal", "song"], ["a", "b"]).predict(["goal"]).shape == (1,)


def test_a_refit_that_fails_leaves_the_estimator_as_it_was(short, texts, labels):
    estimator = short().fit(texts, labels)
    before, classes = estimator.predict_proba(texts), estimator.classes_.tolist()
    late = (
        {"procedure": Standard(alignment=0.1)}, {"procedure": Turns(beta=0.5)}, {"model": "/no/such/folder"},
        {"class_weights": "tea=2"},
    )  # fmt: skip
    for settings in ({}, *late):
        estimator.set_params(**settings)
        with pytest.raises(InputError):
            estimator.fit(texts[:4] if not settings else texts, renamed(labels, ["x", "y", "z"]))
        estimator.set_params(**short().get_params())
        assert estimator.classes_.tolist() == classes
        assert np.array_equal(estimator.predict_proba(texts), before)


def test_a_fit_that_is_interrupted_leaves_the_estimator_as_it_was(short, texts, labels, monkeypatch):
    estimator = short().fit(texts, labels)
    before, known = estimator.predict(texts).tolist(), set(vars(estimator))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("salience.training.estimate.fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(texts, renamed(labels, ["x", "y", "z"]))
    assert estimator.predict(texts).tolist() == before
    assert set(vars(estimator)) == known
