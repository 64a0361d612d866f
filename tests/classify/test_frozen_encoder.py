"""Vectors of a frozen encoder: against sentence-transformers, and against one text at a time."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

import families
from labelled import FILLER, WORDS, labelled_rows
from salience.classify.frozen_encoder import load_frozen, pooled_vectors
from salience.data.encoding import Encoded, encode_texts
from salience.errors import InputError
from salience.models.loading import EMBEDDED, model_source

TEXTS = [text for text, _ in labelled_rows(20)] + [" ".join(FILLER * 8), "a", "Soup!"]


@pytest.fixture(scope="module", params=["bert", "roberta", "distilbert", "modernbert"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    vocabulary = [*WORDS.values(), " ".join(FILLER)]
    return families.save_tiny_model(folder, vocabulary, request.param)


def slow_vectors(folder, frozen, texts, pairs=None) -> np.ndarray:
    """One text at a time, so without padding: the plain mean over all tokens."""
    encoder, rows = AutoModel.from_pretrained(folder).eval(), []
    for number, text in enumerate(texts):
        second = None if pairs is None else pairs[number]
        inputs = frozen.tokenizer(text, second, truncation=True, max_length=frozen.max_length, return_tensors="pt")
        with torch.no_grad():
            rows.append(encoder(**inputs).last_hidden_state[0].mean(0).numpy())
    return np.stack(rows)


def test_means_over_all_tokens_of_each_text(folder):
    frozen = load_frozen(str(folder), device="cpu", precision="fp32", max_length=32)
    expected = slow_vectors(folder, frozen, TEXTS)
    encoded = frozen.tokenizer(TEXTS, truncation=True, max_length=32)["input_ids"]
    assert max(map(len, encoded)) == 32  # the longest text is cut
    found = frozen.vectors(TEXTS)
    assert found.dtype == np.float32
    assert found == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-5)
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    of_pairs = slow_vectors(folder, frozen, TEXTS, TEXTS[::-1])
    assert frozen.vectors(pairs) == pytest.approx(of_pairs / np.linalg.norm(of_pairs, axis=1, keepdims=True), abs=1e-5)


def test_a_classifier_gives_the_vectors_of_its_encoder_and_keeps_its_mode():
    model, tokenizer = families.FAMILIES["bert"](dropout=0.3), families.tiny_tokenizer(TEXTS[:3])
    model.resize_token_embeddings(len(tokenizer))
    encoded = encode_texts(tokenizer, TEXTS, max_length=32)
    model.train()
    found = pooled_vectors(model, encoded, "fp32")
    assert model.training
    assert model.bert.training
    assert not torch.is_inference(next(model.parameters()))
    assert found == pytest.approx(pooled_vectors(model.bert, encoded, "fp32"))
    assert (pooled_vectors(model, encoded, "fp32") == found).all()  # no dropout


def test_bf16_is_close_and_another_computation():
    model, tokenizer = families.FAMILIES["bert"](spread=0.1), families.tiny_tokenizer(TEXTS[:3])
    model.resize_token_embeddings(len(tokenizer))
    encoded = encode_texts(tokenizer, TEXTS, max_length=32)
    exact, half = (pooled_vectors(model, encoded, precision) for precision in ("fp32", "bf16"))
    assert half.dtype == np.float32
    assert (half != exact).any()
    assert half == pytest.approx(exact, abs=0.05 * float(np.abs(exact).max()))


def test_a_model_over_words_has_vectors_too():
    model, own = families.attention_classifier(), families.batch([3, 5])
    lengths = own.attention_mask.sum(1).numpy()
    ids = own.input_ids[own.attention_mask.bool()].numpy()
    encoded = Encoded(ids, own.segment[own.attention_mask.bool()].numpy(), lengths)
    found = pooled_vectors(model, encoded)
    with torch.no_grad():
        states = model.base_model(input_ids=own.input_ids[:1, : lengths[0]]).last_hidden_state
    assert found[0] == pytest.approx(states[0].mean(0).numpy(), abs=1e-5)


def test_no_texts_have_no_vectors(folder):
    assert load_frozen(str(folder), device="cpu").vectors([]).shape == (0, 16)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_sentence_transformers_computes_the_same(pooling, folder, tmp_path):
    transformers = pytest.importorskip("sentence_transformers")
    folder = Path(shutil.copytree(folder, tmp_path / "encoder"))
    modules = {"": "Transformer", "1_Pooling": "Pooling"}
    (folder / "modules.json").write_text(json.dumps([
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(modules.items())
    ]))  # fmt: skip
    (folder / "1_Pooling").mkdir()
    settings = {"word_embedding_dimension": 16, "pooling_mode_cls_token": pooling == "cls",
                "pooling_mode_mean_tokens": pooling == "mean"}  # fmt: skip
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    theirs = transformers.SentenceTransformer(str(folder), device="cpu")
    theirs.max_seq_length = 32
    frozen = load_frozen(str(folder), device="cpu", precision="fp32", max_length=32)
    expected = theirs.encode(TEXTS, normalize_embeddings=True)
    assert frozen.vectors(TEXTS) == pytest.approx(expected, abs=1e-5)


@pytest.mark.whole
@pytest.mark.skipif(find_spec(EMBEDDED["minilm"].package) is None, reason="minilm is not installed")
def test_the_packaged_model_gives_the_vectors_of_its_own_library():
    transformers = pytest.importorskip("sentence_transformers")
    theirs = transformers.SentenceTransformer(model_source("minilm"), device="cpu")
    assert [type(module).__name__ for module in theirs] == ["Transformer", "Pooling", "Normalize"]
    frozen = load_frozen(device="cpu", precision="fp32", max_length=theirs.max_seq_length)
    assert frozen.vectors(TEXTS) == pytest.approx(theirs.encode(TEXTS), abs=1e-5)


def test_complaints(folder):
    with pytest.raises(InputError, match="unknown --precision"):
        load_frozen(str(folder), precision="fp8")
    with pytest.raises(InputError, match="texts is str; give a sequence of texts"):
        load_frozen(str(folder), device="cpu").vectors("a text")
