"""Texts that train, choose and test are compared with each other before anything is trained."""

import os

import pyarrow
import pytest
from written import parquet

from salience.training.recipe import Recipe
from salience.training.task import read_task, task_of

TRAIN = "text,label\n" + "".join(f"text {number},{'ab'[number % 2]}\n" for number in range(20))
OTHER = "text,label\nother 1,a\nother 2,b\nother 3,b\n"


@pytest.fixture
def noted(write):
    """The warnings about files that are written for it."""
    train = write("train.csv", TRAIN)

    def noted(**files: str) -> list[str]:
        notes = []
        read_task(Recipe(data=train, **files), notes.append)
        return [note.replace(os.path.dirname(train) + "/", "") for note in notes if "flattered" in note]

    return noted


def test_parts_without_a_common_row_need_no_warning(write, noted):
    assert noted(validation=write("one.csv", OTHER), test=write("two.csv", OTHER.replace("other", "more"))) == []


def test_rows_of_both_validation_and_test(write, noted):
    test = write("two.csv", OTHER.replace("other 1", "new"))
    assert noted(validation=write("one.csv", OTHER), test=test) == [
        "two.csv: 2 of 3 test rows also stand in one.csv, by which the model is chosen; the test score is flattered"
    ]


def test_one_file_for_validation_and_test(write, noted, tmp_path):
    file = write("one.csv", OTHER)
    (tmp_path / "link.csv").symlink_to("one.csv")
    for test in (file, str(tmp_path / "link.csv")):
        assert noted(validation=file, test=test) == [
            f"{os.path.basename(test)}: the test file is also the validation file, by which the model is chosen; the "
            "test score is flattered"
        ]


@pytest.mark.parametrize("role", ["validation", "test"])
def test_the_training_file_for_another_part(role, noted, tmp_path):
    assert noted(**{role: str(tmp_path / "train.csv")}) == [
        f"train.csv: the {role} file is the training file itself; scores are flattered"
    ]


def test_columns_that_are_not_needed_may_hold_anything(write):
    table = pyarrow.table({
        "text": [f"text {number}" for number in range(20)], "label": ["a", "b"] * 10,
        "at": pyarrow.array([3 * 10**17] * 20, pyarrow.timestamp("us")),
    })  # fmt: skip
    recipe = Recipe(data=write("train.parquet", parquet(table)))
    assert len(read_task(recipe, note=list).training) == 20


def test_rows_are_drawn_before_some_are_held_out(write):
    table = pyarrow.table({"text": [f"text {row}" for row in range(100)], "label": ["a", "b"] * 50})
    file = write("train.parquet", parquet(table))
    notes, whole = [], read_task(Recipe(data=file), note=list)
    task = read_task(Recipe(data=file, validation_share=None, size=20, seed=3), notes.append)
    assert (len(task.training), len(task.validation), len(task.test)) == (16, 4, 0)
    assert sorted(task.training.known_labels) == [0] * 8 + [1] * 8
    assert {*task.training.rows, *task.validation.rows} < {*whole.training.rows}
    assert any("size: 20 of the 100 rows drawn (stratified)" in line for line in notes)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_rows_whose_text_has_another_label_are_counted(write, share):
    """Two rows of "one" and three of "two", wherever they are held out; "three" has one label, and "four" is alone."""
    rows = ["one,a", " one,b", "two,a", "two,a", "two,b", "three,b", "three,b", "four,a", "five,b"]
    file, other = write("rows.csv", "\n".join(["text,label", *rows])), write("other.csv", "text,label\none,b\nx,a\n")
    for recipe in (Recipe(data=file, validation_share=share), Recipe(data=file, validation=other)):
        notes: list[str] = []
        task_of(recipe, notes.append)
        told = [line for line in notes if "also has another label" in line]
        assert told == [f"{file}: 5 rows have a text that also has another label; `salience audit` lists them"]
    notes = []
    task_of(Recipe(data=other, validation=file), notes.append)
    assert not any("another label" in line for line in notes)
