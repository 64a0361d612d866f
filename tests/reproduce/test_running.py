"""Runs are resumed, parted among processes, and reported from all that the file holds."""

import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from salience.errors import InputError
from salience.reproduce import TABLES
from salience.reproduce.running import machine, numbers, run_table


@dataclass(frozen=True)
class Cell:
    set: str
    scale: float
    seed: int


@pytest.fixture
def ran(monkeypatch):
    """A made-up table of two sets and three scales, and the cells that were run, in order."""
    done = []

    def run(cell, data_dir):
        done.append((cell, data_dir))
        return {"accuracy": 0.5 + cell.seed / 100}

    table = SimpleNamespace(
        PUBLISHED={"one": 1, "two": 2},
        cells=lambda sets, seeds: [
            Cell(name, scale, seed) for seed in seeds for name in sets for scale in (0.1, 1, 10)
        ],
        run=run,
        report=lambda rows: f"{len(rows)} rows",
    )
    monkeypatch.setitem(sys.modules, "made_up_table", table)
    monkeypatch.setitem(TABLES, "made-up", "made_up_table")
    return done


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results" / "table.jsonl"


def table(file, sets=None, seeds="0", part="1/1", data_dir=None) -> list[str]:
    """Runs the made-up table, and gives what it said."""
    said = []
    run_table("made-up", data_dir, sets, seeds, file, part, said.append)
    return said


def rows(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_cell_is_run_and_kept(ran, file, tmp_path):
    said = table(file, seeds="0,3", data_dir=tmp_path)
    expected = [Cell(name, scale, seed) for seed in (0, 3) for name in ("one", "two") for scale in (0.1, 1, 10)]
    assert ran == [(cell, tmp_path) for cell in expected]
    assert [Cell(row["set"], row["scale"], row["seed"]) for row in rows(file)] == expected
    assert rows(file)[-1]["accuracy"] == 0.53
    assert said[0] == "set one, scale 0.1, seed 0: 50.0"
    assert said[-1] == "12 rows" and len(said) == 13


def test_every_row_says_what_it_was_found_with(ran, file):
    table(file, "one")
    for row in rows(file):
        assert machine().items() <= row.items()
    assert "torch" in machine()["versions"] and "threads" in machine()["machine"]


def test_runs_that_are_kept_are_not_run_again(ran, file):
    table(file, "one")
    del ran[:]
    kept = file.read_text()
    assert table(file, "one") == ["3 rows"]
    assert ran == [] and file.read_text() == kept
    said = table(file, "one,two", "0,1")
    assert [cell for cell, _ in ran] == [
        Cell(name, scale, seed)
        for seed, name in ((0, "two"), (1, "one"), (1, "two")) for scale in (0.1, 1, 10)
    ]  # fmt: skip
    assert said[-1] == "12 rows" and file.read_text().startswith(kept)


def test_a_killed_study_runs_again_only_what_was_cut_off(ran, file):
    table(file)
    whole = file.read_text()
    del ran[:]
    file.write_text(whole[: whole.rindex("\n", 0, -1) + 9])
    table(file)
    assert [cell for cell, _ in ran] == [Cell("two", 10, 0)]
    assert rows(file) == [json.loads(line) for line in whole.splitlines()]


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 20])
def test_parts_divide_the_cells(ran, tmp_path, parts):
    """Each process has a file of its own: together every cell, none twice, and none has much more than another."""
    found = []
    for part in range(1, parts + 1):
        del ran[:]
        table(tmp_path / f"{part}.jsonl", seeds="0,1", part=f"{part}/{parts}")
        found.append([cell for cell, _ in ran])
    together = [cell for own in found for cell in own]
    assert len(together) == len(set(together)) == 12
    assert max(map(len, found)) - min(map(len, found)) <= 1


def test_a_part_is_the_same_whatever_is_kept(ran, file):
    """A process that was stopped goes on with its own part and leaves the others theirs."""
    table(file, part="1/2")
    own = [cell for cell, _ in ran]
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    del ran[:]
    table(file, part="1/2")
    assert [cell for cell, _ in ran] == own[1:]


def test_an_unknown_set(ran, file):
    with pytest.raises(InputError, match=r'unknown data set of made-up: "tow".*one, two.*Did you mean "two"'):
        table(file, "one,tow")
    assert ran == [] and not file.exists()


@pytest.mark.parametrize(
    ("seeds", "part"),
    [("a", "1/1"), ("", "1/1"), ("0;1", "1/1"), ("0", "a/b"), ("0", "1"), ("0", "1/2/3"), ("0", "1/0"), ("0", "0/2"),
     ("0", "3/2"), ("0", "-1/2")],
    ids=str,
)  # fmt: skip
def test_numbers_that_are_none(ran, file, seeds, part):
    """Nor would anybody be told if a part that is not there ran nothing."""
    with pytest.raises(InputError, match=r"--seeds 0,1,2|--part 1/2"):
        table(file, seeds=seeds, part=part)
    assert ran == []


def test_numbers_between_signs():
    assert numbers("1,2, 3", ",", "") == [1, 2, 3]
    assert numbers("0.5,1e4", ",", "", float) == [0.5, 10000]
    with pytest.raises(InputError, match=r"'1\.5' are no numbers; write --seeds 1"):
        numbers("1.5", ",", "--seeds 1")
