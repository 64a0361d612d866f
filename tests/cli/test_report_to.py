"""`--report-to`: the Trainer's own trackers are told the losses and scores of every run, under its name."""

import os
import struct
import sys
from pathlib import Path

import pytest
import yaml
from test_bad_input import refused
from transformers import TrainerCallback
from transformers.integrations import integration_utils

import salience.training.callbacks as trackers

METHODS = ["plain", "embedmix"]


@pytest.fixture
def arguments(place, tmp_path_factory):
    """A comparison whose runs evaluate themselves on validation rows."""
    config = tmp_path_factory.mktemp("config") / "held-out.yaml"
    config.write_text("validation_share: 0.2\n")

    def of_comparison(output, *options) -> list:
        return ["compare", place.data, "--config", config, "--test", place.test, "--model", place.model, "--methods",
                ",".join(METHODS), "--seeds", "0,1", "--steps", "4", "--device", "cpu", "--output", output,
                *options]  # fmt: skip

    return of_comparison


@pytest.fixture
def told(monkeypatch) -> list:
    """What a tracker in the place of mlflow's is told: name of the run, and names of the values."""
    found = []

    class Recorder(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **more):
            found.append((args.run_name, state.global_step, set(logs)))

    monkeypatch.setitem(integration_utils.INTEGRATION_TO_CALLBACK, "mlflow", Recorder)
    monkeypatch.setitem(integration_utils.INTEGRATION_TO_CALLBACK, "wandb", Recorder)
    monkeypatch.setattr(trackers, "find_spec", lambda name: name != "trackio")
    return found


def test_a_run_is_reported_under_its_name(place, told, salience, tmp_path):
    recipes = []
    for name, options in (("told", ["--report-to", "mlflow"]), ("untold", [])):
        answer = salience(
            *place.train("--test", place.test, "--set", "validation_share=0.2", "--output", tmp_path / name, *options)
        )
        assert answer.code == 0, answer.err
        recipes.append(yaml.safe_load((tmp_path / name / "recipe.yaml").read_text()))
    assert recipes[0] == recipes[1]
    assert {name for name, _, _ in told} == {"told"}
    assert {step for _, step, values in told if "loss" in values} == {2, 4, 6}
    assert {step for _, step, values in told if "eval_accuracy" in values} == {2, 4, 6}


@pytest.mark.whole
def test_every_run_of_a_comparison_is_one_run(arguments, told, salience, tmp_path, monkeypatch):
    """wandb goes on with the same run in one process unless it is told that the run has ended."""

    class Wandb:
        @staticmethod
        def finish():
            told.append(("finished", 0, set()))

    monkeypatch.setitem(sys.modules, "wandb", Wandb)
    answer = salience(*arguments(tmp_path / "out", "--report-to", "wandb"))
    assert answer.code == 0, answer.err
    names = [name for number, (name, _, _) in enumerate(told) if number == 0 or told[number - 1][0] != name]
    expected = [f"{method}-{seed}" for seed in (0, 1) for method in METHODS]
    assert names == [each for name in expected for each in (name, "finished")]


def scalars(folder: Path) -> dict[str, list[int]]:
    """Name of a value -> the steps at which it was written, from TensorBoard's files in a folder."""
    from tensorboardX.proto.event_pb2 import Event

    found: dict[str, list[int]] = {}
    for file in folder.iterdir():
        content, place = file.read_bytes(), 0
        while place < len(content):  # records: length (8 bytes), checksum (4), the event, checksum (4)
            (length,) = struct.unpack_from("<Q", content, place)
            event = Event.FromString(content[place + 12 : place + 12 + length])
            place += length + 16
            for value in event.summary.value:
                if value.WhichOneof("value") == "simple_value":
                    found.setdefault(value.tag, []).append(event.step)
    return found


@pytest.mark.whole
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_files_of_tensorboard(jobs, arguments, salience, tmp_path, monkeypatch):
    monkeypatch.delenv(trackers.PLACE, raising=False)
    out = tmp_path / "out"
    answer = salience(*arguments(out, "--report-to", "tensorboard", "--jobs", jobs, "--budget", "steps"))
    assert answer.code == 0, answer.err
    assert sorted(path.name for path in (out / "logs").iterdir()) == sorted(
        f"{m}-{s}" for m in METHODS for s in (0, 1)
    )
    for folder in (out / "logs").iterdir():
        found = scalars(folder)
        assert found["train/loss"] == found["eval/accuracy"] == [1, 2, 3, 4]
    assert not list((out / "plain-0").rglob("*events*")) and not list(out.glob(".*"))
    assert trackers.PLACE not in os.environ
    assert (
        salience(*arguments(out, "--report-to", "tensorboard", "--budget", "steps")).code == 0
    )  # nothing is left to make


def test_the_folder_of_tensorboard_may_be_set(place, salience, tmp_path, monkeypatch):
    monkeypatch.setenv(trackers.PLACE, str(tmp_path / "mine"))
    assert salience(*place.train("--output", tmp_path / "run", "--report-to", "tensorboard")).code == 0
    assert "train/loss" in scalars(tmp_path / "mine") and not (tmp_path / "logs").exists()


def test_trackers_that_are_not_there(place, arguments, told, salience, tmp_path):
    for asked in (place.train("--output", tmp_path / "run"), arguments(tmp_path / "out")):
        refused(salience(*asked, "--report-to", "mlflow,trackio"), "--report-to trackio needs the package trackio",
                "pip install trackio")  # fmt: skip
        refused(salience(*asked, "--report-to", "mlfow"), 'unknown --report-to "mlfow"', 'Did you mean "mlflow"?')
    assert list(tmp_path.iterdir()) == [] and told == []
