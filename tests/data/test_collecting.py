import pytest

from salience.data.columns import Columns
from salience.data.task import collect
from salience.data.texts import Texts

SINGLE = Columns("text", label="label")
PAIR = Columns("text", "other", "label")


def rows(*pairs):
    return [{"text": text, "label": label} for text, label in pairs]


def test_rows_become_texts_and_labels():
    texts, labels, warnings = collect(rows(("a", "x"), (" b\n", " y ")), SINGLE, "a.csv")
    assert texts == Texts(["a", " b\n"], rows=[1, 2])
    assert labels == ["x", " y "]
    assert warnings == []


def test_pairs_and_rows_without_labels():
    pair = [{"text": "a", "other": "b", "label": 0}]
    assert collect(pair, PAIR, "a.csv") == (Texts(["a"], ["b"], rows=[1]), ["0"], [])
    assert collect(pair, Columns("text"), "a.csv") == (Texts(["a"], rows=[1]), None, [])


def test_groups_are_words_or_numbers(complaint):
    columns = Columns("text", label="label", group="author")
    rows_of = [{"text": "a", "label": "x", "author": author} for author in ("Ann ", 7, True, 2.5)]
    texts, _, _ = collect(rows_of, columns, "a.csv")
    assert texts.groups == ["Ann ", "7", "True", "2.5"]
    for missing in (None, "", float("nan")):
        message = complaint(collect, [*rows_of, {"text": "a", "label": "x", "author": missing}], columns, "a.csv")
        assert '1 row of 5 with an empty or missing value: 1 in "author" (row 5)' in message
    message = complaint(collect, [{"text": "a", "label": "x", "author": ["b"]}], columns, "a.csv")
    assert message.startswith('a.csv: row 1, column "author": a group is a word or a number')


@pytest.mark.parametrize(
    ("value", "label"),
    [(3, "3"), (-1, "-1"), (True, "True"), (2.0, "2"), ("2.0", "2.0"), ("007", "007"), ("NA", "NA"), ("[x]", "[x]")],
)
def test_labels_stay_what_they_are(value, label):
    assert collect(rows(("a", value)), SINGLE, "a.csv")[1] == [label]


def test_texts_may_be_numbers_and_odd_characters_do_no_harm():
    found = collect(rows((5, "x"), (1.5, "x"), ("a\x00b", "x"), ("half \ud83d", "x"), ("🙂", "x")), SINGLE, "a.csv")[0]
    assert found.texts == ["5", "1.5", "a\x00b", "half \ufffd", "🙂"]
    assert all(text.encode() for text in found.texts)


EMPTY = rows(("a", "x"), ("", "x"), ("  \n", "y"), (None, None), ("b", ""), ("c", float("nan")), ("d", "y"))


def test_empty_values_are_counted_and_named(complaint):
    assert complaint(collect, EMPTY, SINGLE, "a.csv") == (
        'a.csv: 5 rows of 7 with an empty or missing value: 3 in "text" (rows 2, 3, 4); 3 in "label" (rows 4, 5, 6); '
        "fill them in, or leave such rows out with --bad-rows skip"
    )
    assert '1 row of 1 with an empty or missing value: 1 in "other" (row 1);' in complaint(
        collect, [{"text": "a", "label": "x"}], PAIR, "a.csv"
    )
    assert "(rows 1, 2, 3, 4, 5 and 4 more)" in complaint(collect, rows(*[("", "x")] * 9), SINGLE, "a.csv")


def test_empty_values_are_left_out_on_request(complaint):
    texts, labels, warnings = collect(EMPTY, SINGLE, "a.csv", bad_rows="skip")
    assert (texts, labels) == (Texts(["a", "d"], rows=[1, 7]), ["x", "y"])
    assert warnings == [
        'a.csv: left out 5 rows of 7 with an empty or missing value: 3 in "text" (rows 2, 3, 4); '
        '3 in "label" (rows 4, 5, 6)'
    ]
    assert "no row is left" in complaint(collect, rows(("", "x")), SINGLE, "a.csv", "skip")
    assert 'Did you mean "skip"?' in complaint(collect, EMPTY, SINGLE, "a.csv", "skp")


@pytest.mark.parametrize("value", [["a"], {"a": 1}, b"bytes"])
def test_a_text_of_another_kind(complaint, value):
    message = complaint(collect, rows(("a", "x"), (value, "x")), SINGLE, "a.jsonl")
    assert message == (
        f'a.jsonl: row 2, column "text": a text is needed, not a value of type {type(value).__name__}; '
        "choose another column with --text"
    )


def test_numbers_are_not_classes(complaint):
    assert complaint(collect, rows(("a", 1.0), ("b", 0.25)), SINGLE, "a.jsonl") == (
        'a.jsonl: row 2, column "label": the labels are numbers, not classes (0.25); '
        "a class is a word or a whole number"
    )
    assert "not of type bytes" in complaint(collect, rows(("a", b"x")), SINGLE, "a.parquet")


@pytest.mark.parametrize(
    ("value", "labels"),
    [(["x", "y"], ("x", "y")), (("x",), ("x",)), ([], ()), ('["x", "y"]', ("x", "y")), ("[1, 2]", ("1", "2")),
     ("['x', 'y']", ("x", "y")), ("{'x'}", ("x",)), (' ["x"] ', ("x",))],
)  # fmt: skip
def test_several_labels_in_a_row_are_a_tuple(value, labels):
    assert collect(rows(("a", value)), SINGLE, "a.jsonl")[1] == [labels]


@pytest.mark.parametrize("separator", ["|", ";", ",", ", "])
def test_joined_labels_are_refused(complaint, separator):
    several = [["joy", "fear"], ["fear", "anger"], ["joy"], ["joy", "anger", "fear"], ["anger", "joy"]] * 5
    message = complaint(collect, [{"text": "a", "label": separator.join(each)} for each in several], SINGLE, "a.csv")
    assert message.startswith('a.csv: column "label": most rows have several labels, joined by ')
    assert message.endswith(f'; add --label-separator "{separator.strip()}"')


@pytest.mark.parametrize(
    "labels",
    [
        ["Paris, France", "Lyon, France", "New York, New York", "Boston, USA"],
        ["Sport", "Sport;Football", "Sport;Tennis", "Art;Music", "Art;Film"],
        ["Cause-Effect(e1,e2)", "Cause-Effect(e2,e1)", "Other"],
        ["no, thanks", "yes, please"],
        ["a,b", "b,a"],  # a relation and its inverse
        ["joy", "fear", "joy|fear"],  # few of the rows
        ["[CLS]", "{x}", "[", "]"],
    ],
)
def test_ordinary_labels_with_such_marks_are_taken(labels):
    assert collect([{"text": "a", "label": label} for label in labels], SINGLE, "a.csv")[1] == labels
