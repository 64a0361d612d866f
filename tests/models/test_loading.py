"""Models by name: the embedded one checked before it is trusted, folders of every family, and what is refused."""

import json
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file

import families
from salience.errors import InputError
from salience.models import loading as embedded
from salience.models.loading import EMBEDDED, embedded_folder, load_classifier, load_trained, longest_text
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.options import AttentionOptions


def test_the_embedded_model_is_the_upstream_file():
    model, tokenizer = load_classifier("minilm", ["a", "b", "c"])
    config = model.config
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == (6, 12, 384)
    assert config.id2label == {0: "a", 1: "b", 2: "c"}
    assert config.problem_type == "single_label_classification"
    assert longest_text(model, tokenizer) == 512
    assert EMBEDDED["minilm"].sha256.startswith("53aa5117")


def test_a_changed_package_is_not_loaded(tmp_path, monkeypatch):
    package = tmp_path / "fake_minilm"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model" / "model.safetensors").write_bytes(b"evil")
    monkeypatch.syspath_prepend(tmp_path)
    model = embedded.Embedded("fake_minilm", "model", "owner/name", EMBEDDED["minilm"].sha256, "salience[offline]")
    monkeypatch.setitem(EMBEDDED, "fake", model)
    with pytest.raises(InputError, match=r"model\.safetensors is not the upstream file and is not loaded: SHA-256"):
        load_classifier("fake", ["a", "b"])


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(
        EMBEDDED, "absent", embedded.Embedded("no_such_package", "model", "owner/name", "", "salience[offline]")
    )
    with pytest.raises(InputError, match=r"pip install 'salience\[offline\]'"):
        embedded_folder("absent")


@pytest.mark.parametrize("family", families.FAMILIES)
def test_every_family_loads_from_a_folder_with_a_fresh_head(family, tmp_path):
    families.save_tiny_model(tmp_path, ["a good film", "a bad film"], family=family, classes=2)
    model, tokenizer = load_classifier(str(tmp_path), list("vwxyz"))
    longest = longest_text(model, tokenizer)
    encoded = tokenizer(["good " * 100, "bad"], truncation=True, max_length=longest, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert model(**encoded).logits.shape == (2, 5)
    assert encoded["input_ids"].shape[1] == longest
    assert tokenizer.padding_side == "right"


def test_pickled_weights_are_not_loaded(tmp_path):
    families.save_tiny_model(tmp_path, ["a"])
    model, _ = load_trained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match="cannot load the model"):
        load_trained(tmp_path)


def test_code_of_a_model_is_not_run(tmp_path):
    families.save_tiny_model(tmp_path, ["a"])
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(
        config.replace(
            '"model_type": "bert"',
            '"model_type": "own", "auto_map": {"AutoConfig": "evil.Config", '
            '"AutoModelForSequenceClassification": "evil.Model"}',
        )
    )
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'was-here')!r}, 'w')\n")
    for load in (partial(load_classifier, labels=["a", "b"]), load_trained):
        with pytest.raises(InputError, match="cannot load the model"):
            load(str(tmp_path))
    assert not (tmp_path / "was-here").exists()


def test_half_a_precision_is_loaded_in_full(tmp_path):
    """The weights as they are stored, but what is computed with them is not rounded again."""
    families.save_tiny_model(tmp_path / "full", ["a good film", "a bad film"], classes=2)
    stored, tokenizer = load_trained(tmp_path / "full")
    stored.bfloat16().save_pretrained(tmp_path / "half")
    tokenizer.save_pretrained(tmp_path / "half")
    for model, _ in (load_trained(tmp_path / "half"), load_classifier(str(tmp_path / "half"), ["a", "b"])):
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
        word = model.get_input_embeddings().weight
        assert torch.equal(word, stored.get_input_embeddings().weight.float())
    model, _ = build_attention_classifier(AttentionOptions(str(tmp_path / "half"), "dot"), ["a", "b"], ["a"])
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}


def test_an_encoder_without_a_head_is_no_trained_classifier():
    with pytest.raises(InputError, match="holds no trained classifier"):
        load_trained("minilm")


def test_a_trained_model_is_read_at_the_length_it_was_trained_on(tmp_path):
    families.save_tiny_model(tmp_path, ["a good film", "a bad film"], classes=2)
    model, tokenizer = load_classifier(str(tmp_path), ["a", "b"])
    tokenizer.model_max_length = longest_text(model, tokenizer, 6)
    assert tokenizer.model_max_length == 6
    model.save_pretrained(tmp_path / "trained")
    tokenizer.save_pretrained(tmp_path / "trained")
    model, tokenizer = load_trained(tmp_path / "trained")
    assert longest_text(model, tokenizer) == 6
    assert longest_text(model, tokenizer, 9) == 9  # what is asked for goes before
    assert longest_text(model, tokenizer, 10**6) == model.config.max_position_embeddings
    assert longest_text(model, tokenizer, 0) == 0  # which `encode_texts` refuses
    tokenizer.model_max_length = 10**30  # what transformers says where nothing is known
    model.config.max_position_embeddings = 10**4
    assert longest_text(model, tokenizer) == 512


def test_a_fresh_classifier_reads_512_tokens_unless_told_to(tmp_path):
    families.save_tiny_model(tmp_path, ["a good film", "a bad film"], classes=2, longest=2000)
    model, tokenizer = load_classifier(str(tmp_path), ["a", "b"])
    model.config.max_position_embeddings = 2000
    assert longest_text(model, tokenizer) == 512
    assert longest_text(model, tokenizer, 1500) == 1500


def damaged(folder, damage):
    """A tiny trained classifier whose file of weights was damaged."""
    families.save_tiny_model(folder, ["a good film", "a bad film"], classes=2)
    file = folder / "model.safetensors"
    damage(file)
    return folder


def cut(file):
    file.write_bytes(file.read_bytes()[:-1000])


def cut_in_its_head(file):
    file.write_bytes(file.read_bytes()[:100])


def emptied(file):
    file.write_bytes(b"")


def of_another_shape(file):
    weights = load_file(file)
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    save_file(weights | {name: torch.zeros(7, 3)}, file, {"format": "pt"})


def of_another_model(file):
    save_file({"something.weight": torch.zeros(7, 3)}, file, {"format": "pt"})


LOADERS = {
    "trained": load_trained,
    "fresh": partial(load_classifier, labels=["a", "b", "c"]),
    "encoder": lambda folder: build_attention_classifier(AttentionOptions(str(folder), "dot"), ["a", "b"], ["a"]),
}


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("damage", [cut, cut_in_its_head, emptied, of_another_shape, of_another_model])
def test_weights_that_do_not_fit_are_one_line(damage, load, tmp_path):
    with pytest.raises(InputError) as caught:
        LOADERS[load](str(damaged(tmp_path, damage)))
    assert "cannot load the model" in str(caught.value) or "holds no trained classifier" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    "setting",
    [{"hidden_size": "wide"}, {"hidden_size": -1}, {"num_hidden_layers": None}, {"num_attention_heads": 0},
     {"hidden_size": 10**12}, {"model_type": ["bert"]}, {"hidden_act": "none"}, {"vocab_size": 2.5},
     {"id2label": 3}, {"max_position_embeddings": {}}],
    ids=str,
)  # fmt: skip
def test_a_strange_configuration_is_one_line(setting, load, tmp_path):
    families.save_tiny_model(tmp_path, ["a good film", "a bad film"], classes=2)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | setting))
    try:
        LOADERS[load](str(tmp_path))
    except InputError as error:
        assert "\n" not in str(error)
