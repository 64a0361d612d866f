"""Tables as values, their results files, and how their cells are run, resumed and divided among processes."""

import json
import multiprocessing
import os
import platform
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from salience.errors import InputError
from salience.models.precision import has_fast_bf16, resolve_precision
from salience.papers import table as devices
from salience.papers.table import (
    Cell,
    Results,
    Table,
    environment,
    every_set_and_seed,
    first_seed_rows,
    processor_name,
    run_table,
    sets_of,
)
from salience.papers.tables import TABLES
from salience.settings import numbers

RESULTS = Path(__file__).parents[2] / "results"
STORED = [file.stem for file in RESULTS.glob("*.jsonl") if file.stem in TABLES]

TABLE = Table(
    name="toy", paper="nobody, nowhere", published={"one": 1}, cell=Cell, keys=("accuracy", "loss"),
    cells=every_set_and_seed, run=lambda cell, data_dir: {}, report=lambda rows: "",
)  # fmt: skip


@dataclass(frozen=True)
class Unseeded:
    set: str


class Plain:
    set: str
    seed: int


WRONG = {  # fields of the declaration, the error and what it says
    "a cell that is no dataclass": ({"cell": Plain}, TypeError, "must be a dataclass"),
    "a cell instead of its type": ({"cell": Cell("one", 0)}, TypeError, "must be a dataclass"),
    "a cell without seed": ({"cell": Unseeded}, TypeError, "with the fields set and seed"),
    "no data sets": ({"published": {}}, ValueError, "no data sets"),
    "a key twice": ({"keys": ("accuracy", "loss", "loss")}, ValueError, "different from each other"),
    "a key of the cell": ({"keys": ("accuracy", "seed")}, ValueError, "from the fields of a cell"),
    "no accuracy": ({"keys": ("loss",)}, ValueError, "accuracy must be one of them"),
}


def test_a_wrong_declaration_is_refused():
    for case in WRONG:
        fields, error, message = WRONG[case]
        with pytest.raises(error, match=f"table toy: .*{message}"):
            replace(TABLE, **fields)


def test_a_row_is_the_cell_followed_by_what_was_measured():
    table = replace(TABLE, run=lambda cell, data_dir: {"accuracy": 0.5, "loss": cell.seed, "folder": data_dir})
    row = table.row(Cell("one", 3), Path("data"))
    assert row == {"set": "one", "seed": 3, "accuracy": 0.5, "loss": 3, "folder": Path("data")}
    assert list(row)[:2] == ["set", "seed"]  # as the lines of a results file begin


def test_rows_of_the_first_seed():
    rows = [{"set": "b", "seed": 2}, {"set": "a", "seed": 1}, {"set": "b", "seed": 0}]
    assert sets_of(rows) == ["b", "a"]
    assert first_seed_rows(rows) == {"b": rows[2], "a": rows[1]}


@pytest.mark.parametrize("name", TABLES)
def test_a_loader_gives_the_table_of_its_name(name):
    table = TABLES[name]()
    assert isinstance(table, Table) and table.name == name
    assert isinstance(table.report([]), str)  # the check before the first run relies on it


LARGE = ("vat", "uaftc-figures", "uaftc-synthetic", "uaftc-table2", "attentionmix-sweep")


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=pytest.mark.whole) if file in LARGE else file for file in STORED]
)
def test_reports_and_pictures_read_the_declared_keys_and_no_others(file, tmp_path, monkeypatch):
    """Of every results file of the repository, so that each of its rows has them too."""
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda own, file, **how: "png" in str(file) or save(own, file, **how))
    table = TABLES[file]()
    rows = [json.loads(line) for line in (RESULTS / f"{file}.jsonl").read_text("utf-8").splitlines()]
    declared = [{key: row[key] for key in (*table.identity, *table.keys)} for row in rows]
    assert declared and table.report(declared) == table.report(rows)

    def draw(rows) -> set[str]:
        return {f"{name}.svg" for name in table.pictures(rows, tmp_path)} if table.pictures else set()

    assert draw(declared) == {picture.name for picture in tmp_path.iterdir()}
    for key in {*table.keys} - {"accuracy"}:  # which is printed after every run
        lacking = [{other: value for other, value in row.items() if other != key} for row in declared]
        with pytest.raises(KeyError, match=re.escape(key)):
            table.report(lacking)
            draw(lacking)


