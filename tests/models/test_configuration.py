"""A model's configuration is somebody else's file: nothing that it names is fetched or run."""

import json
from functools import partial

import pytest
import transformers.integrations.hub_kernels
import transformers.modeling_utils

import families
from salience.errors import InputError
from salience.models.loading import load_classifier, load_trained
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.options import AttentionOptions

KERNELS = ["evil/kernel", "evil/kernel@main:attention", "kernels-community/flash-attn2", "flash_attention_2"]


@pytest.fixture
def called(monkeypatch):
    """The kernels that were asked for; nothing is fetched."""
    names = []

    def ask(name, *_, **__):
        names.append(name)
        raise AssertionError(f"the kernel loader was called with {name}")

    monkeypatch.setattr(transformers.integrations.hub_kernels, "get_kernel", ask)
    monkeypatch.setattr(transformers.modeling_utils, "lazy_import_flash_attention", ask)
    monkeypatch.setattr(transformers.modeling_utils, "is_kernels_available", lambda: True, raising=False)
    return names


def saved(folder, **settings):
    """A tiny trained classifier whose config.json also says this."""
    families.save_tiny_model(folder, ["a good film", "a bad film"], classes=2)
    return changed(folder, lambda config: config | settings)


def changed(folder, change):
    file = folder / "config.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    return folder


LOADERS = {
    "trained": load_trained,
    "fresh": partial(load_classifier, labels=["a", "b", "c"]),
    "encoder": lambda folder: build_attention_classifier(AttentionOptions(folder, "dot"), ["a", "b"], ["a"]),
}


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_of_the_hub_is_not_asked_for(kernel, key, load, called, tmp_path):
    model, _ = LOADERS[load](str(saved(tmp_path, **{key: kernel})))
    assert called == []
    assert model.config._attn_implementation in ("sdpa", "eager")


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_nor_for_the_encoder_inside_an_attention_classifier(key, called, tmp_path):
    families.save_tiny_model(tmp_path / "encoder", ["a good film", "a bad film"], classes=2)
    model, tokenizer = LOADERS["encoder"](str(tmp_path / "encoder"))
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    changed(
        tmp_path / "model", lambda config: config | {"encoder_config": config["encoder_config"] | {key: KERNELS[0]}}
    )
    model, _ = load_trained(tmp_path / "model")
    assert called == []
    assert model.encoder.config._attn_implementation in ("sdpa", "eager")


def test_the_loader_would_be_called_otherwise(called, tmp_path):
    """That the tests above can fail: transformers by itself asks for the kernel."""
    saved(tmp_path, attn_implementation=KERNELS[0])
    with pytest.raises(AssertionError, match="was called"):
        transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_an_implementation_of_transformers_itself_is_kept(implementation, tmp_path):
    model, _ = load_trained(saved(tmp_path, attn_implementation=implementation))
    assert model.config._attn_implementation == implementation


@pytest.mark.parametrize("load", LOADERS)
def test_quantised_weights_are_refused(load, tmp_path):
    saved(tmp_path, quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]})
    with pytest.raises(InputError, match=r"cannot load the model .* its weights are quantised"):
        LOADERS[load](str(tmp_path))


def test_code_of_a_nested_encoder_is_not_run(tmp_path, monkeypatch):
    families.save_tiny_model(tmp_path / "encoder", ["a good film", "a bad film"], classes=2)
    model, tokenizer = LOADERS["encoder"](str(tmp_path / "encoder"))
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")

    def fetched(reference, *_, **__):
        raise AssertionError(f"{reference} was fetched")

    def asked(*_):
        raise AssertionError("the user was asked whether to run code")

    monkeypatch.setattr("transformers.models.auto.auto_factory.get_class_from_dynamic_module", fetched)
    monkeypatch.setattr("builtins.input", asked)
    # A type of model that AutoModel does not know, so that only the remote code could make one.
    remote = {"model_type": "vision-encoder-decoder", "auto_map": {"AutoModel": "evil/repo--evil.Model"},
              "encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert"}, "hidden_size": 16,
              "vocab_size": 20}  # fmt: skip
    changed(tmp_path / "model", lambda config: config | {"encoder_config": remote})
    with pytest.raises(InputError, match="cannot load the model"):
        load_trained(tmp_path / "model")
