"""Models by name: the embedded one checked before it is trusted, folders of every family, and what is refused."""

from functools import partial

import pytest
import torch

import families
from salience.errors import InputError
from salience.models import embedded
from salience.models.attention_models import AttentionOptions, build_attention_classifier
from salience.models.embedded import EMBEDDED, check_hash, embedded_folder
from salience.models.loading import load_classifier, load_trained, longest_text


def test_the_embedded_model_is_the_upstream_file():
    model, tokenizer = load_classifier("minilm", ["a", "b", "c"])
    config = model.config
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == (6, 12, 384)
    assert config.id2label == {0: "a", 1: "b", 2: "c"}
    assert config.problem_type == "single_label_classification"
    assert longest_text(model, tokenizer) == 512
    assert EMBEDDED["minilm"].sha256.startswith("53aa5117")


def test_weights_that_are_not_the_upstream_file_are_refused_by_name(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"something else")
    with pytest.raises(InputError, match="is not the upstream file and is not loaded: SHA-256"):
        check_hash(file, EMBEDDED["minilm"].sha256)


def test_a_changed_package_is_not_loaded(tmp_path, monkeypatch):
    package = tmp_path / "fake_minilm"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model" / "model.safetensors").write_bytes(b"evil")
    monkeypatch.syspath_prepend(tmp_path)
    model = embedded.Embedded("fake_minilm", "model", EMBEDDED["minilm"].sha256, "salience[offline]")
    monkeypatch.setitem(EMBEDDED, "fake", model)
    with pytest.raises(InputError, match="is not the upstream file"):
        load_classifier("fake", ["a", "b"])


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(EMBEDDED, "absent", embedded.Embedded("no_such_package", "model", "", "salience[offline]"))
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
