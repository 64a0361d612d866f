"""Settings from the command line, a yaml file and the environment: what they do, and how they are refused."""

import csv
import json
import os

import pytest
import torch
import yaml
from test_bad_input import refused
from transformers import AutoTokenizer, PreTrainedModel, pipeline

from labelled import labelled_rows, write_csv
from salience.errors import InputError
from salience.settings import read_yaml
from salience.training import callbacks as resuming

# ------------------------------------------------------------------------------------------ length of texts


@pytest.fixture(scope="module")
def short(place, tmp_path_factory):
    """A run that read six tokens of each text, whose class is in the first words and contradicted by the rest."""
    from salience.cli.main import main

    folder = tmp_path_factory.mktemp("short")
    words = {"food": "soup bread", "music": "song band"}
    other = {"food": "music", "music": "food"}
    rows = [(f"{words[label]} the a " + f"{words[other[label]]} " * 8, label) for label in list(words) * 20]
    data = write_csv(folder / "data.csv", rows)
    options = ["--max-length", "6", "--learning-rate", "0.02", "--steps", "60", "--method", "plain", "--test", data]
    assert main([*place.train(*map(str, options), data=data), "--output", str(folder / "run")]) == 0
    return folder / "run", data


def test_predict_reads_what_training_read(short, salience):
    folder, data = short
    assert json.loads((folder / "metrics.json").read_text())["test"]["accuracy"] == 1.0
    rows = list(csv.DictReader(salience("predict", folder, data).out.splitlines()))
    assert all(row["predicted"] == row["label"] for row in rows)


def test_a_length_that_is_asked_for_goes_before(short, salience):
    folder, data = short
    found = [salience("predict", folder, data, *options).out for options in ([], ["--max-length", "6"],
                                                                            ["--max-length", "60"])]  # fmt: skip
    assert found[0] == found[1] != found[2]


def test_every_other_reader_reads_as_much(short, salience):
    from salience import SalienceClassifier

    folder, data = short
    texts = [row["text"] for row in csv.DictReader(data.open(encoding="utf-8"))]
    labels = [row["label"] for row in csv.DictReader(data.open(encoding="utf-8"))]
    assert AutoTokenizer.from_pretrained(folder).model_max_length == 6
    classify = pipeline("text-classification", model=str(folder), device="cpu", truncation=True)
    assert "truncation=True)" in (folder / "README.md").read_text()
    assert "truncates texts to 6 tokens" in (folder / "README.md").read_text()
    assert [found["label"] for found in classify(texts)] == labels
    assert SalienceClassifier.load(folder).predict(texts).tolist() == labels
    shown = salience("explain", folder, "--text", texts[0], "--device", "cpu")
    assert shown.code == 0 and labels[0] in shown.out


def test_the_estimator_saves_its_length(place, tmp_path):
    from salience import SalienceClassifier

    texts, labels = zip(*labelled_rows(12), strict=True)
    estimator = SalienceClassifier(model=str(place.model), method="plain", steps=1, max_length=7, device="cpu")
    estimator.fit(texts, labels).save(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).model_max_length == 7


# ------------------------------------------------------------------------------------------------------------- numbers


def test_a_learning_rate_of_0_learns_nothing(place, salience, tmp_path):
    done = salience(*place.train("--learning-rate", "0", "--output", tmp_path / "run"))
    assert done.code == 0, done.err
    assert "learning rate 0," in done.out
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["learning_rate"] == 0


@pytest.mark.parametrize("written", ["1e-4", pytest.param("+1.e-4", marks=pytest.mark.whole)])
def test_numbers_with_an_exponent_are_numbers(written, place, salience, tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text(f"data: {place.data}\nmodel: {place.model}\nlearning_rate: {written}\nsteps: 1e0\ndevice: cpu\n")
    done = salience("train", "--config", config, "--output", tmp_path / "run")
    assert done.code == 0, done.err
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())
    assert recipe["learning_rate"] == 1e-4 and recipe["steps"] == 1


def test_they_are_numbers_in_assignments_too(place, salience, tmp_path):
    assert salience(*place.train("--method", "ssmix:window=2e-1", "--output", tmp_path / "run")).code == 0
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["method_options"] == {"window": 0.2}


@pytest.mark.parametrize("text", ["1e-4x", "e5", "'1e-4'", "1e", "v1e4"])
def test_other_texts_stay_texts(text):
    assert isinstance(read_yaml(text, "x"), str)


# ---------------------------------------------------------------------------------------------------------------- yaml


def test_a_value_that_is_not_yaml(place, salience, tmp_path):
    for value in ("[0.2", "{", "2020-99-99", "!!python/name:os.system", "'", "[" * 1000, "a: b: c"):
        for option in ("--set", "--set-model"):
            answer = salience(*place.train(option, f"window={value}", "--output", tmp_path / "run"))
            refused(answer, f"{option} window=", "is not yaml")


STRANGE = ["true", "many", "[1, 2]", "{a: 1}", "{1: 2}", ".nan", ".inf", "-1", "1e400", "2020-01-01", "null",
           "[[1], [2]]", "{a: {b: 1}}", "&a [*a]", "''", "0.5", "99999999999999999999"]  # fmt: skip