ROWS = [
    {"set": "sst2", "scale": 0.001, "seed": 0, "accuracy": 0.5, "test": [0.4, 0.5]},
    {"set": "sst2", "scale": 10, "seed": 0, "accuracy": 0.8, "test": []},
    {"set": "größe", "scale": 10, "seed": 1, "accuracy": None, "test": None},
]


@pytest.fixture
def results(tmp_path):
    """A file in a folder that is not there yet."""
    results = Results(tmp_path / "new" / "folder" / "table.jsonl")
    for row in ROWS:
        results.add(row)
    return results


def test_nothing_is_held_at_first(tmp_path):
    empty = Results(tmp_path / "none.jsonl")
    assert empty.rows() == []
    assert not empty.has()
    assert not (tmp_path / "none.jsonl").exists()


def test_a_line_that_was_broken_by_hand_is_named(results):
    results.file.write_text(results.file.read_text().replace('"scale": 10', '"scale": ', 1))
    with pytest.raises(InputError, match=r"table\.jsonl: line 2 is not JSON"):
        results.rows()


def test_what_was_added_is_held(results):
    assert results.rows() == ROWS
    assert Results(str(results.file)).rows() == ROWS  # and by whoever opens it next
    assert [json.loads(line) for line in results.file.read_text().splitlines()] == ROWS


def test_a_row_is_found_by_some_of_its_fields(results):
    for wanted, held in [
        ({"set": "sst2", "scale": 10, "seed": 0}, True),
        ({"set": "sst2", "scale": 10.0, "seed": 0}, True),
        ({"scale": 0.001}, True),
        ({"set": "sst2", "scale": 10, "seed": 1}, False),  # each holds of some row, but not of one
        ({"set": "sst2", "model": "DP"}, False),
        ({"set": "SST2"}, False),
    ]:
        assert results.has(**wanted) is held


@pytest.mark.parametrize("left", [1, 5, 20])
def test_a_line_that_was_cut_off_is_dropped(results, left):
    """After a kill in the middle of the last line."""
    text = results.file.read_text()
    last = text.rindex("\n", 0, -1) + 1
    results.file.write_text(text[: last + left])
    results = Results(results.file)  # the study is taken up again
    assert results.rows() == ROWS[:2]
    assert not results.has(set="größe")
    results.add({"set": "mr"})
    assert results.rows() == [*ROWS[:2], {"set": "mr"}]
    assert results.file.read_text().endswith('{"set": "mr"}\n')


def test_a_line_without_its_end_counts_as_cut_off(results):
    """It may be whole, and it may be the beginning of a longer number."""
    results.file.write_text(results.file.read_text().rstrip("\n"))
    results = Results(results.file)
    assert results.rows() == ROWS[:2]
    results.add(ROWS[2])
    assert results.rows() == ROWS


def test_nothing_but_a_cut_off_line(tmp_path):
    file = tmp_path / "table.jsonl"
    file.write_text('{"set": "ss')
    results = Results(file)
    assert results.rows() == []
    results.add({"set": "mr"})
    assert file.read_text() == '{"set": "mr"}\n'


def test_processes_that_share_a_file_keep_each_others_lines(tmp_path):
    """Each of them read the file when it began, and adds its own lines to what is there now."""
    file = tmp_path / "table.jsonl"
    first, second = Results(file), Results(file)
    for number in range(3):
        first.add({"process": 1, "run": number})
        second.add({"process": 2, "run": number})
    assert len(first.rows()) == len(second.rows()) == 6
    assert first.has(process=2, run=2)


IDENTITY = ("set", "scale", "seed")


@pytest.mark.parametrize(
    "text",
    [
        "a note that somebody wrote",
        '{"name": "a file of something else"}',
        '{"name": "a file of something else"}\n',
        '{"set": "sst2", "scale": 1, "seed": 0}\n[1, 2]\n{"set": ',
        "a note\nof two lines",
        "name,value\nset,1\n",
    ],
)
def test_a_file_of_something_else_is_refused_and_stays_as_it_is(tmp_path, text):
    file = tmp_path / "notes.txt"
    file.write_text(text)
    for act in (lambda: Results(file, IDENTITY).rows(), lambda: Results(file, IDENTITY).add(ROWS[0])):
        with pytest.raises(InputError, match=r"notes\.txt: line \d"):
            act()
        assert file.read_text() == text


