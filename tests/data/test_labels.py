"""Labels: their order, what is said of labels that look wrong, their numbers, and their weights in the loss."""

import json

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from salience.data.columns import Columns
from salience.data.labels import check_labels, encode, label_names, loss_weights
from salience.data.reading import stream
from salience.data.task import collect


def test_names_are_in_order_of_value_or_of_text():
    assert label_names(["10", "9", "-1", "9"]) == ["-1", "9", "10"]
    assert label_names(["10", "9", "x"]) == ["10", "9", "x"]
    assert label_names(["b", "B", "a"]) == ["B", "a", "b"]
    assert label_names(["1", "01"]) == label_names(["01", "1"]) == ["01", "1"]
    assert label_names(["2", "1" * 5000]) == ["1" * 5000, "2"]  # Python reads no number of so many digits


ORDINARY = [
    ["a", "b", "a"],
    [str(number) for number in range(20)],  # few rows, each its own
    [str(number % 21) for number in range(42)],  # just half
    ["e", "\u00e9", "\u0435", "e"],  # other characters that look alike
    ["none", "favour", "against", "na", "nano"],  # words of their own
    [str(half / 2) for half in range(1, 11)] * 2,  # half stars
    [str(2**53), str(2**53 + 1), f"{2**53 + 2}.0", "1e400", "2e400", "9" * 400],  # the same only to floats
]


def test_ordinary_labels_are_not_remarked_upon():
    for labels in ORDINARY:
        assert check_labels(labels, "a.csv") == [], labels
    for labels in (["0.0", "1.0", "2.0"], ["1", "2", "nan"], ["0.5", "1.5", "low"], ["0", "inf"]):
        warnings = check_labels([*labels, *map(str, range(3, 12))], "a.csv")
        assert not [line for line in warnings if "numbers" in line], labels


REMARKABLE = [  # labels, and what each warning says
    (["Pos", "pos", "pos", " pos", "neg", "very neg", "very  neg", "other"],
     [['" pos" (1 row), "Pos" (1 row), "pos" (2 rows)', "case or space"],
      ['"very  neg" (1 row), "very neg" (1 row)', "case or space"]]),
    (["1", "1.0", "2", "1", "2.5", "x"], [['"1" (2 rows), "1.0" (1 row)', "same number"]]),
    ([str(2**53 + 1), f"{2**53 + 1}.0", "1e400", "10e399"],
     [['"10e399" (1 row), "1e400" (1 row)', "same number"],
      [f'"{2**53 + 1}" (1 row), "{2**53 + 1}.0" (1 row)', "same number"]]),
    (["inf", "INF", "a", "b"], [['"INF" (1 row), "inf" (1 row)', "case"]]),
    *[([one, one, other, "bad"], [[f"{json.dumps(one)} (2 rows)", f"{json.dumps(other)} (1 row)", "invisible"]])
      for one, other in (("caf\u00e9", "cafe\u0301"), ("pos", "pos\u200b"), ("pos", "\ufeffpos"), ("x2", "x\u00b2"),
                         ("pos", "\uff30OS"), ("so\u00adft", "soft"))],
    (["neg", "NaN", "pos", "N/A", "NaN"], [['2 rows have the label "NaN"', "--bad-rows skip"],
                                           ['1 row has the label "N/A"', "--bad-rows skip"]]),
    (["red", "blue", "red| blue", "green|red"],
     [['1 label such as "red| blue" consists of other labels', 'add --label-separator "|"']]),
    ([("red",), ("red|blue",), ("blue",)], []),
]  # fmt: skip


def test_labels_that_look_alike_or_missing_are_told():
    for labels, expected in REMARKABLE:
        warnings = check_labels(labels, "a.csv")
        assert len(warnings) == len(expected), labels
        for line, parts in zip(warnings, expected, strict=True):
            assert line.startswith("a.csv: ") and all(part in line for part in parts), line


def test_labels_that_are_no_classes_are_refused(complaint):
    assert '"a"; a classifier needs at least two' in complaint(check_labels, ["a"] * 5, "a.csv")
    assert 'the only label is "a"' in complaint(check_labels, [("a",), ()], "a.csv")
    each_its_own = [f"text {number}" for number in range(30)]
    message = complaint(check_labels, each_its_own, "a.csv")
    assert message.startswith("a.csv: 30 different labels in 30 rows") and "--label" in message
    (warning,) = check_labels(each_its_own, "a.csv", named=True)
    assert "30 different labels in 30 rows" in warning


@pytest.mark.parametrize("labels", [["0.31", "0.73", "1"], ["0.31", "nan", "2.0"], ["-0.5", "1e3", "2"]])
def test_labels_that_are_numbers_and_no_classes(labels, complaint, write):
    labels = [*labels, *map(str, range(3, 11))]
    fraction = next(label for label in labels if label in ("0.31", "-0.5"))
    said = f"the labels are numbers, not classes ({fraction}); a class is a word or a whole number"
    assert complaint(check_labels, labels, "a.csv", True) == f"a.csv: {said}"
    typed = write("a.jsonl", json.dumps({"text": "x", "label": float(fraction)}))
    assert said in complaint(lambda: collect(stream(typed), Columns("text", label="label"), typed))  # the same words


