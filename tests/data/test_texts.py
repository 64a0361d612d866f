"""Texts as one value: what it is made of, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from pandas import DataFrame, Series

import salience
from salience.data.texts import UNKNOWN, Texts

FULL = Texts(["a b", "c"], ["d", "e"], [1, UNKNOWN], [4, 7], [["x", "y"], ["z"]], ["Ann", "Bea"])


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "column of an array": lambda texts: np.array(texts).reshape(-1, 1),
    "list of lists": lambda texts: [[text] for text in texts],
    "series": Series,
    "series of objects": lambda texts: Series(texts, dtype=object, index=[7, 7]),
    "categories": lambda texts: Series(texts, dtype="category"),
    "column": lambda texts: DataFrame({"text": texts})["text"],
    "table of one column": lambda texts: DataFrame({"text": texts}, index=[3, 3]),
    "generator": lambda texts: (text for text in texts),
}
PAIRS = {
    "tuples": list,
    "lists": lambda pairs: [list(pair) for pair in pairs],
    "array": np.array,
    "arrays": lambda pairs: [np.array(pair) for pair in pairs],
    "series": Series,
    "table of two columns": lambda pairs: DataFrame(pairs, columns=["text", "text_pair"]),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=list(CONTAINERS))
def test_texts_in_what_a_person_passes(container):
    texts = Texts.of(container(["a", "b"]))
    assert texts == Texts(["a", "b"]) and {type(text) for text in texts.texts} == {str}


@pytest.mark.parametrize("container", PAIRS.values(), ids=list(PAIRS))
def test_pairs_in_what_a_person_passes(container):
    assert Texts.of(container([("a", "b"), ("c", "d")])) == Texts(list("ac"), list("bd"))


def test_no_texts_and_texts_as_they_are():
    for nothing in (
        [],
        (),
        np.array([]),
        Series([], dtype=str),
        DataFrame({"text": []}),
        DataFrame(columns=["a", "b"]),
    ):
        assert Texts.of(nothing) == Texts([])
    assert Texts.of(FULL) is FULL


NO_TEXTS = [  # what is given, and what the message says
    (["a", ("b", "c")], "texts[1] is tuple of shape (2,), not a text; give texts only or pairs only"),
    ([("b", "c"), "ab"], "texts[0] is a pair of texts, but texts[1] is str; give pairs of texts only"),
    ([("a", "b", "c")], "texts[0] is tuple of shape (3,), not a text"),
    ([("a", None)], "texts[0][1] is missing (None); remove this row, or give it a text"),
    ([("a", 1)], "texts[0][1] is int, not a text"),
    (["a", None], "texts[1] is missing (None)"),
    ([("a", "b"), 1.5], "texts[0] is a pair of texts, but texts[1] is float"),
    ({"text": ["a"]}, "texts is dict; give a sequence of texts"),
    ({"a", "b"}, "texts is set; give a sequence of texts"),
    (DataFrame({"id": [1], "text": ["a"]}), "texts[0][0] is int, not a text"),
    (
        DataFrame({"id": ["1"], "text": ["a"], "label": ["b"]}),
        "not a text; give texts only or pairs only, and of a table",
    ),
    ("a text", "texts is str; give a sequence of texts: a list as [...], an array"),
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
    assert Texts.concatenated([Texts(["a"]), Texts(["b"], labels=[1])]) == Texts(["a", "b"], labels=[UNKNOWN, 1])
    several = Texts.concatenated([Texts(["a"], labels=[[0, 1]]), Texts(["b"])])
    assert several.known_labels.tolist() == [[0, 1], [UNKNOWN, UNKNOWN]]


def test_texts_are_equal_if_all_their_values_are():
    assert FULL.take([0, 1]) == FULL
    changes = {"texts": ["a b", "x"], "second": None, "labels": [1, 0], "rows": [4, 8], "marks": None, "groups": None,
               "ignore": [[], []]}  # fmt: skip
    for name, values in changes.items():
        assert replace(FULL, **{name: values}) != FULL, name
    assert replace(FULL, labels=None) != FULL and FULL.texts != FULL
    assert salience.Texts is Texts
