"""`salience demo-data`: the rows of examples/, in a folder of the user's."""

import csv
from collections import Counter
from pathlib import Path

import pytest
from test_bad_input import refused

from salience.cli import demo_data

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("there", [False, True], ids=["new", "empty"])
def test_the_rows_of_the_examples_are_written(salience, tmp_path, there):
    folder = tmp_path / "a" / "banking"
    if there:
        folder.mkdir(parents=True)
    answer = salience("demo-data", folder)
    assert (answer.code, answer.err) == (0, "")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        file.name: file.read_bytes() for file in EXAMPLES.iterdir()
    }
    assert len(list(folder.parent.iterdir())) == 1


def test_what_it_says_of_the_rows_is_so(salience, tmp_path):
    lines = salience("demo-data", tmp_path / "banking").out.splitlines()
    labels = []
    for line in lines[:2]:
        name, _, content = line.partition(": ")
        with open(name, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert content.startswith(f"{len(rows)} rows to ")
        labels.append(Counter(row["category"] for row in rows))
    assert labels[0].keys() == labels[1].keys() and set(labels[0].values()) == {20}
    assert "CC BY 4.0" in Path(lines[2].partition(": ")[0]).read_text(encoding="utf-8")
    assert f"{labels[0].total() + labels[1].total()} questions" in salience("demo-data", "--help").out
    assert len(labels[0]) == 10


def test_files_of_the_user_are_not_replaced(salience, tmp_path):
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    refused(salience("demo-data", tmp_path), "has files in it already: name another folder")
    refused(salience("demo-data", tmp_path / "README.md"), "is a file, where a folder is needed")
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ["mine"]


def test_an_installed_package_has_the_rows_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "salience"
    monkeypatch.setattr(demo_data, "__file__", str(package / "cli" / "demo_data.py"))
    (package / "examples").mkdir(parents=True)
    assert demo_data.examples_folder() == package / "examples"
