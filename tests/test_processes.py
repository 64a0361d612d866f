"""Parts of a work: named, or taken from a Slurm array; together they are the whole."""

import os
from itertools import chain
from pathlib import Path

import pytest

from salience.errors import InputError
from salience.processes import check_launcher, file_of, is_main_process, part_of, rows_of, world_size

VARIABLES = ("ID", "MIN", "MAX", "COUNT", "STEP")


@pytest.fixture
def array(monkeypatch):
    """Sets the variables of a task of a Slurm array; those that are not given are unset."""

    def set_to(**values) -> None:
        for name in VARIABLES:
            monkeypatch.delenv(f"SLURM_ARRAY_TASK_{name}", raising=False)
        for name, value in values.items():
            monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(value))

    set_to()
    return set_to


def test_parts(array):
    assert [part_of(text) for text in ("1/1", "1/3", "3/3")] == [(1, 1), (1, 3), (3, 3)]
    for text in ("a/b", "1", "1/2/3", "1/0", "0/2", "3/2", "-1/2", ""):
        with pytest.raises(InputError, match="--part 1/2"):
            part_of(text)
    told = []
    assert part_of(None, told.append) == (1, 1) and told == []


# The tasks of `sbatch --array=...` and their variables, as Slurm's manual describes them.
ARRAYS = {
    "1-4": (range(1, 5), {"MIN": 1, "MAX": 4, "COUNT": 4, "STEP": 1}),
    "0-2": (range(3), {"MIN": 0, "MAX": 2, "COUNT": 3, "STEP": 1}),
    "1-7:2": (range(1, 8, 2), {"MIN": 1, "MAX": 7, "COUNT": 4, "STEP": 2}),
    "0-15:4": (range(0, 16, 4), {"MIN": 0, "MAX": 12, "COUNT": 4, "STEP": 4}),
}


def test_every_task_of_an_array_has_a_part(array):
    for tasks, variables in ARRAYS.values():
        told, found = [], []
        for task in tasks:
            array(ID=task, **variables)
            found.append(part_of(None, told.append))
        assert found == [(number, len(tasks)) for number in range(1, len(tasks) + 1)]
        assert told[-1].startswith(f"part {len(tasks)} of {len(tasks)}: task {tasks[-1]} of a Slurm array")
        assert part_of("1/1") == (1, 1)  # what is said counts


WRONG = [
    ({"ID": 2, "MIN": 1, "MAX": 7, "COUNT": 3, "STEP": 1}, "not evenly spaced"),
    ({"ID": 2, "MIN": 1, "MAX": 7, "COUNT": 4, "STEP": 2}, "not evenly spaced"),
    ({"ID": 9, "MIN": 1, "MAX": 8, "COUNT": 8, "STEP": 1}, "not evenly spaced"),
    ({"ID": 1, "MIN": 1, "MAX": 8, "COUNT": 8, "STEP": 0}, "not evenly spaced"),
    ({"ID": "one", "MIN": 1, "MAX": 8, "COUNT": 8}, 'SLURM_ARRAY_TASK_ID is "one"'),
    ({"ID": 1, "MIN": 1}, 'SLURM_ARRAY_TASK_COUNT is "missing"'),
]


def test_an_array_whose_parts_are_not_clear(array):
    for variables, message in WRONG:
        array(**variables)
        with pytest.raises(InputError, match=message):
            part_of(None)


def test_the_parts_of_rows_are_the_rows():
    for count in (0, 1, 5, 8, 100, 1001):
        for parts in (1, 2, 3, 8):
            ranges = [rows_of((number, parts), count) for number in range(1, parts + 1)]
            assert list(chain(*ranges)) == list(range(count))
            assert max(map(len, ranges)) - min(map(len, ranges)) <= 1


def test_the_file_of_a_part():
    assert file_of((1, 1), Path("a/out.csv")) == Path("a/out.csv")
    assert file_of((2, 8), Path("a/out.csv")) == Path("a/out-2-of-8.csv")
    assert file_of((2, 8), Path("out.2024.jsonl")) == Path("out.2024-2-of-8.jsonl")
    names = [str(file_of((number, 16), Path("out.csv"))) for number in range(1, 17)]
    assert names == sorted(names) and names[2] == "out-03-of-16.csv"


def test_the_variables_of_a_launcher(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert world_size() == 1 and is_main_process()
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="WORLD_SIZE is 2, but RANK and LOCAL_RANK are not set"):
        check_launcher()
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", " ")
    check_launcher()
    assert world_size() == 2 and not is_main_process()
    assert "LOCAL_WORLD_SIZE" not in os.environ  # libraries fail if it is empty
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(InputError, match='RANK is "first"'):
        check_launcher()
