"""docs/reproduction.md shows what results/ holds."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from salience.study import TABLES

HERE = Path(__file__).parents[1]
PAGE = (HERE / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
RUN = sorted(file.stem for file in (HERE / "results").glob("*.jsonl") if file.stem in TABLES)


@pytest.mark.parametrize("table", RUN)
def test_every_line_of_a_table_is_on_the_page_as_the_command_prints_it(table):
    rows = [json.loads(line) for line in (HERE / "results" / f"{table}.jsonl").read_text("utf-8").splitlines()]
    printed = [line for line in import_module(TABLES[table]).report(rows).splitlines() if line.startswith("|")]
    assert len(printed) > 2
    assert [line for line in printed if line not in PAGE] == []


@pytest.mark.parametrize("table", RUN)
def test_the_page_names_the_command_of_a_table(table):
    assert [line for line in PAGE if line.startswith(f"    salience reproduce {table} ")]
