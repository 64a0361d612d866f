"""Tables as values: what a declaration must have, and that every paper's table keeps to its own."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from salience.papers.table import Cell, Table, every_set_and_seed, first_seed_rows, sets_of
from salience.papers.tables import TABLES

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


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_declaration_is_refused(case):
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


@pytest.mark.parametrize("file", STORED)
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
