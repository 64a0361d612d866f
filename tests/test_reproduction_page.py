"""docs/reproduction.md shows what results/ holds."""

import json
from collections.abc import Callable
from pathlib import Path
from runpy import run_path

import pytest

from salience.reproduce import TABLES

HERE = Path(__file__).parents[1]
PAGE = (HERE / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
OF_STUDIES = {"faithful-training": "faithful_training.py"}  # results that a script of bench/ prints
RUN = sorted(file.stem for file in (HERE / "results").glob("*.jsonl") if file.stem in {*TABLES, *OF_STUDIES})


def report_of(table: str) -> Callable[[list[dict]], str]:
    """What prints the rows of a results file: the command's table, or a script."""
    if table in OF_STUDIES:
        return run_path(str(HERE / "bench" / OF_STUDIES[table]))["report"]
    return TABLES[table]().report


def printed(table: str) -> list[str]:
    """What the command prints from what is kept, line by line."""
    rows = [json.loads(line) for line in (HERE / "results" / f"{table}.jsonl").read_text("utf-8").splitlines()]
    return report_of(table)(rows).splitlines()


def tables(page: list[str]) -> list[list[str]]:
    """Lines that stand together."""
    blocks = [[]]
    for line in page:
        if line.startswith("|"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def test_results_of_every_study_are_checked():
    assert set(OF_STUDIES) <= set(RUN)


@pytest.mark.parametrize("table", RUN)
def test_every_line_of_a_table_is_on_the_page_as_the_command_prints_it(table):
    lines = [line for line in printed(table) if line.startswith("|")]
    assert len(lines) > 2
    assert [line for line in lines if line not in PAGE] == []


def test_every_line_of_a_table_on_the_page_is_one_that_a_command_prints():
    """No line of earlier results is left."""
    known = {line for table in RUN for line in printed(table)}
    assert tables(PAGE)
    assert [line for block in tables(PAGE) for line in block if line not in known] == []


def test_how_many_cells_are_near_the_papers_is_as_counted():
    counted = sorted(f"{line}." for line in printed("uaftc-table2") if "within" in line)
    assert len(counted) >= 3
    assert sorted(line for line in PAGE if line.startswith("scale 10 and larger")) == counted


@pytest.mark.parametrize("table", RUN)
def test_the_page_names_the_command_of_a_table(table):
    assert [line for line in PAGE if line.startswith(f"    salience reproduce {table} ")]
