"""Files whose rows have several labels: lists, separators, and columns of 0 and 1."""

import json
import re

import pyarrow
import pytest
from written import parquet

from salience.errors import InputError
from salience.training.recipe import Recipe
from salience.training.task import read_task

LABELS = [["joy", "fear"], [], ["joy"], ["anger"], ["fear", "anger"], ["joy", "fear", "anger"]]
EXPECTED = [[0, 1, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]]  # anger, fear, joy


def read(data: str, **settings):
    notes: list[str] = []
    return read_task(Recipe(data=data, **settings), notes.append), notes


def csv_of(cells, header="text,label"):
    rows = ('"{}"'.format(cell.replace('"', '""')) for cell in cells)
    return "\n".join([header, *(f"text {number},{cell}" for number, cell in enumerate(rows))]) + "\n"


@pytest.mark.parametrize("form", [json.dumps, str], ids=["JSON", "Python"])
def test_lists_in_csv(write, form):
    task, _ = read(write("a.csv", csv_of(form(each) for each in LABELS)))
    assert task.multi_label and task.labels == ["anger", "fear", "joy"]
    assert task.training.labels.tolist() == EXPECTED


def test_lists_in_json_lines_and_parquet(write):
    lines = "".join(json.dumps({"text": f"t {n}", "label": each}) + "\n" for n, each in enumerate(LABELS))
    assert read(write("a.jsonl", lines))[0].training.labels.tolist() == EXPECTED
    table = pyarrow.table({"text": [f"t {n}" for n in range(len(LABELS))], "label": LABELS})
    assert read(write("a.parquet", parquet(table)))[0].training.labels.tolist() == EXPECTED


def test_labels_that_a_separator_divides(write):
    cells = [" | ".join(each) or "[]" for each in LABELS]
    task, _ = read(write("a.csv", csv_of(cells)), label_separator="|")
    assert task.labels == ["anger", "fear", "joy"] and task.training.labels.tolist() == EXPECTED


def test_columns_of_zeros_and_ones_keep_their_order(write):
    cells = "text,joy,fear,anger,other\n" + "".join(
        f"text {number},{int('joy' in each)},{'True' if 'fear' in each else 'false'},{int('anger' in each)},x\n"
        for number, each in enumerate(LABELS)
    )
    task, _ = read(write("a.csv", cells), label="joy, fear,anger")
    assert task.labels == ["joy", "fear", "anger"] and task.columns.label == "joy, fear,anger"
    assert task.training.labels.tolist() == [row[::-1] for row in EXPECTED]


def test_a_column_with_a_comma_in_its_name_is_one(write):
    task, _ = read(write("a.csv", 'text,"x,y"\na,1\nb,0\nc,1\nd,0\n'), label="x,y")
    assert not task.multi_label and task.labels == ["0", "1"]


def test_parts_have_the_labels_of_the_training_rows(write):
    data = write("a.csv", csv_of(map(json.dumps, LABELS * 4)))
    task, notes = read(data, test=write("t.csv", csv_of(['["joy"]', "[]"])), size=12)
    assert task.test.labels.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert "size: 12 of the 24 rows drawn (stratified)" in notes
    task = read_task(Recipe(data=data, validation_share=0.25), notes.append)
    assert len(task.validation) == 6 and task.validation.labels.sum(0).tolist() == [3, 3, 3]


def test_a_label_without_a_training_row_is_told(write):
    _, notes = read(write("a.csv", "text,x,y,z\na,1,0,0\nb,1,1,0\nc,0,1,0\n"), label="x,y,z")
    assert any(note.endswith('a.csv: no training row has the label "z"') for note in notes)


JOINED = [["joy", "fear"], ["fear", "anger"], ["joy"], ["joy", "anger", "fear"], ["anger", "joy"]] * 5


@pytest.mark.parametrize(
    ("cells", "chosen", "told"),
    [
        (['["joy"]', "joy", '["fear"]'], {}, r'row 2, column "label": "joy" is no list, and other rows have lists'),
        (['["joy", null]', '["x"]'], {}, r'row 1, column "label": an empty label among several'),
        (["[0, 1, 1]", "[1, 0, 0]"], {}, r'row 1, .*has the label "1" twice; .*--label NAME,NAME'),
        (['{"joy": 1}', "[]"], {}, r"row 1, .*an object, .* is no label"),
        (['[["joy"]]', "[]"], {}, r"row 1, .*several labels in one row"),
        (["a||b", "a"], {"label_separator": "|"}, r"row 1, .*an empty label among several"),
        (["", "a"], {"label_separator": "|"}, r"1 row of 2 with an empty or missing value"),
        (['["joy"]', "[]"], {}, r"the rows have 1 label in all; several labels a text need at least two"),
        (["|".join(each) for each in JOINED], {}, r'joined by "\|", such as "[a-z|]+"; add --label-separator "\|"'),
        (["2", "1"], {"label": "label,number"}, r'row 1, column "label": "2" is neither 0 nor 1'),
        (["1", "0"], {"label": "label,joy"}, r'no column "joy" \(--label joy\)'),
        (["1", "0"], {"label": "label,label"}, r"--label label,label names a column twice"),
        (
            ["1", "0"],
            {"label": "label,number", "label_separator": "|"},
            r"--label-separator divides the labels of one",
        ),
    ],
)
def test_what_cannot_be_read(write, cells, chosen, told):
    with pytest.raises(InputError) as error:
        several = "number" in chosen.get("label", "")
        rows = "text,label,number\n" + "".join(f"t,{cell},1\n" for cell in cells) if several else csv_of(cells)
        read(write("a.csv", rows), **chosen)
    assert re.search(told, str(error.value)), str(error.value)


def test_the_files_of_a_task_are_of_one_kind(write):
    lists, single = write("l.csv", csv_of(map(json.dumps, LABELS))), write("s.csv", csv_of(["joy", "fear"]))
    for data, test in ((lists, single), (single, lists)):
        with pytest.raises(InputError, match="write the labels of both files in one way"):
            read(data, test=test)


def test_labels_that_training_never_saw(write):
    data, test = write("l.csv", csv_of(map(json.dumps, LABELS))), write("t.csv", csv_of(['["joy", "awe"]']))
    with pytest.raises(InputError, match=r'1 label that training never saw: "awe" \(1 time: row 1\)'):
        read(data, test=test)
