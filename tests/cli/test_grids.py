"""`--jobs` and `--part` of `salience compare` and `salience reproduce`: the same results, whoever makes the runs."""

import json
import os
import re
import shutil
import signal
import time

import pytest

from jobs.made_up import made_up
from labelled import started, untimed
from salience.files import files_in
from salience.papers.tables import TABLES

pytestmark = pytest.mark.whole  # it trains real models, or many of them

METHODS = ["plain", "embedmix"]


@pytest.fixture
def command(place):
    """The arguments of a comparison of two methods and two seeds."""

    def arguments(output, *options, steps=3):
        return ["compare", place.data, "--test", place.test, "--model", place.model, "--methods", ",".join(METHODS),
                "--seeds", "0,1", "--steps", steps, "--device", "cpu", "--references", "none", "--output", output,
                *options]  # fmt: skip

    return arguments


def content(folder) -> dict:
    """Every file of a comparison, without what differs between machines and moments."""
    return untimed(folder, without=("seconds", "machine"))


@pytest.fixture(scope="module")
def one_process(place, tmp_path_factory):
    """The comparison as one process makes it."""
    from salience.cli.main import main

    output = tmp_path_factory.mktemp("one") / "out"
    options = ["--methods", ",".join(METHODS), "--seeds", "0,1", "--steps", "3", "--device", "cpu"]
    options += ["--references", "none"]
    assert main(["compare", str(place.data), "--test", str(place.test), "--model", str(place.model),
                 "--output", str(output), *options]) == 0  # fmt: skip
    return output


def same(folder, expected) -> bool:
    """Whether two comparisons are equal. The manifest has the checksum of metrics.json, which has seconds in it."""
    one, other = (
        {name: value for name, value in content(place).items() if not name.endswith("manifest.json")}
        for place in (folder, expected)
    )
    return one == other and set(files_in(folder)) == set(files_in(expected))


@pytest.mark.whole
def test_two_processes_come_to_the_same(command, one_process, salience, tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(2), raising=False)
    answer = salience(*command(tmp_path / "out", "--jobs", "2"))
    assert answer.code == 0, answer.err
    for method in METHODS:
        for seed in (0, 1):
            assert len(re.findall(rf"^{method}, seed {seed}: accuracy 0\.\d+$", answer.out, re.M)) == 1
    assert "difference to plain" in answer.out
    assert same(tmp_path / "out", one_process)
    metrics = [json.loads((tmp_path / "out" / f"plain-{seed}" / "metrics.json").read_text()) for seed in (0, 1)]
    assert {run["machine"]["threads"] for run in metrics} == {1}


@pytest.mark.parametrize("by", ["option", pytest.param("array", marks=pytest.mark.whole)])
def test_parts_make_the_whole(by, command, one_process, salience, tmp_path, monkeypatch):
    """The parts are named, or come from the tasks 1 to 3 of a Slurm array."""
    for part in (1, 2, 3):
        if by == "array":
            for name, value in {"ID": part, "MIN": 1, "MAX": 3, "COUNT": 3, "STEP": 1}.items():
                monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(value))
        answer = salience(*command(tmp_path / "out", *(["--part", f"{part}/3"] if by == "option" else [])))
        assert (f"part {part} of 3: task {part} of a Slurm array" in answer.out) == (by == "array")
        assert answer.code == 0, answer.err
        assert ("left to other parts" in answer.out) == (part < 3)
        assert (tmp_path / "out" / "comparison.json").exists() == (part == 3)
    assert same(tmp_path / "out", one_process)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_a_run_that_fails_is_recorded_and_the_rest_goes_on(jobs, command, salience, tmp_path, place):
    """Marked by hand: a folder in the way of one run."""
    out = tmp_path / "out"
    work = out / ".embedmix-0.partial"
    work.mkdir(parents=True)
    (work / "notes.txt").write_text("mine")
    answer = salience(*command(out, "--jobs", str(jobs)))
    assert answer.code == 2 and answer.err.count("\n") == 1
    assert "1 of 4 runs failed; embedmix, seed 0: " in answer.err and "failures.jsonl" in answer.err
    assert sorted(path.name for path in out.glob("*-?")) == ["embedmix-1", "plain-0", "plain-1"]
    (row,) = map(json.loads, (out / "failures.jsonl").read_text().splitlines())
    assert row["run"] == "embedmix, seed 0" and "is in the way and was not written" in row["error"]
    assert not (out / "comparison.json").exists()
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    shutil.rmtree(work)
    answer = salience(*command(out, "--jobs", str(jobs)))
    assert answer.code == 0, answer.err
    assert all(path.stat().st_mtime_ns == moment for path, moment in before.items())
    assert not (out / "failures.jsonl").exists() and (out / "comparison.json").exists()


