"""Files of texts without labels: which column, which texts are left out, and what is refused."""

import pytest

from salience.data.columns import Columns
from salience.data.texts import Texts
from salience.data.unlabelled import read_unlabelled
from salience.training.recipe import Recipe
from salience.training.task_files import read_task

PARTS = {"training": Texts(["one ", "two"]), "test": Texts(["three"])}


def read(file, columns=Columns("text", label="label"), parts=PARTS, **options):  # noqa: B008
    return read_unlabelled(file, columns, parts, **options)


def test_labelled_and_repeated_texts_are_left_out(write):
    file = write("more.csv", "text\nfour\none\nfive\n three\nfour\ntwo\nfour \n")
    texts, notes = read(file)
    assert (texts.texts, texts.rows, texts.labels) == (["four", "five"], [1, 3], None)
    assert notes == [f"unlabelled: 2 texts of {file}; left out 2 training rows, 1 test row, 2 repeated"]


def test_a_column_of_labels_is_not_read(write):
    """The training file itself, of which a run draws some rows; labels may be missing, too."""
    texts, notes = read(write("more.csv", "label,text\na,four\n,five\n"))
    assert (texts.texts, texts.labels) == (["four", "five"], None)
    assert len(notes) == 1


def test_the_column_of_the_training_data_comes_before_usual_names(write):
    texts, notes = read(write("more.csv", "text,body\nfour,five\n"), Columns("body", label="label"))
    assert (texts.texts, len(notes)) == (["five"], 1)


def test_another_column_is_guessed_and_noted(write):
    file = write("more.csv", "id,review\n1,four\n")
    texts, notes = read(file)
    assert texts.texts == ["four"]
    assert notes[0] == f'{file}: text column: "review" (guessed)'


def test_pairs_are_left_out_as_pairs(write):
    columns = Columns("premise", "hypothesis", "label")
    parts = {"training": Texts(["one", "two"], ["1", "2"])}
    texts, _ = read(write("more.csv", "premise,hypothesis\none,2\none,1\n"), columns, parts)
    assert (texts.texts, texts.second) == (["one"], ["2"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\none\nthree\n", "no text without a label is left (1 training row, 1 test row): give --unlabelled a"),
        ("text\n", "no rows"),
        ("id,number\n1,2\n", "no column has a usual name for the text; name it with --text"),
        ('text\nfour\n" "\n', '1 row of 2 with an empty or missing value: 1 in "text" (row 2)'),
        ("premise,hypothesis\na,b\n", "the model was trained on single texts, not on pairs"),
    ],
)
def test_what_is_refused(content, message, write, complaint):
    file = write("more.csv", content)
    said = complaint(read, file)
    assert said.startswith(f"{file}: ") and message in said


def test_rows_without_a_text_may_be_left_out(write):
    file = write("more.csv", 'text\nfour\n" "\n')
    texts, notes = read(file, bad_rows="skip")
    assert texts.texts == ["four"]
    assert notes[0].startswith(f"{file}: left out 1 row of 2")


def test_a_task_knows_its_texts_without_labels(write):
    """Rows that are not drawn, and those that are held out or tested, are told apart."""
    rows = [f"text {number},{'ab'[number % 2]}" for number in range(20)]
    train = write("train.csv", "\n".join(["text,label", *rows, ""]))
    test = write("test.csv", "text,label\ntext 3,b\nother,a\n")
    notes = []
    recipe = Recipe(data=train, test=test, validation_share=0.25, size=8, unlabelled=train)
    task = read_task(recipe, notes.append)
    known = {*task.training.texts, *task.validation.texts, *task.test.texts}
    expected = [text for text in (f"text {number}" for number in range(20)) if text not in known]
    assert task.unlabelled.texts == expected
    assert any(note.startswith(f"unlabelled: {len(expected)} texts of {train}; left out ") for note in notes)
    assert len(read_task(Recipe(data=train), notes.append).unlabelled) == 0