def test_labels_become_their_places():
    assert encode(["b", "a", "b"], ["a", "b"], "a.csv", [1, 2, 3]).tolist() == [1, 0, 1]
    several = encode([("b",), (), ("b", "a")], ["a", "b"], "a.csv", [1, 2, 3])
    assert several.tolist() == [[0, 1], [0, 0], [1, 1]] and several.dtype == np.int64


def test_labels_that_training_never_saw_have_the_one_that_is_meant_beside_them(complaint):
    labels = ["Neg", "pos", "neg", "pos", "Pos", "zzz", "neg", "neg", "Pos", "pos", "pos", "pos", "Pos", "Pos"]
    message = complaint(encode, labels, ["neg", "pos"], "test.csv", range(1, 15))
    assert message.startswith("test.csv: 3 labels that training never saw: ")
    assert '"Neg" (1 time: row 1; did you mean "neg"?)' in message
    assert '"Pos" (4 times: rows 5, 9, 13 and 1 more; did you mean "pos"?)' in message
    assert '"zzz" (1 time: row 6)' in message
    for written, known in (("0", "0.0"), ("0.0", "0"), ("+1", "1"), ("01", "1")):
        assert f'; it is "{known}" in the training data' in complaint(encode, [written], [known, "10"], "a.csv", [3])
    assert "; it is" not in complaint(encode, [str(2**53 + 1)], [str(2**53), "1"], "a.csv", [3])


# Weights in the loss: against the definition and scikit-learn's "balanced".

LABELS = ["a"] * 6 + ["b"] * 3 + ["c"]
NAMES = ["a", "b", "c"]
SEVERAL = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]])
ROWS = "names with commas are weighted in a yaml file"


def class_weights(spec, labels=LABELS, names=NAMES):
    return loss_weights(spec, np.array([names.index(label) for label in labels]), names)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("auto", [10 / 18, 10 / 9, 10 / 3]),
        ("c=4", [1 / 1.3, 1 / 1.3, 4 / 1.3]),
        (" a = 0.5, c=2", [0.5 / 0.8, 1 / 0.8, 2 / 0.8]),
        ({"a": 0.5, "c": "2"}, [0.5 / 0.8, 1 / 0.8, 2 / 0.8]),
    ],
)
def test_the_mean_weight_of_the_training_rows_is_one(spec, expected):
    weights = class_weights(spec)
    assert weights == pytest.approx(expected)
    assert sum(weights[NAMES.index(label)] for label in LABELS) / len(LABELS) == pytest.approx(1)


def test_weights_of_odd_names_and_of_classes_without_rows():
    assert class_weights("none") is None
    assert class_weights("auto", names=[*NAMES, "d"]) == pytest.approx([10 / 18, 10 / 9, 10 / 3, 1])
    names = ["yes, very", "1"]
    assert class_weights({"yes, very": 3, 1: 1}, names, names) == pytest.approx([1.5, 0.5])
    assert class_weights("x=y=3", ["x=y", "z"], ["x=y", "z"]) == pytest.approx([1.5, 0.5])


def test_texts_with_a_label_weigh_as_much_as_those_without_it():
    names = ["a", "b", "c", "d"]
    weights = loss_weights("auto", SEVERAL, names)
    assert weights == pytest.approx([1 / 3, 3, 1, 1])
    for of_label, weight in zip(SEVERAL.T[:2], weights, strict=False):
        without, having = compute_class_weight("balanced", classes=np.array([0, 1]), y=of_label)
        assert weight == pytest.approx(having / without)
    assert loss_weights("none", SEVERAL, names) is None
    assert loss_weights("c=4,a=0.5", SEVERAL, names) == [0.5, 1.0, 4.0, 1.0]


WRONG = [
    ("atuo", ['"atuo"', "none, auto, or name=weight", ROWS]),
    ("", ['""', ROWS]),
    (["a"], ["['a']", "none, auto"]),
    ({"d": 2}, ['"d"', "known: a, b, c."]),
    ({"a": None}, ['"a" is "None"', "above 0"]),
    *[(f"b=1,a={number}", [f'"a" is "{number}"', "above 0"]) for number in ("0", "-1", "much", "inf", "nan")],
]


def test_weights_that_make_no_sense(complaint):
    for spec, parts in WRONG:
        message = complaint(class_weights, spec)
        assert "class weights" in message and all(part in message for part in parts), message
    assert "known: a, b, c, d." in complaint(loss_weights, "e=4", SEVERAL, ["a", "b", "c", "d"])
