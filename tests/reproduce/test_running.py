"""Runs are resumed, divided among processes, and reported from all rows of the file; wrong tables run nothing."""

import json
from dataclasses import dataclass, replace

import pytest
import torch

from salience.errors import InputError
from salience.models.precision import has_fast_bf16, resolve_precision
from salience.papers.table import Table, environment, processor_name, run_table
from salience.settings import numbers


@dataclass(frozen=True)
class Cell:
    set: str
    scale: float
    seed: int


def cells(sets, seeds):
    return [Cell(name, scale, seed) for seed in seeds for name in sets for scale in (0.1, 1, 10)]


def made_up(ran) -> Table:
    """A table of two sets and three scales, which appends the cells that are run to a list."""

    def run(cell, data_dir):
        ran.append((cell, data_dir))
        return {"accuracy": 0.5 + cell.seed / 100}

    return Table(
        name="made-up", paper="nobody, nowhere", published={"one": 1, "two": 2}, cell=Cell, keys=("accuracy",),
        cells=cells, run=run, report=lambda rows: f"{len(rows)} rows",
    )  # fmt: skip


@pytest.fixture
def ran() -> list:
    """The cells that were run, in order, with the data folder."""
    return []


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results" / "table.jsonl"


@pytest.fixture
def table(ran):
    """Runs the made-up table, perhaps with other fields, and returns the lines that it said."""

    def run(file, sets=None, seeds=(0,), part=(1, 1), data_dir=None, **fields) -> list[str]:
        said = []
        run_table(replace(made_up(ran), **fields), data_dir, sets, seeds, file, part, said.append)
        return said

    return run


