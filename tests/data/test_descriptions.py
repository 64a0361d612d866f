"""Descriptions of labels: names in words, yaml files as they are written, and what is refused in one line."""

import pytest

from salience.data.task import Task, label_descriptions, name_in_words
from salience.data.texts import Texts
from salience.errors import InputError

LABELS = ["no", "1", "card_arrival"]


def written(folder, text: str | bytes):
    file = folder / "labels.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("card_arrival", "card arrival"),
        ("getSpareCard", "get spare card"),
        ("rec.sport.hockey", "rec sport hockey"),
        ("Sci/Tech", "sci tech"),
        ("Refund_not_showing_up?", "refund not showing up"),
        ("TREC", "trec"),
        ("Größe", "größe"),
        ("1", "1"),
    ],
)
def test_names_in_words(name, words):
    assert name_in_words(name) == words


def test_the_names_describe_their_labels():
    found = label_descriptions("names", LABELS)
    assert found.texts == ["no", "1", "card arrival"] and found.labels.tolist() == [0, 1, 2]


def test_labels_and_texts_of_a_file_are_read_as_they_are_written(tmp_path):
    """In yaml, no is a truth value and 1 a number. A label may have several descriptions, or none."""
    file = written(tmp_path, "no: it was refused\n1: [yes, 2020-01-01]\n")
    found = label_descriptions(file, LABELS)
    assert found.texts == ["it was refused", "yes", "2020-01-01"] and found.labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no: a\nmaybe: b\n", r'unknown label in .*labels\.yaml: "maybe"; known: 1, card_arrival, no'),
        ("no: a\n1: ' ?'\n", r'labels\.yaml: a description of "1" has no words: write some, or remove it'),
        ("no:\n", r'a description of "no" has no words'),
        ("no: {a: b}\n1: [[c]]\n", r"2 labels with something else than a text or a list of texts: no, 1"),
        ("no: a\n1: b\nno: c\n", r'labels\.yaml is not yaml: "no" is there twice at line 3, column 1'),
        ("just a text", r"label descriptions are lines of the form label: text"),
        ("", r"lines of the form label: text"),
        ("no: [a", r"labels\.yaml is not yaml"),
        (b"no: \xff", r"line 1, byte offset 4: not UTF-8"),
        ("[" * 3000, r"is not yaml"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text, message, tmp_path):
    with pytest.raises(InputError, match=message) as refusal:
        label_descriptions(written(tmp_path, text), LABELS)
    assert "\n" not in str(refusal.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        label_descriptions(str(tmp_path / "nowhere.yaml"), LABELS)


def test_descriptions_are_trained_on_after_the_rows():
    rows = Texts(["a", "b"], labels=[1, 0], rows=[5, 9], groups=["x", "y"])
    task = Task(["n", "p"], rows, descriptions=Texts(["c"], labels=[1]))
    assert task.to_train_on == Texts(["a", "b", "c"], labels=[1, 0, 1])
    assert Task(["n", "p"], rows).to_train_on is rows