@pytest.mark.parametrize("act", [Results.rows, lambda results: results.add(ROWS[1])], ids=["read", "added to"])
def test_a_row_without_a_declared_key_is_named(tmp_path, act):
    """It would make the report fail after all runs."""
    file = tmp_path / "table.jsonl"
    Results(file).add(ROWS[0])
    Results(file).add({name: ROWS[1][name] for name in (*IDENTITY, "accuracy")})
    before = file.read_text()
    assert len(Results(file, IDENTITY, ["accuracy"]).rows()) == 2
    with pytest.raises(InputError, match=r'table\.jsonl: line 2 is not a result of this table, it lacks "test":'):
        act(Results(file, IDENTITY, ["accuracy", "test"]))
    assert file.read_text() == before


def test_a_cut_off_line_stays_until_another_is_added(tmp_path):
    file = tmp_path / "table.jsonl"
    file.write_text('{"set": "ss')
    assert Results(file, IDENTITY).rows() == []
    assert file.read_text() == '{"set": "ss'


def test_a_run_that_stands_twice_counts_once(tmp_path):
    """Two processes may have made it at the same time."""
    results = Results(tmp_path / "table.jsonl", IDENTITY)
    for accuracy in (0.5, 0.6):
        results.add({"set": "mr", "scale": 1, "seed": 0, "accuracy": accuracy})
    results.add({"set": "mr", "scale": 1, "seed": 1, "accuracy": 0.7})
    assert [row["accuracy"] for row in results.rows()] == [0.5, 0.7]


def test_a_line_that_the_disk_has_no_room_for_is_no_result(results, monkeypatch):
    """The system writes what it has room for, and says how much that was."""
    before, system = results.file.read_text(), open

    def short(path, mode="r", **options):
        file = system(path, mode, **options)
        if "b" not in mode:
            return file

        class Short:
            def __getattr__(self, name):
                return getattr(file, name)

            def __enter__(self):
                return self

            def __exit__(self, *failure):
                file.close()

            def write(self, data):
                return file.write(data[:5])

        return Short()

    monkeypatch.setattr("builtins.open", short)
    with pytest.raises(OSError, match="No space left"):
        results.add({"set": "mr"})
    monkeypatch.undo()
    assert results.file.read_text() == before


def add_lines(file, process: int) -> None:
    results = Results(file)
    for run in range(50):
        results.add({"process": process, "run": run, "padding": "x" * 10_000})
    os._exit(0)