@pytest.mark.whole
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
def test_a_killed_comparison_is_continued(how, command, salience, tmp_path):
    out = tmp_path / "out"
    whole = command(tmp_path / "whole", "--jobs", "2", steps=40)
    assert salience(*whole).code == 0
    process = started(*command(out, "--jobs", "2", steps=40), log=tmp_path / "log")
    end = time.monotonic() + 300
    while not list(out.glob(".*.partial/checkpoints")):
        assert time.monotonic() < end and process.is_alive(), (tmp_path / "log").read_text()
        time.sleep(0.02)
    os.kill(process.pid, how)
    process.join(60)
    assert process.exitcode == (-9 if how == signal.SIGKILL else 130)
    assert not (out / "comparison.json").exists()
    answer = salience(*command(out, "--jobs", "2", steps=40))
    assert answer.code == 0, answer.err
    assert same(out, tmp_path / "whole")
    assert [path for path in out.iterdir() if path.name.startswith(".")] == []


@pytest.mark.whole
def test_two_commands_share_the_runs(command, one_process, tmp_path):
    processes = [started(*command(tmp_path / "out"), log=tmp_path / f"{number}.log") for number in (1, 2)]
    for process in processes:
        process.join(120)
    logs = [(tmp_path / f"{number}.log").read_text() for number in (1, 2)]
    assert [process.exitcode for process in processes] == [0, 0], logs
    assert same(tmp_path / "out", one_process)
    assert all(log.count(": accuracy") == 4 for log in logs)


@pytest.fixture
def table(monkeypatch):
    """A table whose cells take no time, as one of the catalogue."""
    monkeypatch.setitem(TABLES, "made-up", made_up)


@pytest.mark.whole
def test_a_table_is_run_by_two_processes(table, salience, tmp_path):
    def rows(file):
        lines = map(json.loads, file.read_text().splitlines())
        return sorted((row["set"], row["seed"], row["accuracy"]) for row in lines)

    asked = ["reproduce", "made-up", "--seeds", "0,1,2", "--results"]
    two, one = tmp_path / "two.jsonl", tmp_path / "one.jsonl"
    answers = [salience(*asked, two, "--jobs", "2"), salience(*asked, one)]
    assert [answer.code for answer in answers] == [0, 0], answers
    assert rows(two) == rows(one) and len(rows(two)) == 6
    assert sorted(answers[0].out.splitlines()) == sorted(answers[1].out.splitlines())
    assert "set two, seed 2: 52.0" in answers[0].out and answers[0].out.endswith("two 2 0.52\n")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_a_cell_that_fails_is_recorded_and_the_rest_goes_on(jobs, table, salience, tmp_path):
    answer = salience("reproduce", "made-up", "--seeds", "12,13,14", "--results", tmp_path / "table.jsonl", "--jobs",
                      jobs)  # fmt: skip
    assert answer.code == 2 and "2 of 6 runs failed" in answer.err and "table.failures.jsonl" in answer.err
    assert "one 12 0.62\none 14 0.64\ntwo 12 0.62\ntwo 14 0.64\n" in answer.out  # the table of what there is
    failures = [json.loads(line) for line in (tmp_path / "table.failures.jsonl").read_text().splitlines()]
    assert sorted(row["run"] for row in failures) == ["set one, seed 13", "set two, seed 13"]
    assert {row["error"] for row in failures} == {"ValueError: an unlucky seed"}
    assert all("in run" in row["traceback"] for row in failures)
