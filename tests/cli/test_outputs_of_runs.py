"""What a run may replace, what it never touches, and that no two processes work on one run."""

import hashlib
import json
import os
import shutil
import stat
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from test_bad_input import refused

import salience.runs.folder
from labelled import labelled_rows, started, write_csv


@pytest.fixture
def train(place, salience):
    """Trains for two steps."""
    return lambda output, *options, **more: salience(
        *place.train("--test", place.test, "--estimate", "none", "--output", output, "--steps", "2", *options, **more)
    )


def state(folder) -> dict[str, str]:
    """Every file and folder below a folder, hidden ones too, with the hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in folder.rglob("*")
    }


# ------------------------------------------------------------------------------------------------ what is not replaced


def project(folder) -> None:
    """Somebody's project, which happens to have files of our names."""
    folder.mkdir()
    (folder / "recipe.yaml").write_text("flour: 500 g\n")
    (folder / "manifest.json").write_text('{"files": ["recipe.yaml", "thesis.tex"]}')
    (folder / "thesis.tex").write_text("ten years of work")


def test_a_folder_of_something_else_is_not_replaced(train, tmp_path):
    project(tmp_path / "run")
    before = state(tmp_path)
    refused(train(tmp_path / "run", "--overwrite"), "is not a run of salience", "choose another --output")
    assert state(tmp_path) == before


def test_a_run_with_a_file_of_the_user_is_not_replaced(train, tmp_path):
    assert train(tmp_path / "run").code == 0
    (tmp_path / "run" / "notes").mkdir()
    (tmp_path / "run" / "notes" / "errors.md").write_text("mine")
    before = state(tmp_path)
    refused(train(tmp_path / "run", "--overwrite"), 'salience did not write "notes/errors.md"')
    assert state(tmp_path) == before


def test_a_run_is_replaced(train, tmp_path):
    assert train(tmp_path / "run").code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(manifest["files"]) == state(tmp_path / "run").keys()
    assert train(tmp_path / "run", "--overwrite", "--seed", "1").code == 0
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["seed"] == 1
    assert os.listdir(tmp_path) == ["run"]


def test_what_a_run_reads_is_not_replaced_by_it(train, tmp_path):
    run = tmp_path / "run"
    assert train(run).code == 0
    before = state(tmp_path)
    for option in ("data", "--test", "--validation", "--config", "--model"):
        file = {"--config": run / "recipe.yaml", "--model": run}.get(option, run / "predictions.jsonl")
        options = {"data": file} if option == "data" else {}
        named = "the training data" if option == "data" else option
        chosen = [] if option == "data" else [option, file]
        refused(train(run, "--overwrite", *chosen, **options), f"contains {file}, which {named} reads")
        assert state(tmp_path) == before, option


def test_a_hidden_folder_of_something_else_is_not_deleted(train, tmp_path):
    (tmp_path / ".run.partial").mkdir()
    (tmp_path / ".run.partial" / "diary.txt").write_text("mine")
    before = state(tmp_path)
    for options in ([], ["--overwrite"], ["--resume"]):
        refused(train(tmp_path / "run", *options), ".run.partial is in the way")
        assert state(tmp_path) == before


def test_a_comparison_replaces_no_file_of_something_else(salience, place, tmp_path):
    (tmp_path / "comparison.json").write_text('{"apples": "pears"}')
    answer = salience("compare", place.data, "--test", place.test, "--model", place.model, "--output", tmp_path)
    refused(answer, "comparison.json was not written by a comparison")
    assert state(tmp_path).keys() == {"comparison.json"}


def test_a_comparison_replaces_no_report_of_something_else(salience, place, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    answer = salience("compare", place.data, "--test", place.test, "--model", place.model, "--output", tmp_path)
    refused(answer, "report.html is there without comparison.json and is not replaced")
    assert state(tmp_path).keys() == {"report.html"}


# ----------------------------------------------------------------------------------------- what can never be published


def test_places_that_cannot_be_written_are_known_before_anything_is_trained(train, tmp_path, monkeypatch):
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for output, said in {
        ".": "cannot be replaced by a run",
        "..": "cannot be replaced by a run",
        "/proc": "cannot be replaced by a run",  # a mount point
        "/sys/run": "choose another place",
        tmp_path / "dangling": "is a broken link",
        tmp_path / ("x" * 250): "is too long: choose a shorter --output",
    }.items():
        refused(train(output, "--overwrite"), said)
        refused(train(output, "--overwrite", data=tmp_path / "gone.csv"), "gone.csv: no such file")
        refused(train(output, "--overwrite", "--validation", tmp_path / "lost.csv"), "lost.csv: no such file")
    assert {path.name for path in tmp_path.iterdir()} == {"dangling", "here"}


def test_a_link_as_output_stays_a_link(train, tmp_path):
    (tmp_path / "disk").mkdir()
    assert train(tmp_path / "disk" / "run").code == 0
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "run")
    refused(train(tmp_path / "link"), "link exists")
    assert train(tmp_path / "link", "--overwrite", "--seed", "5").code == 0
    assert (tmp_path / "link").is_symlink()
    assert yaml.safe_load((tmp_path / "disk" / "run" / "recipe.yaml").read_text())["seed"] == 5
    assert sorted(os.listdir(tmp_path)) == ["disk", "link"] and os.listdir(tmp_path / "disk") == ["run"]


