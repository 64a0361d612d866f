"""From files to texts and labels: rows without a value, several labels, files that stay, and what parts share."""

import json
import os
import re

import pyarrow
import pytest
from written import parquet

from salience.data import task as reading_task
from salience.data.columns import Columns
from salience.data.task import (
    Task,
    all_labelled,
    check_not_read,
    collect,
    label_descriptions,
    name_in_words,
    read_part,
    worth_describing,
)
from salience.data.texts import Texts
from salience.errors import InputError
from salience.training.recipe import Recipe
from salience.training.task import read_task, task_of

SINGLE = Columns("text", label="label")
PAIR = Columns("text", "other", "label")


def rows(*pairs):
    return [{"text": text, "label": label} for text, label in pairs]


# Rows become texts and labels.


def test_rows_become_texts_labels_and_groups():
    assert collect(rows(("a", "x"), (" b\n", " y ")), SINGLE, "a.csv") == (
        Texts(["a", " b\n"], rows=[1, 2]), ["x", " y "], [],
    )  # fmt: skip
    pair = [{"text": "a", "other": "b", "label": 0, "author": 7}]
    assert collect(pair, PAIR, "a.csv") == (Texts(["a"], ["b"], rows=[1]), ["0"], [])
    assert collect(pair, Columns("text"), "a.csv") == (Texts(["a"], rows=[1]), None, [])
    grouped = collect(pair, Columns("text", label="label", group="author"), "a.csv")
    assert grouped == (Texts(["a"], rows=[1], groups=["7"]), ["0"], [])


EMPTY = rows(("a", "x"), ("", "x"), ("  \n", "y"), (None, None), ("b", ""), ("c", float("nan")), ("d", "y"))
COUNTED = '5 rows of 7 with an empty or missing value: 3 in "text" (rows 2, 3, 4); 3 in "label" (rows 4, 5, 6)'


def test_empty_values_are_counted_and_named_or_left_out(complaint):
    message = complaint(collect, EMPTY, SINGLE, "a.csv")
    assert message.startswith(f"a.csv: {COUNTED}") and "--bad-rows skip" in message
    assert '1 in "other" (row 1);' in complaint(collect, [{"text": "a", "label": "x"}], PAIR, "a.csv")
    assert "(rows 1, 2, 3, 4, 5 and 4 more)" in complaint(collect, rows(*[("", "x")] * 9), SINGLE, "a.csv")
    texts, labels, warnings = collect(EMPTY, SINGLE, "a.csv", bad_rows="skip")
    assert (texts, labels) == (Texts(["a", "d"], rows=[1, 7]), ["x", "y"])
    assert warnings == [f"a.csv: left out {COUNTED}"]
    assert "no row is left" in complaint(collect, rows(("", "x")), SINGLE, "a.csv", "skip")
    assert 'Did you mean "skip"?' in complaint(collect, EMPTY, SINGLE, "a.csv", "skp")


def test_a_value_of_another_kind_is_named_by_its_place(complaint):
    assert complaint(collect, rows(("a", "x"), (["a"], "x")), SINGLE, "a.jsonl").startswith(
        'a.jsonl: row 2, column "text": a text is needed, not a value of type list'
    )
    assert complaint(collect, rows(("a", 1.0), ("b", 0.25)), SINGLE, "a.jsonl").startswith(
        'a.jsonl: row 2, column "label": the labels are numbers, not classes (0.25)'
    )


# Rows with several labels: lists, separators, and columns of 0 and 1.

LABELS = [["joy", "fear"], [], ["joy"], ["anger"], ["fear", "anger"], ["joy", "fear", "anger"]]
EXPECTED = [[0, 1, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]]  # anger, fear, joy
JOINED = [["joy", "fear"], ["fear", "anger"], ["joy"], ["joy", "anger", "fear"], ["anger", "joy"]] * 5


def read(data: str, **settings):
    notes: list[str] = []
    return read_task(Recipe(data=data, **settings), notes.append), notes


