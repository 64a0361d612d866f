"""Corrected rows: what a file says of texts takes the place of rows of the data, and what does not fit is told."""

from __future__ import annotations

import json

import pytest

from labelled import write_csv
from salience.data.marks import Mark
from salience.training.recipe import Recipe
from salience.training.task import read_task

SINGLE = ("text", "label", "marks", "ignore")
ROWS = [("a dull film", "bad"), ("a fine film", "good"), ("the BBC film", "good"), ("a fine film", "good"),
        ("so dull", "bad"), ("so fine", "good")]  # fmt: skip


@pytest.fixture
def read(tmp_path):
    """The task of some rows with some corrections, and what is said of it."""

    def read(corrections, header=SINGLE, rows=ROWS, columns=("text", "label"), **settings):
        data = write_csv(tmp_path / "data.csv", rows, columns)
        said = write_csv(tmp_path / "said.csv", corrections, header)
        notes: list[str] = []
        task = read_task(Recipe(str(data), corrections=str(said), **settings), notes.append)
        return task, [note.replace(f"{tmp_path}/", "") for note in notes]

    return read


def named(task) -> list[tuple[str, str]]:
    return [(text, task.labels[label]) for text, label in zip(task.training.texts, task.training.labels, strict=True)]


def test_corrected_rows_take_the_place_of_all_rows_of_their_text_and_others_are_added(read):
    said = [("a fine film", "bad", "[[2, 6]]", "[[7, 11]]"), ("new and fine", "good", "0 0 1", ""),
            ("not in the data", "", "", ""), ("so dull", "", "", "")]  # fmt: skip
    task, notes = read(said)
    assert named(task) == [("a dull film", "bad"), ("a fine film", "bad"), ("the BBC film", "good"),
                           ("a fine film", "bad"), ("so dull", "bad"), ("so fine", "good"),
                           ("new and fine", "good")]  # fmt: skip
    assert task.training.marks == [[], [Mark(2, 6)], [], [Mark(2, 6)], [], [], [Mark(8, 12)]]
    assert task.training.ignore == [[], [Mark(7, 11)], [], [Mark(7, 11)], [], [], []]
    assert task.training.rows == [1, 2, 3, 4, 5, 6, 2]
    assert [file.rpartition("/")[2] for file in task.training.files] == ["data.csv"] * 6 + ["said.csv"]
    assert ("said.csv: 3 rows replaced (2 with another label) and 1 row added; left out: 1 text that the data do not "
            "have, without a label") in notes  # fmt: skip


def test_labels_alone_need_no_marks_and_keep_those_of_the_data(read):
    rows = [(*row, "[[0, 1]]") for row in ROWS]
    columns = ("text", "label", "why")
    task, _ = read([("so dull", "good")], ("text", "label"), rows, columns, marks="why")
    assert named(task)[4] == ("so dull", "good") and task.training.marks[4] == [Mark(0, 2)]
    task, _ = read([("so dull", "good", "[[3, 7]]")], ("text", "label", "ignore"), rows, columns, marks="why")
    assert task.training.marks[4] == [] and task.training.ignore[4] == [Mark(3, 7)]  # the corrections win
    assert task.training.marks[0] == [Mark(0, 1)] and task.training.ignore[0] == []
    task, _ = read([("so dull", "good")], ("text", "label"))
    assert task.training.marks is task.training.ignore is None


def test_texts_are_found_whatever_space_is_around_them_and_marks_stay_on_their_words(read):
    rows = [("  a dull film\n", "bad"), ("a fine film", "good")]
    task, _ = read([(" a dull film", "good", "[[3, 7]]", ""), ("a fine film", "bad", "[[2, 6]]", "")], rows=rows)
    assert [text[marks[0].start : marks[0].end] for text, marks in
            zip(task.training.texts, task.training.marks, strict=True)] == ["dull", "fine"]  # fmt: skip
    assert [label for _, label in named(task)] == ["good", "bad"]


def test_an_apostrophe_before_what_a_spreadsheet_would_run_is_none_of_the_text(read):
    rows = [("=1+1 is two", "@good"), ("'-3 is few", "bad")]
    said = [("'=1+1 is two", "bad", "[[0, 4]]", ""), ("'-3 is few", "'@good", "", ""), ("'+4 is new", "bad", "", "")]
    task, _ = read(said, rows=rows)
    assert named(task) == [("=1+1 is two", "bad"), ("'-3 is few", "@good"), ("+4 is new", "bad")]
    assert task.training.marks[0] == [Mark(0, 4)]


def test_pairs_are_found_by_both_texts(read):
    rows = [("It rains", "It is dry", "no"), ("It rains", "It is wet", "yes"), ("Dry", "Wet", "no")]
    said = [("It rains", "It is dry", "yes", json.dumps({"b": [[6, 9]]})), ("New", "Old", "no", "")]
    task, _ = read(said, ("a", "b", "label", "marks"), rows, ("a", "b", "y"), text="a", text_pair="b", label="y")
    assert task.training.second == ["It is dry", "It is wet", "Wet", "Old"]
    assert [label for _, label in named(task)] == ["yes", "yes", "no", "no"]
    assert task.training.marks == [[Mark(6, 9, second=True)], [], [], []]


SEVERAL = [["joy", "fear"], ["joy"], [], ["fear"]]
TEXTS = [f"text {number}" for number in range(4)]