@pytest.mark.parametrize("mask", [0o002, 0o077])
def test_files_follow_the_mask(train, tmp_path, mask):
    before = os.umask(mask)
    try:
        assert train(tmp_path / "run").code == 0
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").iterdir()}
    assert modes == dict.fromkeys(modes, 0o666 & ~mask) and "model.safetensors" in modes


def test_folders_that_were_made_for_nothing_are_removed(train, tmp_path):
    refused(train(tmp_path / "runs" / "deep" / "run", data=tmp_path / "no such file.csv"), "no such file")
    assert not os.listdir(tmp_path)


# ---------------------------------------------------------------------------------------------- two at once, and kills


@pytest.mark.whole
def test_a_run_that_another_process_works_on_is_left_alone(train, place, tmp_path):
    log, output = tmp_path / "log", tmp_path / "runs" / "run"
    process = started(*place.train("--output", output, "--steps", "400", "--set", "evaluations=20"), log=log)
    while not (output.parent / ".run.partial" / "recipe.yaml").exists():
        assert process.is_alive(), log.read_text()
        time.sleep(0.002)
    for options in ([], ["--resume"], ["--overwrite"], ["--resume", "--overwrite"]):
        refused(train(output, *options), "runs/run is being written by another process")
    assert process.is_alive(), log.read_text()
    process.kill()
    process.join()
    refused(train(output), "an interrupted run")  # its process is dead, so nothing holds it any longer
    assert train(output, "--overwrite").code == 0
    assert os.listdir(output.parent) == ["run"]


@pytest.mark.parametrize(
    "options", [["--overwrite"], pytest.param(["--resume", "--overwrite"], marks=pytest.mark.whole)]
)
def test_a_kill_while_an_older_run_is_replaced(options, train, tmp_path, monkeypatch):
    """The older one stands under its name again at once, and the new one replaces it when it is done."""
    output, system = tmp_path / "run", os.replace
    assert train(output).code == 0
    older = state(output)

    def killed(source, target):
        if str(target) == str(output):
            raise KeyboardInterrupt
        system(source, target)

    monkeypatch.setattr(salience.runs.folder.os, "replace", killed)
    train(output, "--overwrite", "--seed", "1")
    assert not output.exists()
    monkeypatch.undo()

    refused(train(output), "run exists")
    assert state(output) == older
    assert train(output, "--seed", "1", *options).code == 0
    assert yaml.safe_load((output / "recipe.yaml").read_text())["seed"] == 1
    assert os.listdir(tmp_path) == ["run"]


def killed_at(name: str):
    """Stands for `shutil.rmtree` in a process that is killed when it comes to a folder of this name."""
    system = shutil.rmtree

    def rmtree(folder, **options):
        if Path(folder).name == name:
            raise KeyboardInterrupt
        system(folder, **options)

    return rmtree


def test_a_kill_while_the_working_folder_is_removed(train, tmp_path, monkeypatch):
    """The run is there already; what is left of the working folder is known for a run's."""

    monkeypatch.setattr(shutil, "rmtree", killed_at("checkpoints"))
    train(tmp_path / "run")
    monkeypatch.undo()
    before = state(tmp_path / "run")
    assert (tmp_path / ".run.partial" / "recipe.yaml").exists()
    refused(train(tmp_path / "run"), "run exists")
    assert state(tmp_path / "run") == before
    assert train(tmp_path / "run", "--overwrite").code == 0
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.whole
def test_a_comparison_removes_what_a_killed_run_left(salience, place, tmp_path, monkeypatch):
    compare = ["compare", place.data, "--test", place.test, "--methods", "plain,ssmix", "--model", place.model,
               "--steps", "2", "--device", "cpu", "--seeds", "0,1", "--references", "none",
               "--no-heat-maps", "--output", tmp_path / "out"]  # fmt: skip
    monkeypatch.setattr(shutil, "rmtree", killed_at("checkpoints"))
    salience(*compare)
    monkeypatch.undo()
    assert (tmp_path / "out" / ".plain-0.partial" / "checkpoints").exists()
    (tmp_path / "out" / ".comparison.json.0123abcd.unfinished").write_text("{")  # as a kill leaves it
    answer = salience(*compare)
    assert answer.code == 0, answer.err
    runs = {"plain-0", "plain-1", "ssmix-0", "ssmix-1"}
    assert set(os.listdir(tmp_path / "out")) == {
        "comparison.json", "grid.json", "results.csv", "classes.csv", "report.html", "report.md", *runs
    }  # fmt: skip
    kept = {"manifest.json", "metrics.json", "predictions.jsonl", "probabilities.npz", "recipe.yaml"}
    assert all(set(os.listdir(tmp_path / "out" / run)) == kept for run in runs)