def csv_of(cells, header="text,label"):
    quoted = ('"{}"'.format(cell.replace('"', '""')) for cell in cells)
    return "\n".join([header, *(f"text {number},{cell}" for number, cell in enumerate(quoted))]) + "\n"


def test_several_labels_in_every_form(write):
    texts = [f"t {number}" for number in range(len(LABELS))]
    lines = [json.dumps({"text": text, "label": each}) for text, each in zip(texts, LABELS, strict=True)]
    table = parquet(pyarrow.table({"text": texts, "label": LABELS}))
    separated = csv_of(" | ".join(each) or "[]" for each in LABELS)
    for source, settings in (
        (write("json.csv", csv_of(map(json.dumps, LABELS))), {}),
        (write("python.csv", csv_of(map(str, LABELS))), {}),
        (write("a.jsonl", "\n".join(lines)), {}),
        (write("a.parquet", table), {}),
        (write("separated.csv", separated), {"label_separator": "|"}),
    ):
        task, _ = read(source, **settings)
        assert task.multi_label and task.labels == ["anger", "fear", "joy"], source
        assert task.training.labels.tolist() == EXPECTED, source


def test_columns_of_zeros_and_ones(write):
    names = ["joy", "fear", "anger"]  # in the order in which they are named
    cells = [",".join(str(int(name in each)) for name in names) for each in LABELS]
    source = write("a.csv", "text,joy,fear,anger\n" + "".join(f"t,{row}\n" for row in cells))
    task, notes = read(source, label="joy, fear,anger")
    assert task.labels == names and task.columns.label == "joy, fear,anger"
    assert task.training.labels.tolist() == [row[::-1] for row in EXPECTED]
    single, _ = read(write("b.csv", 'text,"x,y"\na,1\nb,0\nc,1\nd,0\n'), label="x,y")
    assert not single.multi_label and single.labels == ["0", "1"]  # a column with a comma in its name is one
    _, notes = read(write("c.csv", "text,x,y,z\na,1,0,0\nb,1,1,0\nc,0,1,0\n"), label="x,y,z")
    assert any(note.endswith('c.csv: no training row has the label "z"') for note in notes)


def test_parts_have_the_labels_of_the_training_rows(write, complaint):
    data = write("a.csv", csv_of(map(json.dumps, LABELS * 4)))
    task, notes = read(data, test=write("t.csv", csv_of(['["joy"]', "[]"])), size=12)
    assert task.test.labels.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert "size: a stratified sample of 12 of the 24 rows" in notes
    task = read_task(Recipe(data=data, validation_share=0.25), notes.append)
    assert len(task.validation) == 6 and task.validation.labels.sum(0).tolist() == [3, 3, 3]
    single, unseen = write("s.csv", csv_of(["joy", "fear"])), write("u.csv", csv_of(['["joy", "awe"]']))
    for one, other in ((data, single), (single, data)):
        assert "write the labels of both files in one way" in complaint(read, one, test=other)
    assert 'never saw: "awe" (1 time: row 1)' in complaint(read, data, test=unseen)


def test_an_empty_cell_is_no_label_where_it_is_said_so(write, complaint):
    """By separators and by lists; of rows without a text, and of rows with one label, nothing else is said."""
    empty = [[] if len(each) == 1 else each for each in LABELS]
    joined = csv_of("|".join(each) for each in empty)
    lists = csv_of(json.dumps(each) if each else "" for each in empty)
    expected = [[0, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]]
    for name, text, settings in (("joined.csv", joined, {"label_separator": "|"}), ("lists.csv", lists, {})):
        source = write(name, text)
        asked = '3 in "label" (rows 2, 3, 4); if an empty label says that a row has none, add --empty-label none'
        assert asked in complaint(read, source, **settings)
        _, notes = read(source, bad_rows="skip", **settings)
        assert any(asked in note for note in notes)  # the model would give labels to the texts that are left out
        task, notes = read(source, empty_label="none", **settings)
        assert (
            task.training.labels.tolist() == expected
            and task.left_out == {}
            and not [note for note in notes if "empty" in note]
        )
    no_text = write("t.csv", lists + ',"[""joy""]"\n,\n')
    task, notes = read(no_text, empty_label="none", bad_rows="skip", test=no_text)  # what is missing is the text alone
    assert task.training.labels.tolist() == expected and task.left_out == {"training": 2, "test": 2}
    assert '2 rows of 8 with an empty or missing value: 2 in "text" (rows 7, 8)' in " ".join(notes)
    one_each = write("one.csv", csv_of(["joy", "", "fear"]))
    assert "these have one each" in complaint(read, one_each, empty_label="none")
    assert "--label names 2" in complaint(read, one_each, label="text,label", empty_label="none")