def test_processes_that_add_at_the_same_time_lose_no_line(tmp_path):
    file = tmp_path / "table.jsonl"
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=add_lines, args=(file, number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    rows = Results(file).rows()
    assert sorted((row["process"], row["run"]) for row in rows) == [(p, r) for p in range(3) for r in range(50)]
    assert os.listdir(tmp_path) == ["table.jsonl"]


@dataclass(frozen=True)
class Scaled:
    set: str
    scale: float
    seed: int


def cells(sets, seeds):
    return [Scaled(name, scale, seed) for seed in seeds for name in sets for scale in (0.1, 1, 10)]


def made_up(ran) -> Table:
    """A table of two sets and three scales, which appends the cells that are run to a list."""

    def run(cell, data_dir):
        ran.append((cell, data_dir))
        return {"accuracy": 0.5 + cell.seed / 100}

    return Table(
        name="made-up", paper="nobody, nowhere", published={"one": 1, "two": 2}, cell=Scaled, keys=("accuracy",),
        cells=cells, run=run, report=lambda rows_of: f"{len(rows_of)} rows_of",
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


def rows_of(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_cell_is_run_and_kept(table, ran, file, tmp_path):
    said = table(file, seeds=(0, 3), data_dir=tmp_path)
    expected = [Scaled(name, scale, seed) for seed in (0, 3) for name in ("one", "two") for scale in (0.1, 1, 10)]
    assert ran == [(cell, tmp_path) for cell in expected]
    assert [Scaled(row["set"], row["scale"], row["seed"]) for row in rows_of(file)] == expected
    assert rows_of(file)[-1]["accuracy"] == 0.53
    assert said[0] == "set one, scale 0.1, seed 0: 50.0"
    assert said[-1] == "12 rows_of" and len(said) == 13


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
    found = [(row["device"], row["precision"]) for row in rows_of(file)]
    own = (processor_name(), resolve_precision("auto", torch.device("cpu")))
    assert found == [("NVIDIA H100", "bf16")] * 3 + [own] * 3


def test_every_row_records_machine_and_versions(table, file):
    table(file, ["one"])
    for row in rows_of(file):
        assert environment().items() <= row.items()
    assert "torch" in environment()["versions"] and "threads" in environment()["machine"]


def test_runs_that_are_kept_are_not_run_again(table, ran, file):
    table(file, ["one"])
    del ran[:]
    kept = file.read_text()
    assert table(file, ["one"]) == ["3 rows_of"]
    assert ran == [] and file.read_text() == kept
    said = table(file, ["one", "two"], (0, 1))
    assert [cell for cell, _ in ran] == [
        Scaled(name, scale, seed)
        for seed, name in ((0, "two"), (1, "one"), (1, "two")) for scale in (0.1, 1, 10)
    ]  # fmt: skip
    assert said[-1] == "12 rows_of" and file.read_text().startswith(kept)


def test_a_killed_study_runs_again_only_what_was_cut_off(table, ran, file):
    table(file)
    whole = file.read_text()
    del ran[:]
    file.write_text(whole[: whole.rindex("\n", 0, -1) + 9])
    table(file)
    assert [cell for cell, _ in ran] == [Scaled("two", 10, 0)]
    assert rows_of(file) == [json.loads(line) for line in whole.splitlines()]


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


def fails(rows_of):
    raise KeyError("loss")


@dataclass(frozen=True)
class Other:
    set: str
    scale: float
    seed: int


WRONG_CELLS = {  # fields of the table, and what the error says
    "cells of another type": (
        {"cells": lambda *asked: [Other("one", 1, 0), Other("two", 1, 0)]},
        "is not a Scaled",
    ),
    "a cell of an unknown set": (
        {"cells": lambda *asked: [*cells(*asked), Scaled("three", 1, 0)]},
        "not asked for",
    ),
    "a cell of another seed": ({"cells": lambda *asked: [*cells(*asked), Scaled("one", 1, 7)]}, "not asked for"),
    "a cell twice": ({"cells": lambda *asked: cells(*asked) * 2}, "same run twice"),
    "no cell of a set": ({"cells": lambda sets, seeds: cells(sets[:1], seeds)}, "no run for some of the data sets"),
    "no cells": ({"cells": lambda *asked: []}, "no run for some of the data sets"),
    "a report that needs another key": ({"report": fails}, "loss"),
}


def test_a_wrong_table_is_refused_before_anything_is_run(table, ran, file):
    for case in WRONG_CELLS:
        fields, message = WRONG_CELLS[case]
        with pytest.raises((TypeError, ValueError, KeyError), match=message):
            table(file, **fields)
        assert ran == [] and not file.exists()


def test_a_report_that_cannot_show_the_stored_rows_is_refused_before_anything_is_run(table, ran, file):
    table(file, ["one"])
    ran.clear()
    with pytest.raises(KeyError, match="loss"):
        table(file, report=lambda rows_of: str([row["loss"] for row in rows_of]))
    assert ran == []


def test_a_run_with_wrong_keys_is_not_stored(table, file):
    for measured, message in [
        ({"accuracy": 0.5}, 'a run must record "loss", and does not'),
        ({"loss": 1, "accuracy": 0.5, "scale": 2}, 'a run records "scale", which is of its cell'),
    ]:
        with pytest.raises(ValueError, match=message):
            table(file, keys=("accuracy", "loss"), run=lambda *_, found=measured: found)
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


def test_numbers_that_are_none():
    for text in ["a", "", "0;1"]:
        with pytest.raises(InputError, match="are no numbers; write --seeds 0,1,2"):
            numbers(text, ",", "--seeds 0,1,2")


def test_numbers_between_signs():
    assert numbers("1,2, 3", ",", "") == [1, 2, 3]
    assert numbers("0.5,1e4", ",", "", float) == [0.5, 10000]
    with pytest.raises(InputError, match=r"'1\.5' are no numbers; write --seeds 1"):
        numbers("1.5", ",", "--seeds 1")


TOLD = "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t\t: avx2\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 7B13\n"


def test_the_processor_is_named_as_the_system_does(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    file.write_text(TOLD)
    monkeypatch.setattr(devices, "CPU_INFO", file)
    assert processor_name() == "AMD EPYC 7B13"


@pytest.mark.parametrize("text", [None, "processor\t: 0\nHardware\t: BCM2835\n"])
def test_a_processor_without_a_name_has_its_architecture(tmp_path, monkeypatch, text):
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(devices, "CPU_INFO", file)
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert processor_name() == platform.machine() != ""
