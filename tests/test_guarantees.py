"""Every promise of docs/guarantees.md names the test that holds it, and the test is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
PROMISES = [line for table in re.findall(r"\| promise \| held by \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
            for line in table.splitlines()]  # fmt: skip


@pytest.mark.parametrize(("file", "test"), NAMED, ids=lambda part: part or "whole file")
def test_the_test_is_there(file, test):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {test}\(" if test else "^def test_", text, re.MULTILINE)


def test_every_promise_names_a_test():
    assert len(PROMISES) > 30
    for line in PROMISES:
        assert "`tests/" in line.split("|")[2], line
