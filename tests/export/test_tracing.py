"""An exported model computes the logits of the original, for every family, batch size and length."""

import numpy as np
import onnx_ir
import pytest
import torch

import families
import word_models
from salience.classify import TextClassifier
from salience.classify.classifier import load_exported
from salience.classify.onnx_model import FILE, OnnxModel
from salience.errors import InputError
from salience.export.folder import write_export
from salience.export.tracing import needs_two_files, write_onnx
from salience.hooks.hooks import forward

BATCHES = [  # lengths of the texts, of the second texts, and columns of padding
    ([3], None, 0),
    ([1], None, 4),
    ([0, 2], None, 0),
    ([3, 20, 7, 40, 1], None, 2),
    ([12] * 9, None, 0),
    ([4, 6, 9], [3, None, 12], 1),
]


def exported(model, folder, family="bert") -> OnnxModel:
    write_onnx(model, families.batch([2, 5], family=family), folder / FILE)
    return OnnxModel(folder, model.config)


def compare(model, exported: OnnxModel, batches) -> None:
    for batch in batches:
        with torch.no_grad():
            expected = forward(model, batch).numpy()
        found = exported.logits(batch)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=2e-5 * np.ptp(expected))


# Perceptrons that read one token of each text: that of the last layer, with a mean that of the layer which takes it.
FIRST_TOKEN = {"bert": 1, "bert, mean": 1, "roberta": 1, "modernbert": 1, "modernbert-mean": 0}


@pytest.mark.whole
@pytest.mark.parametrize("family", families.MODELS)
def test_every_family(family, tmp_path):
    model = families.MODELS[family]()
    states, mode = {name: weight.clone() for name, weight in model.state_dict().items()}, model.training
    attention = model.config._attn_implementation
    batches = [families.batch(*sizes, family=family) for sizes in BATCHES]
    compare(model, exported(model, tmp_path, family), batches)
    if family in FIRST_TOKEN:
        shapes = [node.outputs[0].shape for node in onnx_ir.load(tmp_path / FILE).graph if node.op_type == "Gelu"]
        assert len(shapes) >= families.LAYERS
        assert sum(shape[1] == 1 for shape in shapes) == FIRST_TOKEN[family]
    assert all(torch.equal(weight, states[name]) for name, weight in model.state_dict().items())
    assert (model.config._attn_implementation, model.training) == (attention, mode)


@pytest.mark.whole
@pytest.mark.parametrize("pooling", ["max", "variational"])
def test_poolings(pooling, tmp_path):
    model = families.attention_classifier(pooling=pooling)
    compare(model, exported(model, tmp_path), [families.batch(*sizes) for sizes in BATCHES])


def test_attention_over_words(tmp_path):
    """The smallest network, in the folder that `salience export` writes."""
    model = word_models.word_classifier("affine", special_token_ids=sorted({0, 2, 3, 4}), vocab_size=500)
    classifier = TextClassifier(model, families.tiny_tokenizer(["the team won a cup"]), families.POSITIONS)
    assert write_export(classifier, tmp_path, None, False, lambda held: None) is None
    loaded = load_exported(tmp_path)
    compare(model, loaded.model, [families.batch(*sizes) for sizes in BATCHES])
    texts = ["the team", "a cup won"]
    np.testing.assert_allclose(loaded.predict_proba(texts), classifier.predict_proba(texts), atol=1e-5)


@pytest.mark.whole
def test_a_model_that_the_exporter_refuses(tmp_path):
    class Chooses(torch.nn.Module):
        """Its steps depend on the values, which no trace can hold."""

        def __init__(self):
            super().__init__()
            self.inner = families.build("bert")
            self.config = self.inner.config

        def set_attn_implementation(self, name):
            self.inner.set_attn_implementation(name)

        def forward(self, **inputs):
            return self.inner(**inputs) if inputs["input_ids"].sum() > 7 else None

    with pytest.raises(InputError, match="models of the type bert cannot be exported to ONNX") as caught:
        write_onnx(Chooses(), families.batch([2, 5]), tmp_path / FILE)
    assert len(str(caught.value)) < 300
    assert not (tmp_path / FILE).exists()


@pytest.mark.whole
def test_large_weights_are_in_a_second_file(tmp_path, monkeypatch):
    model = families.build("bert")
    assert not needs_two_files(model)
    monkeypatch.setattr("salience.export.tracing.LARGEST_FILE", 1000)
    compare(model, exported(model, tmp_path), [families.batch(*sizes) for sizes in BATCHES])
    assert {file.name for file in tmp_path.iterdir()} == {FILE, f"{FILE}.data"}