# ---------------------------------------------------------------------------------------------- data that have changed


@pytest.fixture
def data(tmp_path):
    return {
        role: write_csv(tmp_path / f"{role}.csv", labelled_rows(rows, seed))
        for role, rows, seed in [("train", 60, 0), ("validation", 15, 1), ("test", 15, 2)]
    }


@pytest.mark.parametrize(
    "role", ["train", *(pytest.param(role, marks=pytest.mark.whole) for role in ("validation", "test"))]
)
def test_data_that_changed_since_a_kill_are_noticed(role, data, train, tmp_path, monkeypatch):
    options = ["--validation", data["validation"], "--test", data["test"]]

    def killed(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(salience.runs.folder, "write_manifest", killed)
    train(tmp_path / "run", *options, data=data["train"])
    monkeypatch.undo()
    write_csv(data[role], labelled_rows(24, seed=7))
    answer = train(tmp_path / "run", "--resume", *options, data=data["train"])
    refused(answer, f"{data[role]} changed after the interrupted run had begun", "--overwrite")
    assert not (tmp_path / "run").exists()


def test_data_that_changed_since_a_recipe_was_written_are_noticed(data, train, salience, tmp_path):
    assert train(tmp_path / "run", data=data["train"]).code == 0
    again = ["train", "--config", tmp_path / "run" / "recipe.yaml", "--output", tmp_path / "again"]
    assert salience(*again).code == 0
    assert len({state(tmp_path / name)["model.safetensors"] for name in ("run", "again")}) == 1
    write_csv(data["train"], labelled_rows(24, seed=7))
    refused(salience(*again, "--overwrite"), f"{data['train']} has changed since the recipe was written")
    other = ["train", data["validation"], *again[1:-1], tmp_path / "other"]  # other data may well be trained on
    assert salience(*other).code == 0


@pytest.mark.whole
def test_data_that_changed_between_two_comparisons_are_noticed(data, place, salience, tmp_path):
    compare = ["compare", data["train"], "--test", data["test"], "--model", place.model, "--steps", "2", "--device",
               "cpu", "--seeds", "0,1", "--output", tmp_path / "out"]  # fmt: skip
    assert salience(*compare).code == 0
    write_csv(data["test"], labelled_rows(24, seed=7))
    refused(salience(*compare), f"{data['test']} changed after", "plain-0 had been run")


@pytest.mark.whole
@pytest.mark.parametrize("option", [["--steps", "2"], ["--text", "text"]])
def test_an_option_that_is_left_out_the_second_time(option, place, salience, tmp_path):
    """A kept run is taken up if its settings are those that follow now, however they were given."""
    compare = ["compare", place.data, "--test", place.test, "--model", place.model, "--device", "cpu", "--seeds",
               "0,1", "--methods", "plain,embedmix", "--output", tmp_path / "out"]  # fmt: skip
    config = tmp_path / "config.yaml"
    config.write_text("batch_size: 30\nevaluations: 1\npatience: 1\n")
    assert salience(*compare, "--config", config, "--steps", "2", *option).code == 0
    answer = salience(*compare, "--config", config, *(["--steps", "2"] if option[0] == "--text" else []))
    if option[0] == "--text":
        assert answer.code == 0, answer.err
    else:
        refused(answer, "plain-0 was run with steps=2, not", "choose another --output")


@pytest.mark.whole
@pytest.mark.parametrize("damage", ["metrics.json", "probabilities.npz", "recipe.yaml", "fewer rows"])
def test_damaged_files_of_a_comparison(damage, place, salience, tmp_path):
    compare = ["compare", place.data, "--test", place.test, "--methods", "plain,ssmix", "--model", place.model,
               "--steps", "2", "--device", "cpu", "--seeds", "0,1", "--references", "none",
               "--output", tmp_path / "out"]  # fmt: skip
    assert salience(*compare).code == 0
    file = tmp_path / "out" / "plain-1" / ("probabilities.npz" if damage == "fewer rows" else damage)
    if damage == "fewer rows":
        with np.load(file) as arrays:
            np.savez(file, **{name: array[:-1] for name, array in arrays.items()})
    else:
        file.write_bytes(file.read_bytes()[:37] + b"\0")
    refused(salience(*compare), "plain-1", "is damaged")
