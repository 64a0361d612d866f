import json

import pytest

from salience.data.columns import Columns
from salience.data.labels import check_labels, encode, label_names
from salience.data.reading import stream
from salience.data.task import collect
from salience.errors import InputError


def test_names_are_in_order_of_value_or_of_text():
    assert label_names(["10", "9", "-1", "9"]) == ["-1", "9", "10"]
    assert label_names(["10", "9", "x"]) == ["10", "9", "x"]
    assert label_names(["b", "B", "a"]) == ["B", "a", "b"]
    assert label_names(["1", "01"]) == label_names(["01", "1"]) == ["01", "1"]
    assert label_names(["2", "1" * 5000]) == ["1" * 5000, "2"]  # Python reads no number of so many digits


def test_ordinary_labels_are_not_remarked_upon():
    assert check_labels(["a", "b", "a"], "a.csv") == []
    assert check_labels([str(number) for number in range(20)], "a.csv") == []  # few rows, each its own
    assert check_labels([str(number % 21) for number in range(42)], "a.csv") == []  # just half


def test_labels_that_differ_in_case_or_space_only():
    labels = ["Pos", "pos", "pos", " pos", "neg", "very neg", "very  neg", "other"]
    assert check_labels(labels, "a.csv") == [
        'a.csv: the labels " pos" (1 row), "Pos" (1 row), "pos" (2 rows) differ only in case or space; '
        "they are taken as different classes",
        'a.csv: the labels "very  neg" (1 row), "very neg" (1 row) differ only in case or space; '
        "they are taken as different classes",
    ]


def test_labels_that_are_the_same_number():
    labels = ["1", "1.0", "2", "1", "2.5", "x"]
    same = 'a.csv: the labels "1" (2 rows), "1.0" (1 row) are the same number; they are taken as different classes'
    assert check_labels(labels, "a.csv") == [same]
    (warning,) = check_labels(["inf", "INF", "a", "b"], "a.csv")
    assert "differ only in case" in warning


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("caf\u00e9", "cafe\u0301", r'"caf\u00e9" (2 rows), "cafe\u0301" (1 row)'),
        ("pos", "pos\u200b", r'"pos" (2 rows), "pos\u200b" (1 row)'),
        ("pos", "\ufeffpos", r'"pos" (2 rows), "\ufeffpos" (1 row)'),
        ("x2", "x\u00b2", r'"x2" (2 rows), "x\u00b2" (1 row)'),
        ("pos", "\uff30OS", r'"pos" (2 rows), "\uff30OS" (1 row)'),
        ("so\u00adft", "soft", r'"so\u00adft" (2 rows), "soft" (1 row)'),
    ],
)
def test_labels_that_look_alike(one, other, shown):
    (warning,) = check_labels([one, one, other, "bad"], "a.csv")
    how = "differ only in case, space, Unicode normalisation or invisible characters; they are taken as different"
    first, second = shown.split(", ")
    assert warning in (
        f"a.csv: the labels {first}, {second} {how} classes",
        f"a.csv: the labels {second}, {first} {how} classes",
    )


def test_labels_of_other_characters_are_not_alike():
    assert check_labels(["e", "\u00e9", "\u0435", "e"], "a.csv") == []


def test_one_class_is_no_task(complaint):
    assert complaint(check_labels, ["a"] * 5, "a.csv") == (
        'a.csv: every row has the label "a"; a classifier needs at least two classes'
    )


def test_a_class_for_every_row_is_no_label(complaint):
    assert complaint(check_labels, [f"text {number}" for number in range(30)], "a.csv") == (
        "a.csv: 30 different labels in 30 rows; is this the label column? Name it with --label"
    )


def test_labels_become_their_places():
    assert encode(["b", "a", "b"], ["a", "b"], "a.csv", [1, 2, 3]).tolist() == [1, 0, 1]


def test_labels_that_training_never_saw(complaint):
    labels = ["positive", "Negative", "Negative", "zzz", "zzz", "zzz", "zzz"]
    assert complaint(encode, labels, ["negative", "positive"], "test.csv", [1, 2, 3, 7, 8, 9, 10]) == (
        'test.csv: 2 labels that training never saw: "Negative" (2 times: rows 2, 3; did you mean "negative"?), '
        '"zzz" (4 times: rows 7, 8, 9 and 1 more); mend or remove these rows, or add such rows to the training data'
    )


def test_a_row_or_two_of_each_label_are_refused_in_a_column_that_was_guessed():
    labels = [str(number) for number in range(30)]
    with pytest.raises(InputError, match=r"a.csv: 30 different labels in 30 rows; is this the label column\?"):
        check_labels(labels, "a.csv")
    assert check_labels(labels, "a.csv", named=True) == [
        "a.csv: 30 different labels in 30 rows; a classifier learns little of a label from a row or two"
    ]


def test_unknown_labels_have_the_known_one_that_is_meant_beside_them(complaint):
    labels = ["Neg", "pos", "neg", "pos", "Pos", "zzz", "neg", "neg", "Pos", "pos", "pos", "pos", "Pos", "Pos"]
    assert complaint(encode, labels, ["neg", "pos"], "test.csv", range(1, 15)) == (
        'test.csv: 3 labels that training never saw: "Neg" (1 time: row 1; did you mean "neg"?), "Pos" (4 times: '
        'rows 5, 9, 13 and 1 more; did you mean "pos"?), "zzz" (1 time: row 6); mend or remove these rows, or add '
        "such rows to the training data"
    )


@pytest.mark.parametrize(("written", "known"), [("0", "0.0"), ("0.0", "0"), ("+1", "1"), ("01", "1")])
def test_an_unknown_label_that_is_the_same_number_as_a_known_one(written, known, complaint):
    said = complaint(encode, [written], [known, "10"], "test.csv", [3])
    assert f'"{written}" (1 time: row 3; it is "{known}" in the training data, write both in one way);' in said


def test_a_label_that_may_mean_a_missing_value_is_noted():
    said = "if that means missing, empty these cells and leave such rows out with --bad-rows skip"
    assert check_labels(["neg", "NaN", "pos", "N/A", "NaN"], "a.csv") == [
        f'a.csv: 2 rows have the label "NaN"; {said}', f'a.csv: 1 row has the label "N/A"; {said}'
    ]  # fmt: skip
    assert check_labels(["none", "favour", "against", "na", "nano"], "a.csv") == []  # words of their own


@pytest.mark.parametrize("labels", [["0.31", "0.73", "1"], ["0.31", "nan", "2.0"], ["-0.5", "1e3", "2"]])
def test_labels_that_are_numbers_and_no_classes(labels, complaint, write):
    labels = [*labels, *map(str, range(3, 11))]
    fraction = next(label for label in labels if label in ("0.31", "-0.5"))
    said = f"the labels are numbers, not classes ({fraction}); a class is a word or a whole number"
    assert complaint(check_labels, labels, "a.csv", True) == f"a.csv: {said}"
    typed = write("a.jsonl", json.dumps({"text": "x", "label": float(fraction)}))
    assert said in complaint(lambda: collect(stream(typed), Columns("text", label="label"), typed))  # the same words


def test_half_stars_are_classes():
    assert check_labels([str(half / 2) for half in range(1, 11)] * 2, "a.csv") == []


@pytest.mark.parametrize("labels", [["0.0", "1.0", "2.0"], ["1", "2", "nan"], ["0.5", "1.5", "low"], ["0", "inf"]])
def test_whole_numbers_and_words_are_classes(labels):
    labels = [*labels, *map(str, range(3, 12))]
    assert not [line for line in check_labels(labels, "a.csv") if "numbers" in line]
