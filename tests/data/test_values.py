"""One value of a row: as a text, as a label, as the labels of a row; and what is no valid Unicode."""

import csv
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from salience.data.values import (
    group_of,
    indicator_of,
    joined_labels,
    label_of,
    labels_of,
    text_of,
    well_formed,
    well_formed_value,
)
from salience.errors import InputError

MISSING = [None, float("nan"), np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT, "", " "]


def test_missing_values_are_nothing():
    for value in MISSING:
        assert text_of(value) is labels_of(value) is indicator_of(value) is group_of(value) is None, value


VALUES = [
    (text_of, [("nan", "nan"), (0, "0"), (1.5, "1.5"), (np.int64(7), "7"), ("a\x00b", "a\x00b")]),
    (text_of, [("half \ud83d", "half \ufffd")]),
    (labels_of, [(3, "3"), (-1, "-1"), (True, "True"), (2.0, "2"), ("2.0", "2.0"), ("007", "007"), ("NA", "NA")]),
    (labels_of, [(" y ", " y "), ("[x]", "[x]"), ("[CLS]", "[CLS]"), ("{x}", "{x}"), ("[", "[")]),
    (labels_of, [(text, text) for text in ("[other one]", "(a)", "(a, b)", "(0, 10]", "('a')", "x ('a', 'b')")]),
    (labels_of, [(["x", "y"], ("x", "y")), (("x",), ("x",)), ([], ()), ('["x", "y"]', ("x", "y"))]),
    (labels_of, [("[1, 2]", ("1", "2")), ("['x', 'y']", ("x", "y")), ("{'x'}", ("x",)), (' ["x"] ', ("x",))]),
    (lambda value: labels_of(value, "|"), [("a | b", ("a", "b")), ("[]", ()), ('["a|b"]', ("a|b",))]),
    (indicator_of, [(1, "1"), (0.0, "0"), ("True", "1"), (" 0 ", "0"), (False, "0"), ("1.0", "1")]),
    (group_of, [("Ann ", "Ann "), (7, "7"), (True, "True"), (2.5, "2.5")]),
]


def as_csv(value: object) -> str:
    """A cell that pandas writes for a value."""
    text = pd.DataFrame({"labels": [value]}).to_csv(index=False)
    ((cell,),) = list(csv.reader(text.splitlines(keepends=True)))[1:]
    return cell


AWKWARD = ["joy", "not now", "it's", 'a "b"', "x, y", "[z]", "back\\", "é", "nan", "...", "a\nb"]


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda labels: np.array(labels, object), lambda labels: list(np.array(labels))]
)
@pytest.mark.parametrize("labels", [AWKWARD, ["fear"], ["joy", "fear"], [f"label {number}" for number in range(99)]])
def test_lists_in_csv_as_pandas_writes_them(kind, labels):
    """Arrays have no commas, and long ones have several lines."""
    assert labels_of(as_csv(kind(labels))) == tuple(labels)


def test_arrays_of_numbers_and_of_nothing():
    for numbers in ([1, 0, 2], [1.0, 0.0], [-1, 20]):
        assert labels_of(as_csv(np.array(numbers))) == tuple(str(int(number)) for number in numbers)
    assert labels_of(as_csv(np.array([True, False]))) == ("True", "False")
    assert labels_of(as_csv(np.array([]))) == labels_of(as_csv(())) == ()


def test_values_stay_what_they_are():
    for kind, pairs in VALUES:
        for value, expected in pairs:
            assert kind(value) == expected, value


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (text_of, ["a"], "type list"),
        (text_of, {"a": 1}, "type dict"),
        (text_of, b"bytes", "type bytes"),
        (labels_of, 0.25, "numbers, not classes (0.25)"),
        (labels_of, b"x", "type bytes"),
        (labels_of, '{"joy": 1}', "is no label"),
        (labels_of, [["joy"]], "several labels in one row"),
        (labels_of, ["joy", None], "an empty label among several"),
        (labels_of, [0, 1, 1], 'the label "1" twice'),
        (labels_of, as_csv(np.array(["x"] * 2000)), "numpy has left out values"),
        (labels_of, as_csv(np.array(["x", None, float("nan")], object)), "an empty label among several"),
        (label_of, "('a', 'b')", "several labels in one row"),
        (indicator_of, "2", '"2" is neither 0 nor 1'),
        (indicator_of, [1], "neither 0 nor 1"),
        (group_of, ["b"], "a group is a word or a number"),
    ],
)
def test_values_of_another_kind(kind, value, told):
    with pytest.raises(TypeError) as error:
        kind(value)
    assert told in str(error.value)


@pytest.mark.parametrize("separator", ["|", ";", ",", ", "])
def test_joined_labels_are_noticed(separator):
    several = [["joy", "fear"], ["fear", "anger"], ["joy"], ["joy", "anger", "fear"], ["anger", "joy"]] * 5
    found = joined_labels([separator.join(each) for each in several])
    assert found is not None and found[0] == separator.strip() and separator in found[1]


ORDINARY = [
    ["Paris, France", "Lyon, France", "New York, New York", "Boston, USA"],
    ["Sport", "Sport;Football", "Sport;Tennis", "Art;Music", "Art;Film"],
    ["Cause-Effect(e1,e2)", "Cause-Effect(e2,e1)", "Other"],
    ["no, thanks", "yes, please"],
    ["a,b", "b,a"],  # a relation and its inverse
    ["joy", "fear", "joy|fear"],  # few of the rows
    ["Sport;Football", "Football;Ball"],  # half of the later parts come first somewhere, and not more
]


def test_ordinary_labels_with_such_marks_are_not_joined():
    for labels in ORDINARY:
        assert joined_labels(labels) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("é 🙂 \ufeff", "é 🙂 \ufeff"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\ufffd"),
    ],
)
def test_texts_become_valid_unicode(text, expected):
    assert well_formed(text) == expected
    assert well_formed(text).encode()


def test_texts_in_lists_and_objects_do_too():
    half, mended = "\ud83d", "\ufffd"
    assert well_formed_value({half: [half, 1, None, {"a": half}]}) == {mended: [mended, 1, None, {"a": mended}]}
    with pytest.raises(InputError, match="two names"):
        well_formed_value({half: 1, "\udfff": 2})
    with pytest.raises(InputError, match="100 levels"):
        well_formed_value([[]], depth=1)
