"""Texts as one value: what it is made of, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from pandas import DataFrame

import salience
from salience.data.texts import UNKNOWN, Texts

FULL = Texts(["a b", "c"], ["d", "e"], [1, UNKNOWN], [4, 7], [["x", "y"], ["z"]], ["Ann", "Bea"])


def test_what_users_give_becomes_texts():
    assert Texts.of(["a", "b"]) == Texts.of(("a", "b")) == Texts.of(np.array(["a", "b"])) == Texts(["a", "b"])
    assert (
        Texts.of([("a", "b"), ["c", "d"]])
        == Texts.of(np.array([["a", "b"], ["c", "d"]]))
        == Texts(list("ac"), list("bd"))
    )
    assert Texts.of(FULL) is FULL
    assert Texts.of([]) == Texts([])


NO_TEXTS = [  # what is given, and what the message says
    (["a", ("b", "c")], "texts[0] is no pair of texts"),
    ([("b", "c"), "ab"], "texts[1] is no pair of texts"),
    ([("a", "b", "c")], "texts[0] is no pair of texts"),
    ([("a", None)], "texts[0] is no pair of texts"),
    ([("a", 1)], "texts[0] is no pair of texts"),
    (["a", None], "texts[1] is neither a text nor a pair of texts, but missing (None)"),
    ([("a", "b"), 1.5], "texts[1] is neither a text nor a pair of texts, but of type float"),
    ({"text": ["a"]}, 'texts are a dict: give a list, or one column, such as table["text"]'),
    ({"a", "b"}, "texts are a set"),
    (DataFrame({"text": ["a", "b"]}), "texts are a DataFrame"),
    ("a text", "not one string"),
]


def test_what_is_no_text_is_named_by_its_place(complaint):
    for given, message in NO_TEXTS:
        assert message in complaint(Texts.of, given)


def test_every_text_has_its_values(complaint):
    for name, values in {"second": ["a"], "labels": [0, 1, 2], "rows": [1], "marks": []}.items():
        message = complaint(Texts, ["a", "b"], **{name: values})
        assert message == f"2 texts, but {len(values)} values in {name}: give one for each text"


def test_half_characters_are_replaced_as_in_files():
    for given in (["a \ud83d", "\ud83d\ude00"], [("a \ud83d", "b"), ("c", "\ud83d\ude00")]):
        texts = Texts.of(given)
        assert [texts.texts[0], texts.columns[-1][1]] == ["a \ufffd", "\U0001f600"]


def test_a_value_that_is_no_text_is_named(complaint):
    assert complaint(Texts, ["a", None]) == "texts[1] is no text, but of type NoneType: give strings"
    assert complaint(Texts, ["a"], second=[1.5]) == "second[0] is no text, but of type float: give strings"


def test_labels_are_numbers(complaint):
    assert Texts(["a", "b"], labels=[1, 0]).known_labels.dtype == np.int64
    assert len(Texts([], labels=[]).known_labels) == 0
    assert 'not as "sport"' in complaint(Texts, ["a"], labels=["sport"])
    assert 'not as "0.5"' in complaint(Texts, ["a"], labels=[0.5])
    with pytest.raises(ValueError, match="not known"):
        _ = Texts(["a"]).known_labels


def test_a_text_is_labelled_if_all_its_labels_are_known():
    assert Texts(["a", "b"]).labelled.tolist() == [False, False]
    assert Texts(["a", "b"], labels=[0, UNKNOWN]).labelled.tolist() == [True, False]
    several = Texts(["a", "b", "c"], labels=np.array([[0, 1], [0, UNKNOWN], [UNKNOWN, UNKNOWN]]))
    assert several.labelled.tolist() == [True, False, False]
    assert Texts([], labels=np.zeros((0, 2), int)).labelled.tolist() == []


def test_take_keeps_the_order_that_is_asked_for():
    assert FULL.take([1, 0]) == Texts(
        ["c", "a b"], ["e", "d"], [UNKNOWN, 1], [7, 4], [["z"], ["x", "y"]], ["Bea", "Ann"]
    )
    assert FULL.take(np.array([1, 1])).rows == [7, 7]
    assert Texts(["a", "b"], rows=[1, 2]).take(range(1, 2)) == Texts(["b"], rows=[2])
    assert FULL.take([]) == Texts([], [], [], [], [], [])


def test_parts_are_concatenated():
    assert Texts.concatenated([FULL.take([0]), FULL.take([1])]) == FULL
    assert Texts.concatenated(iter([Texts(["a"]), Texts(["b"])])) == Texts(["a", "b"])
    assert Texts.concatenated([]) == Texts([])


def test_texts_are_equal_if_all_their_values_are():
    assert FULL.take([0, 1]) == FULL
    changes = {"texts": ["a b", "x"], "second": None, "labels": [1, 0], "rows": [4, 8], "marks": None, "groups": None}
    for name, values in changes.items():
        assert replace(FULL, **{name: values}) != FULL, name
    assert replace(FULL, labels=None) != FULL and FULL.texts != FULL
    assert salience.Texts is Texts