@pytest.mark.parametrize("form", ["lists", "joined", "columns", "columns in both"])
def test_several_labels(read, form):
    said = [("text 0", '["fear"]'), ("text 1", "[]"), ("text 2", ""), ("new", '["joy", "fear"]')]
    header, columns, settings = ("text", "label"), ("text", "label"), {}
    rows = [(text, json.dumps(labels)) for text, labels in zip(TEXTS, SEVERAL, strict=True)]
    if form == "joined":
        rows = [(text, "|".join(labels) or "[]") for text, labels in zip(TEXTS, SEVERAL, strict=True)]
        settings["label_separator"] = "|"
    if form.startswith("columns"):
        columns = ("text", "fear", "joy")
        rows = [(text, int("fear" in labels), int("joy" in labels))
                for text, labels in zip(TEXTS, SEVERAL, strict=True)]  # fmt: skip
        settings["label"] = "fear,joy"
    if form == "columns in both":
        header, said = columns, [("text 0", 1, 0), ("text 1", 0, 0), ("text 2", "", ""), ("new", 1, 1)]
    task, notes = read(said, header, rows, columns, **settings)
    assert task.labels == ["fear", "joy"]
    assert task.training.labels.tolist() == [[1, 0], [0, 0], [0, 0], [1, 0], [1, 1]]
    assert "said.csv: 3 rows replaced (2 with another label) and 1 row added" in notes


@pytest.mark.parametrize(
    ("said", "header", "message"),
    [
        ([("bad", "x")], ("label", "body"), 'said.csv: no column "text", by which the rows of'),
        ([("so dull", "goood")], ("text", "label"),
         'said.csv: row 1, column "label": no row of the data has the label "goood", but "bad", "good". Did you mean '
         '"good"?'),
        ([("so fine", "bad"), ("so dull", '["bad"]')], ("text", "label"), '"[\\"bad\\"]" is not one label'),
        ([("so dull", "bad", "[[3, 70]]", "")], SINGLE, 'said.csv: row 1, column "marks": the span [3, 70] is out'),
        ([("so dull", "bad", "", "1 0 0")], SINGLE, 'said.csv: row 1, column "ignore": 3 marks, but the text has 2'),
        ([("so fine", "", "", ""), ("so dull", "", "[[3, 7]]", "[[0, 7]]")], SINGLE,
         'said.csv: row 2: "dull" is marked in both "marks" and "ignore"'),
        ([("so dull", "bad", "", ""), ("a dull film", "bad", "", ""), (" so dull", "good", "", "")], SINGLE,
         "said.csv: rows 1 and 3 have one text, and different corrections"),
        ([("", "bad", "", "")], SINGLE, 'said.csv: row 1, column "text": there is no text'),
        ([("so dull", "bad", "[[3, 7]]")], ("text", "labl", "mark"),
         'said.csv: it corrects nothing: none of its columns "text", "labl", "mark" is "label", "marks", "ignore"'),
        ([("unknown", "", "", "")], SINGLE, "said.csv: none of its texts is in"),
        ([], SINGLE, "said.csv: no rows"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(read, complaint, said, header, message):
    assert message in complaint(read, said, header)


def test_another_encoding_than_utf_8_is_refused_without_the_option_of_the_data(tmp_path, complaint):
    data, said = write_csv(tmp_path / "data.csv", ROWS), tmp_path / "said.csv"
    said.write_bytes("text,label\nso dull,bad\nun café,good\n".encode("latin-1"))
    message = complaint(read_task, Recipe(str(data), corrections=str(said)), print)
    assert f"{said} is not UTF-8: save it as csv in UTF-8" in message and "--encoding" not in message


def test_the_same_correction_twice_is_one(read):
    task, notes = read([("so dull", "good", "", ""), ("so dull", "good", "", "")])
    assert named(task)[4] == ("so dull", "good") and "said.csv: 1 row replaced (1 with another label)" in notes


def test_rows_that_are_held_out_are_corrected_and_other_files_are_not(read, tmp_path):
    rows = [(f"{text} {number}", label) for number, (text, label) in enumerate(ROWS * 4)]
    wrong = [(text, {"good": "bad", "bad": "good"}[label]) for text, label in rows]
    task, _ = read(rows, ("text", "label"), wrong, validation_share=0.25)
    found = {**dict(zip(task.training.texts, task.training.labels, strict=True)),
             **dict(zip(task.validation.texts, task.validation.labels, strict=True))}  # fmt: skip
    assert len(task.validation) and {text: task.labels[label] for text, label in found.items()} == dict(rows)
    other = write_csv(tmp_path / "other.csv", wrong[:3])
    for role in ("validation", "test"):
        task, notes = read(rows, ("text", "label"), wrong, **{role: str(other)})
        own = getattr(task, role)
        assert [task.labels[label] for label in own.labels] == [label for _, label in wrong[:3]]
        assert any(note.startswith("other.csv: 3 rows with another label in") and "by hand" in note for note in notes)


def test_an_added_text_is_a_group_of_its_own(read):
    rows = [(*row, "one author") for row in ROWS]
    task, _ = read([("new", "good"), ("newer", "bad")], ("text", "label"), rows, ("text", "label", "author"),
                   group="author")  # fmt: skip
    assert len(set(task.training.groups)) == 3


def test_what_the_page_has_saved_is_kept_as_far_as_it_can_be_read(read):
    header = (*SINGLE, "predicted", "marks_share", "ignore_share")
    said = [("so dull", "bad", "", "", "good", "0.25", ""), ("so fine", "bad", "", "", "", "much", "0.5")]
    task, _ = read(said, header)
    assert task.before == {("so dull",): {"predicted": ["good"], "marks_share": 0.25}, ("so fine",): {
        "ignore_share": 0.5}}  # fmt: skip
