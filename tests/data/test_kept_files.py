"""Data files are read once in a process, and again as soon as they have changed."""

import os

import pytest

from salience.data import task
from salience.data import task as kept_files
from salience.data.task import read_part
from salience.data.texts import Texts
from salience.training.recipe import Recipe
from salience.training.task import read_task

ROWS = "text,label\none,a\ntwo,b\n"


@pytest.fixture
def reads(monkeypatch):
    """The names of the files that are read; nothing is kept from earlier tests."""
    seen = []
    collect = task.collect

    def counted(rows, columns, source, bad_rows):
        seen.append(os.path.basename(source))
        return collect(rows, columns, source, bad_rows)

    monkeypatch.setattr(task, "collect", counted)
    kept_files._kept.clear()
    return seen


def test_a_file_is_read_once(write, reads):
    file = write("one.csv", ROWS)
    first, second = read_part(file), read_part(file)
    assert reads == ["one.csv"]
    assert first == second
    first[1].append("c")
    first[3].append("a note")
    assert read_part(file) == second  # who gets it can change the lists


def test_other_columns_and_files_are_read_by_themselves(write, reads):
    file = write("one.csv", "text,other,label\none,three,a\ntwo,four,b\n")
    assert read_part(file, text="text")[0].texts == ["one", "two"]
    assert read_part(file, text="other")[0].texts == ["three", "four"]
    assert read_part(write("two.csv", ROWS))[0].texts == ["one", "two"]
    assert reads == ["one.csv", "one.csv", "two.csv"]


def test_a_changed_file_is_read_again(write, reads):
    file = write("one.csv", ROWS)
    state = os.stat(file)
    read_part(file)
    with open(file, "w", encoding="utf-8") as same_length:
        same_length.write(ROWS.replace("one", "six"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # size and time of its content as before
    assert read_part(file)[0].texts == ["six", "two"]


def test_the_room_is_bounded(write, reads, monkeypatch):
    monkeypatch.setattr(kept_files, "LIMIT", 10)
    files = [write(f"{name}.csv", ROWS) for name in ("one", "two")]  # of 6 characters each
    for file in (*files, files[1], files[0]):
        read_part(file)
    assert reads == ["one.csv", "two.csv", "one.csv"]
    large = write("large.csv", ROWS.replace("one", "eleven more"))
    for file in (large, files[0], large):
        read_part(file)
    assert reads[3:] == ["large.csv", "large.csv"]  # it is not kept, and the file that was there still is


def test_tasks_from_a_kept_file_are_equal(write, reads):
    file = write("one.csv", "text,label\n" + "".join(f"text {row},{'ab'[row % 2]}\n" for row in range(20)))
    notes: list[list[str]] = [[], []]
    recipe = Recipe(data=file, size=10, seed=3, validation_share=None)
    one, two = (read_task(recipe, each.append) for each in notes)
    assert notes[0] == notes[1] and one == two
    assert isinstance(one.training, Texts) and len(reads) == 1
