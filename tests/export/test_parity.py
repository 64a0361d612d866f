"""The comparison of an export with the original finds what a trace has fixed, and weights that differ."""

import numpy as np
import pytest
import torch

import families
import word_models
from salience import Batch
from salience.classify import TextClassifier
from salience.classify.classifier import load_exported
from salience.classify.onnx_model import FILE, OnnxModel
from salience.data.texts import Texts
from salience.errors import InputError
from salience.export.agreement import (
    TOLERANCE,
    as_batch,
    as_served,
    check_parity,
    made_up_sets,
    made_up_texts,
    server_tokenizer,
)
from salience.export.folder import write_export
from salience.export.tracing import write_onnx
from salience.hooks.hooks import forward


def tiny_classifier(model=None) -> TextClassifier:
    tokenizer = families.tiny_tokenizer(["the team won a cup"])
    return TextClassifier(model or families.build("bert", vocabulary=len(tokenizer)), tokenizer, families.POSITIONS)


def made_up_batches(classifier: TextClassifier) -> list[Batch]:
    return [as_batch(classifier, texts) for texts in made_up_sets(classifier)]


def parity(classifier: TextClassifier, exported) -> float:
    return check_parity(classifier, exported, classifier.tokenizer.backend_tokenizer)


class Shifted:
    """What another model than the original would answer: one logit of the largest batch is off by a share."""

    def __init__(self, model, share: float):
        self.model, self.share = model, share
        self.largest = max(len(batch.input_ids) for batch in made_up_batches(tiny_classifier()))

    def logits(self, batch):
        with torch.no_grad():
            logits = forward(self.model, batch).numpy().copy()
        if len(logits) == self.largest:
            logits[-1, -1] += self.share
        return logits


def test_the_difference_is_relative_to_the_range():
    classifier = tiny_classifier()
    with torch.no_grad():
        logits = [forward(classifier.model, batch).numpy() for batch in made_up_batches(classifier)]
    span = np.ptp(np.concatenate(logits))
    assert parity(classifier, Shifted(classifier.model, 0)) == 0
    assert parity(classifier, Shifted(classifier.model, 0.5 * TOLERANCE * span)) == pytest.approx(
        0.5 * TOLERANCE, rel=0.02
    )
    for share in (2 * TOLERANCE * span, float("nan")):
        with pytest.raises(InputError, match="logits differ from the model's"):
            parity(classifier, Shifted(classifier.model, share))


def test_the_export_is_read_as_its_server_reads(tmp_path):
    """Token types that the tokenizer gives no model, as BigBird's, but that a server would give its network."""
    classifier = tiny_classifier()
    classifier.tokenizer.model_input_names = ["input_ids", "attention_mask"]
    with pytest.raises(InputError, match="logits differ from the model's"):
        parity(classifier, Shifted(classifier.model, 0))
    classifier.tokenizer.save_pretrained(tmp_path)
    read, texts = server_tokenizer(tmp_path, 5), Texts(["a team won", "won"], ["a cup", ""])
    whole = classifier.tokenizer(texts.texts, texts.second, truncation=True, max_length=5).encodings
    for row, encoding in zip(as_served(read, texts), whole, strict=True):
        assert row["input_ids"].tolist() == encoding.ids and row["token_type_ids"].tolist() == encoding.type_ids


@pytest.mark.whole
def test_types_that_no_model_reads_are_in_no_export(tmp_path):
    classifier = tiny_classifier()
    classifier.tokenizer.model_input_names = ["input_ids", "attention_mask"]
    texts = Texts(["a team won", "won"], ["a cup", "the cup"])
    held = write_export(classifier, tmp_path, texts, False, lambda _: None)
    assert held.changed == 0 and held.largest < 1e-5
    assert load_exported(tmp_path).model.inputs == ["input_ids", "attention_mask"]


def test_made_up_batches_have_padding_pairs_and_many_sizes():
    batches = list(made_up_batches(tiny_classifier()))
    assert {len(batch.input_ids) for batch in batches} >= {1, 2, 3, 5, 17}
    assert any((batch.attention_mask == 0).any() for batch in batches)
    assert any((batch.attention_mask == 1).all() and len(batch.input_ids) > 1 for batch in batches)
    assert sum(bool((batch.segment == 2).any()) for batch in batches) == 3
    assert max(batch.input_ids.shape[1] for batch in batches) == families.POSITIONS


@pytest.mark.whole
def test_a_length_that_the_trace_has_fixed(tmp_path):
    """The exporter writes an LSTM for the length of its example."""
    classifier = tiny_classifier(word_models.word_classifier("lstm", vocab_size=500))
    write_onnx(classifier.model, as_batch(classifier, made_up_texts(classifier, (2, 5))), tmp_path / FILE)
    with pytest.raises(InputError, match="models of the type salience-attention cannot be exported to ONNX"):
        parity(classifier, OnnxModel(tmp_path, classifier.model.config))
