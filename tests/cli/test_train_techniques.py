"""`salience train` with some of the layers, a contrastive loss, another dropout: runs and refusals."""

import json

import pytest
import torch
import yaml
from safetensors.torch import load_file
from test_bad_input import refused
from test_resume import weights

TECHNIQUES = {
    "trained_layers": ("--trained-layers", "1"),
    "contrastive": ("--set", "contrastive=0.5", "--set", "contrastive_temperature=0.1"),
    "dropout": ("--set", "dropout=0.4"),
}
ALL_ROWS = ("--method", "plain", "--set", "validation_share=0", "--estimate", "none", "--set", "pooling=mean",
            "--learning-rate", "0.003", "--steps", "12", "--set", "head_start=random", "--set",
            "contrastive=0")  # fmt: skip


def trained(place, salience, folder, *options):
    answer = salience(*place.train("--output", folder, *ALL_ROWS, *options))
    assert answer.code == 0, answer.err
    return folder


@pytest.mark.whole
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_each_technique_trains_another_model_and_is_in_its_recipe(precision, place, salience, tmp_path):
    plain = trained(place, salience, tmp_path / "plain", "--precision", precision)
    before = json.loads((plain / "metrics.json").read_text())["text_passes"]
    for name, options in TECHNIQUES.items():
        folder = trained(place, salience, tmp_path / name, "--precision", precision, *options)
        assert weights(folder) != weights(plain)
        assert str(yaml.safe_load((folder / "recipe.yaml").read_text())[name]) in options[1]
        passes = json.loads((folder / "metrics.json").read_text())["text_passes"]
        # Of three layers, one of them the pooling layer, one passes each of the 60 texts once.
        spent = before * 2 / 3 + 60 / 9 if name == "trained_layers" else before
        assert passes == pytest.approx(spent, abs=1e-3)


def test_frozen_weights_are_those_of_the_pretrained_model(place, salience, tmp_path):
    found = load_file(trained(place, salience, tmp_path / "run", "--trained-layers", "1") / "model.safetensors")
    for name, weight in load_file(place.model / "model.safetensors").items():
        if name.startswith("bert.embeddings.") or ".layer." in name:
            frozen = name.startswith(("bert.embeddings.", "bert.encoder.layer.0."))
            assert torch.equal(weight, found[name]) is frozen, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "plain", "--set", "contrastive=1"), "--set contrastive is 1: give a number from 0 to 0.99"),
        (("--model", "lstm-vat", "--method", "plain", "--trained-layers", "1"), "which has no trained_layers"),
        (("--model", "attention:dot", "--set", "dropout=0.2"), "set it with --set-model dropout=0.2"),
        (("--trained-layers", "3"), "--trained-layers 3: the encoder has 2 layers"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(options, message, place, salience, tmp_path):
    refused(salience(*place.train("--output", tmp_path / "run", *options)), message)
    assert not (tmp_path / "run").exists()
