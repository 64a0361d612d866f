"""A run that is killed at any point and started again with --resume ends as one that was never killed."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time

import pytest

from labelled import labelled_rows, started, write_csv
from salience.training.callbacks import last_checkpoint


def arguments(place, output, *options):
    """A run of a few seconds with a dozen checkpoints, dropout, and two pieces a step."""
    return place.train("--output", output, "--steps", "36", "--set", "evaluations=12", "--set", "patience=12",
                       "--set", "validation_share=0.2", "--set", "accumulation=2", *options)  # fmt: skip


def weights(folder) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture
def start(tmp_path_factory):
    """Starts a command; what it has said is read where it fails."""
    log = tmp_path_factory.mktemp("said") / "log"

    def run(*arguments):
        process = started(*arguments, log=log)
        process.said = log
        return process

    return run


def finish(process) -> None:
    process.join(300)
    assert process.exitcode == 0, process.said.read_text()


def kill(process) -> None:
    process.kill()
    process.join()


@pytest.fixture(scope="module")
def untroubled(place):
    """The weights and scores of a run that nobody killed, in a process that was not forked either."""
    folder = place.folder / "untroubled"
    command = [sys.executable, "-m", "salience", *map(str, arguments(place, folder))]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    return weights(folder), json.loads((folder / "metrics.json").read_text())


def wait_for(condition, process) -> None:
    while not condition():
        assert process.is_alive(), process.said.read_text()
        time.sleep(0.002)


@pytest.mark.whole
@pytest.mark.parametrize("moment", ["before the first checkpoint", "while a checkpoint is written", "between two"])
def test_a_killed_run_ends_with_the_same_weights(moment, place, start, untroubled, tmp_path):
    output, work = tmp_path / "run", tmp_path / ".run.partial"
    process = start(*arguments(place, output))
    checkpoints = work / "checkpoints"
    if moment == "before the first checkpoint":
        wait_for((work / "recipe.yaml").exists, process)
    elif moment == "while a checkpoint is written":
        wait_for((checkpoints / "checkpoint-12" / "model.safetensors").exists, process)
    else:
        wait_for((checkpoints / "checkpoint-15" / "trainer_state.json").exists, process)
        time.sleep(random.random() / 20)
    kill(process)
    assert not output.exists()

    process = start(*arguments(place, output, "--resume"))
    time.sleep(0.1)
    finish(process)
    expected, metrics = untroubled
    assert weights(output) == expected
    found = json.loads((output / "metrics.json").read_text())
    assert {name: found[name] for name in ("validation", "steps", "best_step")} == {
        name: metrics[name] for name in ("validation", "steps", "best_step")
    }
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.whole
def test_a_run_killed_many_times_ends_with_the_same_weights(place, start, untroubled, tmp_path):
    """Wherever it happens to be: while it starts, trains, evaluates, saves, or writes the folder."""
    output, work = tmp_path / "run", tmp_path / ".run.partial"
    draw = random.Random(0)
    goes_on = []
    for _ in range(4):
        process = start(*arguments(place, output, *goes_on))
        wait_for(lambda process=process: work.exists() or output.exists(), process)
        time.sleep(draw.uniform(0.3, 2.0))
        kill(process)
        goes_on = ["--resume"]
        if output.exists():
            break
    if not output.exists():
        finish(start(*arguments(place, output, "--resume")))
    assert weights(output) == untroubled[0]


@pytest.mark.whole
def test_a_run_killed_after_early_stopping_does_not_train_on(place, start, tmp_path, salience):
    """On wrong labels, what is learnt makes validation worse, so training stops after `patience` more looks."""
    wrong = {"sport": "music", "music": "food", "food": "sport"}
    validation = write_csv(tmp_path / "wrong.csv", [(text, wrong[label]) for text, label in labelled_rows(30, seed=2)])
    options = ["--validation", validation, "--learning-rate", "0.02", "--steps", "60", "--set", "evaluations=12"]
    options += ["--set", "patience=2"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert salience(*place.train("--output", whole, *options)).code == 0
    stopped = json.loads((whole / "metrics.json").read_text())
    assert stopped["steps"] < 60

    process = start(*place.train("--output", killed, *options))
    last = tmp_path / ".killed.partial" / "checkpoints" / f"checkpoint-{stopped['steps']}" / "trainer_state.json"
    wait_for(lambda: last.exists() or killed.exists(), process)
    kill(process)
    if not killed.exists():  # it may have been quicker than we
        assert salience(*place.train("--output", killed, *options, "--resume")).code == 0
    assert weights(killed) == weights(whole)
    assert json.loads((killed / "metrics.json").read_text())["steps"] == stopped["steps"]


def test_without_resume_an_interrupted_run_is_not_touched(place, start, tmp_path, salience):
    output, work = tmp_path / "run", tmp_path / ".run.partial"
    process = start(*arguments(place, output))
    wait_for((work / "recipe.yaml").exists, process)
    kill(process)
    again = salience(*arguments(place, output))
    assert again.code == 2
    assert "interrupted run" in again.err and "--resume" in again.err
    other = salience(*arguments(place, output, "--resume", "--seed", "3"))
    assert other.code == 2
    assert "seed=0, not 3" in other.err
    assert (work / "recipe.yaml").exists()
    assert salience(*arguments(place, output, "--overwrite", "--steps", "2")).code == 0
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_half_a_checkpoint_is_not_one(tmp_path):
    for step, state in ((2, '{"global_step": 2}'), (10, '{"global_st')):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoint-12").mkdir()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    assert not (tmp_path / "checkpoint-12").exists()
