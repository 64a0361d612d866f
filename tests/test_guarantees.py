"""Every promise of docs/concepts/guarantees.md names the tests that hold it, which are there, and the page says what
runs them: `make test`, `make test-all` where all of them are `whole`, or "both" where some are.

`python tests/test_guarantees.py` writes the last column anew.
"""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "concepts" / "guarantees.md"
ROW = re.compile(r"^\| (?P<promise>.+?) \| (?P<tests>`tests/[^|]*) \|(?: (?P<run>[^|]*) \|)?$", re.MULTILINE)
NAME = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@cache
def marked_in(file: str) -> dict[str, bool]:
    """The tests of a file, and whether each is whole."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    marks = [ast.unparse(node.value) for node in tree.body
             if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"]  # fmt: skip
    everything = any("pytest.mark.whole" in mark for mark in marks)
    return {
        node.name: everything or any(ast.unparse(each) == "pytest.mark.whole" for each in node.decorator_list)
        for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }  # fmt: skip


def run_by(tests: str) -> str:
    """What runs the tests that a row names."""
    found = set()
    for file, test in NAME.findall(tests):
        whole = marked_in(file)
        found.add(whole[test] if test else all(whole.values()))
    return "both" if len(found) > 1 else "`make test-all`" if True in found else "`make test`"


def test_every_promise_names_tests_that_are_there():
    page = PAGE.read_text(encoding="utf-8")
    promises = re.findall(r"^\| promise \| held by \| run by \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert len(ROW.findall(page)) == sum(table.count("\n") for table in promises) > 30
    missing = [
        f"{file}::{test}" for file, test in NAME.findall(page)
        if not (ROOT / file).is_file() or (test and test not in marked_in(file)) or not marked_in(file)
    ]  # fmt: skip
    assert missing == []


def test_the_page_says_what_runs_them():
    rows = [row.groupdict() for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    assert [(row["promise"], row["run"]) for row in rows] == [(row["promise"], run_by(row["tests"])) for row in rows]


if __name__ == "__main__":
    PAGE.write_text(
        ROW.sub(
            lambda row: f"| {row['promise']} | {row['tests']} | {run_by(row['tests'])} |", PAGE.read_text("utf-8")
        ),
        encoding="utf-8",
    )
