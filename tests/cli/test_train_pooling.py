"""`salience train` with a pooling over tokens: a plain checkpoint or modules, and every command with both."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import yaml
from test_bad_input import refused
from test_resume import finish, kill, start, wait_for, weights  # noqa: F401  `start` is a fixture

import families
import salience as package
from labelled import FILLER, WORDS, labelled_rows
from salience.cli.main import main
from salience.runs.folder import read_recipe

TEXTS = [text for text, _ in labelled_rows(12, seed=3)]
QUICK = ("--steps", "40", "--set", "evaluations=2", "--learning-rate", "0.01", "--method", "tmix", "--precision",
         "fp32")  # fmt: skip


@pytest.fixture(scope="session")
def pooled(place):
    folder = place.folder / "pooled"
    assert main(place.train("--test", place.test, "--output", folder, *QUICK, "--set", "pooling=mean")) == 0
    return folder


@pytest.fixture(scope="session")
def modules(place):
    """A run on an encoder for the mean, whose architecture has no plain checkpoint with it."""
    encoder = families.save_tiny_model(
        place.folder / "encoder", [*WORDS.values(), " ".join(FILLER)], "mpnet", classes=5
    )
    (encoder / "1_Pooling").mkdir()
    (encoder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    folder = place.folder / "modules"
    options = ("--steps", "40", "--set", "evaluations=2", "--precision", "fp32", "--model", encoder)
    assert main(place.train("--test", place.test, "--output", folder, *options)) == 0
    return folder


@pytest.mark.whole
def test_a_run_as_modules(modules, salience):
    """Settings are those of mean pooling; the folder is read back, and sent, with all of its modules."""
    recipe = read_recipe(modules / "recipe.yaml")
    assert (recipe["pooling"], recipe["head_start"], recipe["method"]) == ("mean", "logistic", "senmixup")
    classifier = package.load(modules, device="cpu", precision="fp32")
    with np.load(modules / "probabilities.npz") as stored:
        texts = [json.loads(line)["text"] for line in (modules / "predictions.jsonl").read_text().splitlines()]
        np.testing.assert_allclose(classifier.predict_proba(texts), stored["probabilities"], atol=1e-5)
    card = (modules / "README.md").read_text()
    assert "library_name: sentence-transformers" in card and "SentenceTransformer(" in card
    answer = salience("push", modules, "me/texts", "--dry-run")
    for name in ("modules.json", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"):
        assert f"{name} (" in answer.err


@pytest.mark.whole
def test_transformers_alone_gives_the_same_probabilities(pooled):
    """A process that cannot import salience."""
    script = (
        "import sys, json; sys.modules['salience'] = None\n"
        "from transformers import pipeline\n"
        f"classify = pipeline('text-classification', model={str(pooled)!r}, top_k=None, device='cpu')\n"
        "results = classify(json.load(sys.stdin))\n"
        "names = sorted(entry['label'] for entry in results[0])\n"
        "scores = [{entry['label']: entry['score'] for entry in result} for result in results]\n"
        "print(json.dumps([[row[name] for name in names] for row in scores]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(TEXTS), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    classifier = package.load(pooled, device="cpu", precision="fp32")
    assert classifier.labels == sorted(classifier.labels)
    assert type(classifier.model).__name__ == "BertForSequenceClassification"
    np.testing.assert_allclose(json.loads(done.stdout.splitlines()[-1]), classifier.predict_proba(TEXTS), atol=1e-5)
    assert np.ptp(classifier.predict_proba(TEXTS), axis=0).max() > 1e-3


@pytest.mark.whole
def test_training_changes_nothing_of_the_attention_of_the_pooling_layer(pooled):
    attention = package.load(pooled, device="cpu").model.bert.encoder.layer[-1].attention.self
    assert not attention.query.weight.any()
    assert torch.equal(attention.value.weight, torch.eye(len(attention.value.weight)))


@pytest.mark.whole
@pytest.mark.parametrize("name", ["pooled", "modules"])
def test_every_command_works_with_such_a_run(name, request, place, salience, tmp_path):
    pooled = request.getfixturevalue(name)
    assert salience("predict", pooled, place.test, "--output", tmp_path / "predicted.csv").code == 0
    answer = salience("explain", pooled, "--text", TEXTS[0], "--explainer", "gradient,attention,cls-attention")
    assert answer.code == 0, answer.err
    answer = salience("explain", pooled, "--text", TEXTS[0], "--explainer", "pooling-attention")
    refused(answer, "mean pooling weights all tokens alike" if name == "pooled" else "has no attention pooling")
    answer = salience("faithfulness", pooled, place.test, "--output", tmp_path / "tested", "--metrics", "aopc")
    assert answer.code == 0, answer.err
    tested = (tmp_path / "tested" / "faithfulness.json").read_text()
    assert '"occlusion"' in tested and '"pooling-attention"' not in tested
    for options in ([], ["--int8", "--accept"]):
        exported = tmp_path / f"onnx{len(options)}"
        answer = salience("export", pooled, "--output", exported, *options)
        assert answer.code == 0, answer.err
        expected = package.load(pooled, device="cpu").predict_proba(TEXTS)
        tolerance = 0.1 if options else 1e-5
        np.testing.assert_allclose(package.load(exported).predict_proba(TEXTS), expected, atol=tolerance)


@pytest.mark.whole
@pytest.mark.parametrize("name", ["pooled", "modules"])
def test_a_run_is_repeated_by_its_recipe_and_trained_further(name, request, place, salience, tmp_path):
    pooled = request.getfixturevalue(name)
    recipe = read_recipe(pooled / "recipe.yaml")
    assert recipe["pooling"] == "mean"
    answer = salience("train", "--config", pooled / "recipe.yaml", "--output", tmp_path / "again")
    assert answer.code == 0, answer.err
    files = [folder / "model.safetensors" for folder in (pooled, tmp_path / "again")]
    assert files[0].read_bytes() == files[1].read_bytes()
    answer = salience(*place.train("--output", tmp_path / "further", *QUICK, "--model", pooled))
    assert answer.code == 0, answer.err
    config = json.loads((tmp_path / "further" / "config.json").read_text())
    layers = {"pooled": ("mean", 3), "modules": (None, 2)}[name]
    assert (config.get("pooling_layer"), config["num_hidden_layers"]) == layers


@pytest.mark.whole
@pytest.mark.parametrize("name", ["pooled", "modules"])
def test_a_killed_run_ends_with_the_same_weights(name, modules, place, start, tmp_path):  # noqa: F811
    """The optimiser has more groups of weights, and a part of the model is not trained."""
    options = ("--steps", "36", "--set", "evaluations=12", "--set", "patience=12", "--set", "pooling=mean")
    options += ("--model", place.folder / "encoder") if name == "modules" else ()
    finish(start(*place.train("--output", tmp_path / "whole", *options)))
    process = start(*place.train("--output", tmp_path / "run", *options))
    checkpoints = tmp_path / ".run.partial" / "checkpoints"
    wait_for((checkpoints / "checkpoint-15" / "trainer_state.json").exists, process)
    kill(process)
    finish(start(*place.train("--output", tmp_path / "run", *options, "--resume")))
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")


def test_auto_is_settled_in_the_recipe(place, salience, tmp_path):
    answer = salience(*place.train("--output", tmp_path / "run", *QUICK, "--steps", "1", "--set", "pooling=auto"))
    assert answer.code == 0, answer.err
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())
    assert recipe["pooling"] == "cls"  # the tiny model has no files of sentence-transformers


def test_what_has_no_such_pooling_is_refused(place, salience, tmp_path):
    answer = salience(*place.train("--output", tmp_path / "run", "--model", "attention:dot", "--set", "pooling=mean"))
    refused(answer, "pooling=mean: attention:dot has a pooling of its own")
    answer = salience(*place.train("--output", tmp_path / "run", "--set", "pooling=meen"))
    refused(answer, 'unknown --set pooling "meen"')