UNREADABLE = [
    (['["joy"]', "joy", '["fear"]'], {}, r'row 2, column "label": "joy" is no list, and other rows have lists'),
    (['["joy", null]', '["x"]'], {}, r'row 1, column "label": an empty label among several'),
    (["[0, 1, 1]", "[1, 0, 0]"], {}, r'row 1, .*has the label "1" twice; .*--label NAME,NAME'),
    (["a||b", "a"], {"label_separator": "|"}, r"row 1, .*an empty label among several"),
    (["", "a"], {"label_separator": "|"}, r"1 row of 2 with an empty or missing value"),
    (['["joy"]', "[]"], {}, r'the only label is "joy"'),
    (["|".join(each) for each in JOINED], {}, r'column "label": .* joined by "\|", .*add --label-separator "\|"'),
    (["2", "1"], {"label": "label,number"}, r'row 1, column "label": "2" is neither 0 nor 1'),
    (["1", "0"], {"label": "label,joy"}, r'no column "joy" \(--label joy\)'),
]


def test_labels_that_cannot_be_read(write, complaint):
    for cells, chosen, told in UNREADABLE:
        several = "number" in chosen.get("label", "")
        text = "text,label,number\n" + "".join(f"t,{cell},1\n" for cell in cells) if several else csv_of(cells)
        message = complaint(lambda text=text, chosen=chosen: read(write("a.csv", text), **chosen))
        assert re.search(told, message), message


# Data files are read once in a process, and again as soon as they have changed.

FILE = "text,label\none,a\ntwo,b\n"


@pytest.fixture
def reads(monkeypatch):
    """The names of the files that are read; nothing is kept from earlier tests."""
    seen = []

    def counted(rows, columns, source, bad_rows):
        seen.append(os.path.basename(source))
        return collect(rows, columns, source, bad_rows)

    monkeypatch.setattr(reading_task, "collect", counted)
    reading_task._kept.clear()
    return seen


def test_a_file_is_read_once(write, reads):
    file = write("one.csv", FILE)
    first, second = read_part(file), read_part(file)
    assert reads == ["one.csv"]
    assert first == second
    first[1].append("c")
    first[3].append("a note")
    assert read_part(file) == second  # who gets it can change the lists
    several = write("several.csv", "text,other,label\none,three,a\ntwo,four,b\n")
    assert read_part(several, text="text")[0].texts == ["one", "two"]
    assert read_part(several, text="other")[0].texts == ["three", "four"]
    assert reads[1:] == ["several.csv", "several.csv"]
    notes: list[list[str]] = [[], []]
    recipe = Recipe(data=write("task.csv", FILE * 3), validation_share=0.0)
    assert read_task(recipe, notes[0].append) == read_task(recipe, notes[1].append) and notes[0] == notes[1]


