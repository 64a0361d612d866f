"""`salience reproduce --merge`: runs of another machine are added, each once, and nothing is run."""

import json
from dataclasses import replace

import pytest
from test_bad_input import refused

from salience.papers.ssmix import METHODS
from salience.papers.tables import TABLES


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Nothing is trained, and no data set is read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("salience.papers.table.SOURCES", {})
    table = TABLES["ssmix-table2"]()
    made = []

    def run(cell, data_dir):
        made.append(cell.method)
        return {"accuracy": 0.5, "text_passes": 1.0}

    made_up = replace(table, run=run)
    monkeypatch.setitem(TABLES, "ssmix-table2", lambda: made_up)
    return made


def line(method: str, accuracy: float, seed: int = 0) -> str:
    cell = {"set": "rte", "method": method, "rows": 500, "seed": seed, "model": "minilm"}
    return json.dumps(cell | {"accuracy": accuracy, "text_passes": 1.0})


def test_runs_are_added_once_and_none_is_made(place, salience, tmp_path):
    (tmp_path / "one.jsonl").write_text(line("SSMix", 0.7) + "\n" + line("TMix", 0.6) + "\n")
    (tmp_path / "two.jsonl").write_text(line("TMix", 0.9) + "\n" + line("TMix", 0.8, seed=1) + "\n")
    asked = ("reproduce", "ssmix-table2", "--sets", "rte", "--results", "all.jsonl")
    answer = salience(*asked, "--merge", "one.jsonl", "--merge", "two.jsonl")
    assert answer.code == 0, answer.err
    assert "one.jsonl: 2 runs added to all.jsonl" in answer.out
    assert "two.jsonl: 1 run added to all.jsonl" in answer.out  # TMix with seed 0 is known
    kept = [json.loads(row) for row in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [(row["method"], row["seed"], row["accuracy"]) for row in kept] == [
        ("SSMix", 0, 0.7), ("TMix", 0, 0.6), ("TMix", 1, 0.8)
    ]  # fmt: skip
    assert place == []
    assert "| SSMix | 70.00 (67.2) |" in answer.out
    lacking = [name for name in METHODS if name not in ("SSMix", "TMix")]
    said = answer.out.splitlines()
    place_of = said.index(f"all.jsonl lacks {len(lacking)} of {len(METHODS)} runs")
    assert said[place_of + 1 :] == [f"set rte, method {name}, rows 500, seed 0, model minilm" for name in lacking]
    whole = (tmp_path / "all.jsonl").read_text()
    assert salience(*asked, "--merge", "one.jsonl").code == 0
    assert (tmp_path / "all.jsonl").read_text() == whole


def test_what_is_no_results_file_is_refused(place, salience, tmp_path):
    refused(
        salience("reproduce", "ssmix-table2", "--merge", "none.jsonl"), "--merge none.jsonl: there is no such file"
    )
    (tmp_path / "other.jsonl").write_text('{"set": "rte", "seed": 0}\n')
    refused(salience("reproduce", "ssmix-table2", "--merge", "other.jsonl"), "line 1 is not a result of this table")
    (tmp_path / "right.jsonl").write_text(line("SSMix", 0.7) + "\n")
    asked = ("reproduce", "ssmix-table2", "--merge", "right.jsonl")
    refused(salience(*asked, "--sets", "ret"), 'unknown data set of ssmix-table2: "ret"')
    refused(salience(*asked, "--part", "1/2"), "--part has no effect with --merge, which runs nothing: leave out one")
    refused(salience(*asked, "--jobs", "2"), "--jobs has no effect with --merge")
    assert place == [] and not (tmp_path / "results").exists()


def test_runs_of_another_table_are_not_added(place, salience, tmp_path):
    (tmp_path / "mixed.jsonl").write_text(line("SSMix", 0.7) + "\n" + line("DropMix-G", 0.7) + "\n")
    said = 'mixed.jsonl: line 2 is a run of another table, whose method is "DropMix-G": name another file'
    refused(salience("reproduce", "ssmix-table2", "--merge", "mixed.jsonl", "--results", "all.jsonl"), said)
    refused(salience("reproduce", "ssmix-table2", "--sets", "rte", "--results", "mixed.jsonl"), said)
    assert place == [] and not (tmp_path / "all.jsonl").exists()


def test_a_whole_table_lacks_nothing(place, salience, tmp_path):
    (tmp_path / "one.jsonl").write_text("".join(line(name, 0.7) + "\n" for name in METHODS))
    answer = salience("reproduce", "ssmix-table2", "--sets", "rte", "--results", "all.jsonl", "--merge", "one.jsonl")
    assert answer.out.splitlines()[-1] == f"all.jsonl lacks 0 of {len(METHODS)} runs" and place == []