NAMES = ["data", "model", "model_options", "method", "method_options", "class_weights", "procedure_options",
         "encoding", "text", "validation", "steps", "device"]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("method", "class_weights") else pytest.mark.whole) for name in NAMES],
)
def test_a_config_of_strange_values_is_refused_or_taken(name, place, salience, tmp_path, monkeypatch):
    def fail(*names, **settings):  # a word that is no file may be a data set on the hub, which is not asked here
        raise ConnectionError("no way there")

    monkeypatch.setattr("datasets.load_dataset", fail)
    config = tmp_path / "run.yaml"
    usual = {"data": str(place.data), "model": str(place.model), "steps": 1, "device": "cpu"}
    for number, value in enumerate(STRANGE):
        lines = [f"{key}: {json.dumps(text)}" for key, text in usual.items() if key != name]
        config.write_text("\n".join([*lines, f"{name}: {value}", ""]))
        answer = salience("train", "--config", config, "--output", tmp_path / f"run{number}")
        if answer.code:
            refused(answer)


def test_keys_that_are_no_names(salience, tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text("data: x\n1: 2\n")
    refused(salience("train", "--config", config), '"1" is no name of a setting')
    config.write_text("[1, 2]: 2\n")
    refused(salience("train", "--config", config), "is not yaml")


def test_an_error_of_yaml_is_no_longer_than_a_line(tmp_path):
    with pytest.raises(InputError) as caught:
        read_yaml("[" + "x, " * 1000, "--set x")
    assert len(str(caught.value)) < 400


# --------------------------------------------------------------------------------------------------------- environment


def test_rank_without_a_launcher_means_nothing(place, salience, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    done = salience(*place.train("--output", tmp_path / "run"))
    assert done.code == 0, done.err
    assert "saved:" in done.out
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE"])
def test_an_empty_variable_is_not_set(name, place, salience, tmp_path, monkeypatch):
    monkeypatch.setenv(name, "")
    done = salience(*place.train("--output", tmp_path / "run"))
    assert done.code == 0, done.err
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "LOCAL_RANK"])
def test_a_variable_that_is_no_number(name, place, salience, tmp_path, monkeypatch):
    if name == "RANK":
        monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv(name, "first")
    answer = salience(*place.train("--output", tmp_path / "run"))
    refused(answer, f'the environment variable {name} is "first", not a whole number')
    assert not (tmp_path / "run").exists()


def test_several_processes_without_a_launcher(place, salience, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    refused(
        salience(*place.train("--output", tmp_path / "run")), "WORLD_SIZE is 2, but RANK and LOCAL_RANK are not set"
    )


# ------------------------------------------------------------------------------------------------------------ training


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_bf16_trains_without_a_gpu(device, place, salience, tmp_path):
    done = salience(*place.train("--precision", "bf16", "--output", tmp_path / "run", "--device", device))
    assert done.code == 0, done.err
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.parametrize(("share", "steps"), [("0", "6"), ("0.2", "1")])
def test_a_loss_that_is_no_number_stops_training(steps, share, place, salience, tmp_path, monkeypatch):
    """Steps without limit: the second loss, or what the only step has made of the model."""
    monkeypatch.setattr("salience.settings.Setting.checked", lambda setting, value, *_: value)
    config = tmp_path / "config.yaml"  # options of the command line are checked as they are given
    config.write_text("learning_rate: 1e38")
    options = ["--config", config, "--set", f"validation_share={share}", "--method", "plain", "--steps", steps]
    answer = salience(*place.train("--output", tmp_path / "run", *options))
    refused(answer, "is not finite at step", f"of {steps}: lower --learning-rate, which is 1e+38")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "file",
    ["optimizer.pt", *(pytest.param(name, marks=pytest.mark.whole) for name in
                       ("scheduler.pt", "rng_state.pth", "model.safetensors"))],
)  # fmt: skip
def test_a_disk_that_fills_up_inside_a_checkpoint(file, place, salience, tmp_path, monkeypatch):
    """What is being written is left there in part, as on a full disk, and torch says what it says then."""
    undisturbed, output = tmp_path / "undisturbed", tmp_path / "run"
    assert salience(*place.train("--output", undisturbed)).code == 0
    monkeypatch.setattr(resuming, "SECONDS", 0)
    save, save_model, count = torch.save, PreTrainedModel.save_pretrained, 0

    def full(value, target, *rest, **named):
        nonlocal count
        if os.path.basename(str(target)) == file:
            count += 1
            if count == 2:
                with open(target, "wb") as part:
                    part.write(b"PK\x03\x04 half of it")
                return save(value, "/dev/full")
        return save(value, target, *rest, **named)

    def full_safetensors(self, *rest, **named):
        nonlocal count
        count += 1
        if count == 2:
            raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")
        return save_model(self, *rest, **named)

    if file == "model.safetensors":
        monkeypatch.setattr(PreTrainedModel, "save_pretrained", full_safetensors)
    else:
        monkeypatch.setattr(torch, "save", full)
    refused(salience(*place.train("--output", output)), "the disk is full", "--resume")
    assert not output.exists()
    monkeypatch.undo()
    done = salience(*place.train("--output", output, "--resume"))
    assert done.code == 0, done.err
    assert (output / "model.safetensors").read_bytes() == (undisturbed / "model.safetensors").read_bytes()
