"""An export in 8 bits: its linear layers by hand, and the result of a text, whatever is computed beside it."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from scipy.special import softmax

import families
from salience.classify import TextClassifier
from salience.classify.classifier import OnnxClassifier, load_exported
from salience.classify.onnx_model import FILE
from salience.data.batching import padded
from salience.export.folder import write_export
from salience.export.rounding import round_products

WORDS = ["the", "team", "won", "a", "cup", "song", "of", "the", "band"]
draw = np.random.default_rng(0)
TEXTS = [" ".join(draw.choice(WORDS, draw.integers(1, 40))) for _ in range(40)]


def exported(folder: Path) -> OnnxClassifier:
    tokenizer = families.tiny_tokenizer([" ".join(WORDS)])
    model = families.build("bert", vocabulary=len(tokenizer))
    write_export(TextClassifier(model, tokenizer, families.POSITIONS), folder, None, True, lambda held: None)
    return load_exported(folder)


@cache
def rounded() -> tuple[OnnxClassifier, np.ndarray]:
    """An export, and its probabilities of each text by itself."""
    classifier = exported(Path(mkdtemp()))
    return classifier, np.concatenate([classifier.predict_proba([text]) for text in TEXTS])


@pytest.mark.whole
@settings(max_examples=8)
@given(st.permutations(range(len(TEXTS))), st.lists(st.integers(1, 15), min_size=len(TEXTS), max_size=len(TEXTS)))
def test_any_grouping_and_any_order_give_the_same(order, sizes):
    classifier, alone = rounded()
    encoded, padding = classifier.encode(TEXTS), classifier.tokenizer.pad_token_id
    found, start = np.empty_like(alone), 0
    for size in sizes:
        rows = np.array(order[start : start + size], int)
        if len(rows):
            found[rows] = softmax(classifier.model.logits(padded(encoded, rows, padding)), axis=1)
        start += size
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-6)
    assert np.ptp(alone[:, 0]) > 0.1  # texts differ


def product(states: np.ndarray, weights: np.ndarray, folder: Path) -> np.ndarray:
    """What a file computes that multiplies states by the same weights twice."""
    nodes = [helper.make_node("MatMul", ["states", "weights"], ["once"]),
             helper.make_node("MatMul", ["once", "weights"], ["logits"])]  # fmt: skip
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["a", "b", weights.shape[0]])
              for name in ("states", "logits")]  # fmt: skip
    stored = [numpy_helper.from_array(weights, "weights")]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), folder / "file")
    round_products(folder / "file")
    session = onnxruntime.InferenceSession(str(folder / "file"), providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"states": states})[0]


def by_hand(states: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """255 levels of the states of each token, 127 of each column of weights, and exact sums."""
    largest = np.maximum(abs(states).max(-1, keepdims=True), 1e-30)
    of_columns = np.maximum(abs(weights).max(0), 1e-30)
    whole = np.rint(states / largest * 127).astype(int) @ np.rint(weights / of_columns * 63).astype(int)
    return whole * largest * of_columns / 127 / 63


def test_a_product_by_hand(tmp_path):
    states, weights = (draw.normal(size=size).astype(np.float32) for size in ((2, 3, 8), (8, 8)))
    states[0, 0] *= 100  # a token beside it is as exact as before
    states[1, 1], weights[:, 2] = 0, 0
    expected = by_hand(by_hand(states, weights).astype(np.float32), weights)
    np.testing.assert_allclose(product(states, weights, tmp_path), expected, rtol=1e-5, atol=1e-30)
    assert abs(expected - states @ weights @ weights).max() > 1e-3


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_do_not_overflow(sign, tmp_path):
    states, weights = np.ones((1, 2, 512), np.float32), sign * np.ones((512, 512), np.float32)
    np.testing.assert_allclose(product(states, weights, tmp_path), np.full((1, 2, 512), 512.0**2), rtol=1e-5)


@pytest.mark.whole
def test_large_weights_are_replaced_in_their_second_file(tmp_path, monkeypatch):
    classifier, alone = rounded()
    monkeypatch.setattr("salience.export.tracing.LARGEST_FILE", 1000)
    found = exported(tmp_path).predict_proba(TEXTS)
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-6)
    assert {file.name for file in tmp_path.glob("*onnx*")} == {FILE, f"{FILE}.data"}
    assert (tmp_path / f"{FILE}.data").stat().st_size < (classifier.model.folder / FILE).stat().st_size
