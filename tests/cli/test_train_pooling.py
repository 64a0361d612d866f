"""`salience train --set pooling=mean`: a plain checkpoint, and every command with it."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import yaml
from test_bad_input import refused
from test_resume import finish, kill, start, wait_for, weights  # noqa: F401  `start` is a fixture

import salience as package
from labelled import labelled_rows
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


def test_training_changes_nothing_of_the_attention_of_the_pooling_layer(pooled):
    attention = package.load(pooled, device="cpu").model.bert.encoder.layer[-1].attention.self
    assert not attention.query.weight.any()
    assert torch.equal(attention.value.weight, torch.eye(len(attention.value.weight)))


@pytest.mark.whole
def test_every_command_works_with_such_a_run(pooled, place, salience, tmp_path):
    assert salience("predict", pooled, place.test, "--output", tmp_path / "predicted.csv").code == 0
    answer = salience("explain", pooled, "--text", TEXTS[0], "--explainer", "gradient,attention,cls-attention")
    assert answer.code == 0, answer.err
    answer = salience("explain", pooled, "--text", TEXTS[0], "--explainer", "pooling-attention")
    refused(answer, "mean pooling weights all tokens alike")
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
def test_a_run_is_repeated_by_its_recipe_and_trained_further(pooled, place, salience, tmp_path):
    recipe = read_recipe(pooled / "recipe.yaml")
    assert recipe["pooling"] == "mean"
    answer = salience("train", "--config", pooled / "recipe.yaml", "--output", tmp_path / "again")
    assert answer.code == 0, answer.err
    files = [folder / "model.safetensors" for folder in (pooled, tmp_path / "again")]
    assert files[0].read_bytes() == files[1].read_bytes()
    answer = salience(*place.train("--output", tmp_path / "further", *QUICK, "--model", pooled))
    assert answer.code == 0, answer.err
    config = json.loads((tmp_path / "further" / "config.json").read_text())
    assert (config["pooling_layer"], config["num_hidden_layers"]) == ("mean", 3)


@pytest.mark.whole
def test_a_killed_run_ends_with_the_same_weights(place, start, tmp_path):  # noqa: F811
    """The optimiser has more groups of weights, and a part of the model is not trained."""
    options = ("--steps", "36", "--set", "evaluations=12", "--set", "patience=12", "--set", "pooling=mean")
    finish(start(*place.train("--output", tmp_path / "whole", *options)))
    process = start(*place.train("--output", tmp_path / "run", *options))
    checkpoints = tmp_path / ".run.partial" / "checkpoints"
    wait_for((checkpoints / "checkpoint-15" / "trainer_state.json").exists, process)
    kill(process)
    finish(start(*place.train("--output", tmp_path / "run", *options, "--resume")))
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")


def test_auto_is_settled_in_the_recipe(place, salience, tmp_path):
    answer = salience(*place.train("--output", tmp_path / "run", *QUICK, "--set", "pooling=auto"))
    assert answer.code == 0, answer.err
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())
    assert recipe["pooling"] == "cls"  # the tiny model has no files of sentence-transformers


def test_what_has_no_such_pooling_is_refused(place, salience, tmp_path):
    answer = salience(*place.train("--output", tmp_path / "run", "--model", "attention:dot", "--set", "pooling=mean"))
    refused(answer, "pooling=mean: attention:dot has a pooling of its own")
    answer = salience(*place.train("--output", tmp_path / "run", "--set", "pooling=meen"))
    refused(answer, 'unknown --set pooling "meen"')