def rows(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_cell_is_run_and_kept(table, ran, file, tmp_path):
    said = table(file, seeds=(0, 3), data_dir=tmp_path)
    expected = [Cell(name, scale, seed) for seed in (0, 3) for name in ("one", "two") for scale in (0.1, 1, 10)]
    assert ran == [(cell, tmp_path) for cell in expected]
    assert [Cell(row["set"], row["scale"], row["seed"]) for row in rows(file)] == expected
    assert rows(file)[-1]["accuracy"] == 0.53
    assert said[0] == "set one, scale 0.1, seed 0: 50.0"
    assert said[-1] == "12 rows" and len(said) == 13


def test_every_row_records_the_device_and_the_precision(table, file, monkeypatch):
    """On a GPU its name, and the precision that it computes in."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    has_fast_bf16.cache_clear()
    table(file, ["one"])
    has_fast_bf16.cache_clear()
    monkeypatch.undo()
    table(file, ["two"])
    found = [(row["device"], row["precision"]) for row in rows(file)]
    own = (processor_name(), resolve_precision("auto", torch.device("cpu")))
    assert found == [("NVIDIA H100", "bf16")] * 3 + [own] * 3


def test_every_row_records_machine_and_versions(table, file):
    table(file, ["one"])
    for row in rows(file):
        assert environment().items() <= row.items()
    assert "torch" in environment()["versions"] and "threads" in environment()["machine"]


def test_runs_that_are_kept_are_not_run_again(table, ran, file):
    table(file, ["one"])
    del ran[:]
    kept = file.read_text()
    assert table(file, ["one"]) == ["3 rows"]
    assert ran == [] and file.read_text() == kept
    said = table(file, ["one", "two"], (0, 1))
    assert [cell for cell, _ in ran] == [
        Cell(name, scale, seed)
        for seed, name in ((0, "two"), (1, "one"), (1, "two")) for scale in (0.1, 1, 10)
    ]  # fmt: skip
    assert said[-1] == "12 rows" and file.read_text().startswith(kept)


def test_a_killed_study_runs_again_only_what_was_cut_off(table, ran, file):
    table(file)
    whole = file.read_text()
    del ran[:]
    file.write_text(whole[: whole.rindex("\n", 0, -1) + 9])
    table(file)
    assert [cell for cell, _ in ran] == [Cell("two", 10, 0)]
    assert rows(file) == [json.loads(line) for line in whole.splitlines()]


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 20])
def test_parts_divide_the_cells(table, ran, tmp_path, parts):
    """Each process has a file of its own: together every cell, none twice, and none has much more than another."""
    divided = []
    for part in range(1, parts + 1):
        del ran[:]
        table(tmp_path / f"{part}.jsonl", seeds=(0, 1), part=(part, parts))
        divided.append([cell for cell, _ in ran])
    together = [cell for part_cells in divided for cell in part_cells]
    assert len(together) == len(set(together)) == 12
    assert max(map(len, divided)) - min(map(len, divided)) <= 1


def test_a_part_is_the_same_whatever_is_kept(table, ran, file):
    """A process that was stopped goes on with its own part and leaves the others theirs."""
    table(file, part=(1, 2))
    first = [cell for cell, _ in ran]
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    del ran[:]
    table(file, part=(1, 2))
    assert [cell for cell, _ in ran] == first[1:]


def test_an_unknown_set(table, ran, file):
    with pytest.raises(InputError, match=r'unknown data set of made-up: "tow".*one, two.*Did you mean "two"'):
        table(file, ["one", "tow"])
    assert ran == [] and not file.exists()


def test_a_set_or_seed_that_is_named_twice_is_run_once(table, ran, file):
    table(file, ["one", "one"], (2, 2))
    assert [cell for cell, _ in ran] == cells(["one"], [2])


def fails(rows):
    raise KeyError("loss")


@dataclass(frozen=True)
class Other:
    set: str
    scale: float
    seed: int


WRONG = {  # fields of the table, and what the error says
    "cells of another type": ({"cells": lambda *asked: [Other("one", 1, 0), Other("two", 1, 0)]}, "is not a Cell"),
    "a cell of an unknown set": ({"cells": lambda *asked: [*cells(*asked), Cell("three", 1, 0)]}, "not asked for"),
    "a cell of another seed": ({"cells": lambda *asked: [*cells(*asked), Cell("one", 1, 7)]}, "not asked for"),
    "a cell twice": ({"cells": lambda *asked: cells(*asked) * 2}, "same run twice"),
    "no cell of a set": ({"cells": lambda sets, seeds: cells(sets[:1], seeds)}, "no run for some of the data sets"),
    "no cells": ({"cells": lambda *asked: []}, "no run for some of the data sets"),
    "a report that needs another key": ({"report": fails}, "loss"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_table_is_refused_before_anything_is_run(case, table, ran, file):
    fields, message = WRONG[case]
    with pytest.raises((TypeError, ValueError, KeyError), match=message):
        table(file, **fields)
    assert ran == [] and not file.exists()


def test_a_report_that_cannot_show_the_stored_rows_is_refused_before_anything_is_run(table, ran, file):
    table(file, ["one"])
    ran.clear()
    with pytest.raises(KeyError, match="loss"):
        table(file, report=lambda rows: str([row["loss"] for row in rows]))
    assert ran == []


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ({"accuracy": 0.5}, 'a run must record "loss", and does not'),
        ({"loss": 1, "accuracy": 0.5, "scale": 2}, 'a run records "scale", which is of its cell'),
    ],
)
def test_a_run_with_wrong_keys_is_not_stored(table, file, measured, message):
    with pytest.raises(ValueError, match=message):
        table(file, keys=("accuracy", "loss"), run=lambda cell, data_dir: measured)
    assert not file.exists()


def test_a_file_whose_rows_lack_a_declared_key_is_refused_before_anything_is_run(table, ran, file):
    table(file, ["one"])
    ran.clear()
    with pytest.raises(InputError, match=r'line 1 is not a result of this table, it lacks "loss"'):
        table(file, keys=("accuracy", "loss"))
    assert ran == []


def test_negative_seeds(table, ran, file):
    with pytest.raises(InputError, match="--seeds 0,-1: seeds begin at 0"):
        table(file, seeds=(0, -1))
    assert ran == [] and not file.exists()


@pytest.mark.parametrize("text", ["a", "", "0;1"])
def test_numbers_that_are_none(text):
    with pytest.raises(InputError, match="are no numbers; write --seeds 0,1,2"):
        numbers(text, ",", "--seeds 0,1,2")


def test_numbers_between_signs():
    assert numbers("1,2, 3", ",", "") == [1, 2, 3]
    assert numbers("0.5,1e4", ",", "", float) == [0.5, 10000]
    with pytest.raises(InputError, match=r"'1\.5' are no numbers; write --seeds 1"):
        numbers("1.5", ",", "--seeds 1")