def test_a_changed_file_is_read_again(write, reads):
    file = write("one.csv", FILE)
    state = os.stat(file)
    read_part(file)
    with open(file, "w", encoding="utf-8") as same_length:
        same_length.write(FILE.replace("one", "six"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # size and time of its content as before
    assert read_part(file)[0].texts == ["six", "two"]


def test_the_room_is_bounded(write, reads, monkeypatch):
    monkeypatch.setattr(reading_task, "LIMIT", 10)
    files = [write(f"{name}.csv", FILE) for name in ("one", "two")]  # of 6 characters each
    for file in (*files, files[1], files[0]):
        read_part(file)
    assert reads == ["one.csv", "two.csv", "one.csv"]
    large = write("large.csv", FILE.replace("one", "eleven more"))
    for file in (large, files[0], large):
        read_part(file)
    assert reads[3:] == ["large.csv", "large.csv"]  # it is not kept, and the file that was there still is


# Texts that train, choose and test are compared with each other before anything is trained.

TRAIN = "text,label\n" + "".join(f"text {number},{'ab'[number % 2]}\n" for number in range(20))
OTHER = "text,label\nother 1,a\nother 2,b\nother 3,b\n"
FLATTERED = "the test scores are too high"


def test_rows_that_parts_share_are_told(write, tmp_path):
    train, one = write("train.csv", TRAIN), write("one.csv", OTHER)
    (tmp_path / "link.csv").symlink_to("one.csv")
    shares_two = write("two.csv", OTHER.replace("other 1", "new"))
    for files, parts in (
        ({"validation": one, "test": write("three.csv", OTHER.replace("other", "more"))}, None),
        ({"validation": one, "test": shares_two}, ["two.csv: 2 of 3 test rows", "one.csv", FLATTERED]),
        ({"validation": one, "test": one}, ["one.csv: the test file is also the validation file", FLATTERED]),
        ({"validation": one, "test": str(tmp_path / "link.csv")}, ["link.csv: the test file is also", FLATTERED]),
        ({"validation": train}, ["train.csv: the validation file is also the training file", "scores are too high"]),
        ({"test": train}, ["train.csv: the test file is also the training file", "scores are too high"]),
    ):
        notes = [note for note in read(train, **files)[1] if "scores are too high" in note]
        assert len(notes) == (parts is not None) and all(part in note for note in notes for part in parts), files


def test_rows_are_drawn_before_some_are_held_out(write):
    """And columns that are not needed may hold anything."""
    table = pyarrow.table({
        "text": [f"text {row}" for row in range(100)], "label": ["a", "b"] * 50,
        "at": pyarrow.array([3 * 10**17] * 100, pyarrow.timestamp("us")),
    })  # fmt: skip
    file = write("train.parquet", parquet(table))
    whole, _ = read(file)
    task, notes = read(file, validation_share=None, size=20, seed=3)
    assert (len(task.training), len(task.validation), len(task.test)) == (16, 4, 0)
    assert sorted(task.training.known_labels) == [0] * 8 + [1] * 8
    assert {*task.training.rows, *task.validation.rows} < {*whole.training.rows}
    assert all_labelled(task).rows == sorted([*task.training.rows, *task.validation.rows])
    assert any("size: a stratified sample of 20 of the 100 rows" in line for line in notes)


@pytest.mark.parametrize("group", [None, "author"])
def test_a_run_chooses_its_checkpoint_by_texts_and_authors_that_it_has_not_seen(group, write):
    lines = [f"text {author}-{number // 2},{'xy'[author % 2]},author {author}" for author in range(10)
             for number in range(6)]  # fmt: skip
    file = write("rows.csv", "\n".join(["text,label,author", *lines]))
    task, _ = read(file, text="text", label="label", group=group, validation_share=0.2)
    assert len(task.validation) == 12 and task.validation.labels.tolist().count(0) == 6
    seen, held_out = ({*(part.texts if group is None else part.groups)} for part in (task.training, task.validation))
    assert not seen & held_out and len(held_out) == (6 if group is None else 2)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_rows_whose_text_has_another_label_are_counted(write, share):
    """Two rows of "one" and three of "two", wherever they are held out; "three" has one label, and "four" is alone."""
    lines = ["one,a", " one,b", "two,a", "two,a", "two,b", "three,b", "three,b", "four,a", "five,b"]
    file, other = write("rows.csv", "\n".join(["text,label", *lines])), write("other.csv", "text,label\none,b\nx,a\n")
    for recipe in (Recipe(data=file, validation_share=share), Recipe(data=file, validation=other)):
        notes: list[str] = []
        task_of(recipe, notes.append)
        (told,) = [line for line in notes if "has with another label" in line]
        assert told.startswith(f"{file}: 5 rows have a text") and "salience audit" in told
    notes = []
    task_of(Recipe(data=other, validation=file), notes.append)
    assert not any("another label" in line for line in notes)


# Descriptions of labels.

NAMES = ["no", "1", "card_arrival"]


def test_names_in_words():
    for name, words in {
        "card_arrival": "card arrival", "getSpareCard": "get spare card", "rec.sport.hockey": "rec sport hockey",
        "Sci/Tech": "sci tech", "Refund_not_showing_up?": "refund not showing up", "TREC": "trec", "Größe": "größe",
        "1": "1", "?": "?",
    }.items():  # fmt: skip
        assert name_in_words(name) == words
    found = label_descriptions("names", NAMES)
    assert found.texts == ["no", "1", "card arrival"] and found.labels.tolist() == [0, 1, 2]


def test_labels_and_texts_of_a_file_are_read_as_they_are_written(write):
    """In yaml, no is a truth value and 1 a number. A label may have several descriptions, or none."""
    file = write("labels.yaml", "no: it was refused\n1: [yes, 2020-01-01]\n")
    found = label_descriptions(file, NAMES)
    assert found.texts == ["it was refused", "yes", "2020-01-01"] and found.labels.tolist() == [0, 1, 1]
    assert label_descriptions(file, NAMES, several=True).labels.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]


WRONG = [
    ("no: a\nmaybe: b\n", r'unknown label in .*labels\.yaml: "maybe"; known: 1, card_arrival, no'),
    ("no: a\n1: ' ?'\n", r'labels\.yaml: a description of "1" has no words'),
    ("no:\n", r'a description of "no" has no words'),
    ("no: {a: b}\n1: [[c]]\n", r"2 labels with something else than a text or a list of texts: no, 1"),
    ("no: a\n1: b\nno: c\n", r'labels\.yaml is not yaml: "no" is there twice at line 3, column 1'),
    ("just a text", r"lines of the form label: text"),
    ("", r"lines of the form label: text"),
    ("no: [a", r"labels\.yaml is not yaml"),
    (b"no: \xff", r"line 1, byte offset 4: not UTF-8; save it as UTF-8$"),
    ("[" * 400, r"is not yaml"),
]


def test_what_is_wrong_with_descriptions(write, complaint):
    for text, told in WRONG:
        message = complaint(label_descriptions, write("labels.yaml", text), NAMES)
        assert re.search(told, message), message
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        label_descriptions("nowhere.yaml", NAMES)


def test_descriptions_are_trained_on_after_the_rows():
    rows = Texts(["a", "b"], labels=[1, 0], rows=[5, 9], groups=["x", "y"])
    task = Task(["n", "p"], rows, descriptions=Texts(["c"], labels=[1]))
    assert task.to_train_on == Texts(["a", "b", "c"], labels=[1, 0, 1])
    assert Task(["n", "p"], rows).to_train_on is rows


def test_a_line_for_who_has_few_rows_and_no_descriptions():
    few, many = (Texts(["a"] * count, labels=[0] * count) for count in (20, 22))
    assert worth_describing(Task(["n", "p"], few)).startswith("few labels (10 rows of each on average)")
    assert not worth_describing(Task(["n", "p"], many))
    assert not worth_describing(Task(["n", "p"], few, descriptions=Texts(["c"], labels=[1])))


def test_what_is_read_is_not_written(tmp_path, complaint):
    (tmp_path / "a.csv").write_text("text\na\n")
    (tmp_path / "link.csv").symlink_to("a.csv")
    assert "is not replaced" in complaint(check_not_read, tmp_path / "link.csv", None, str(tmp_path / "a.csv"))
    check_not_read(tmp_path / "b.csv", str(tmp_path / "a.csv"))
    check_not_read(tmp_path / "a.csv", "owner/name")
