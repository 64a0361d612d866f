"""The comparison of an export with the original finds what a trace has fixed, and weights that differ."""

import numpy as np
import pytest
import torch

import families
import word_models
from salience.classify import TextClassifier
from salience.classify.onnx_model import FILE, OnnxModel
from salience.errors import InputError
from salience.export.agreement import TOLERANCE, check_parity, made_up_batch, made_up_batches
from salience.export.tracing import write_onnx
from salience.hooks.hooks import forward


def tiny_classifier(model=None) -> TextClassifier:
    tokenizer = families.tiny_tokenizer(["the team won a cup"])
    return TextClassifier(model or families.build("bert", vocabulary=len(tokenizer)), tokenizer, families.POSITIONS)


class Shifted:
    """What another model than the original would answer: one logit of the largest batch is off by a share."""

    def __init__(self, model, share: float):
        self.model, self.share = model, share

    def logits(self, batch):
        with torch.no_grad():
            logits = forward(self.model, batch).numpy().copy()
        if len(logits) == max(len(batch.input_ids) for batch in made_up_batches(tiny_classifier())):
            logits[-1, -1] += self.share
        return logits


def test_the_difference_is_relative_to_the_range():
    classifier = tiny_classifier()
    with torch.no_grad():
        logits = [forward(classifier.model, batch).numpy() for batch in made_up_batches(classifier)]
    span = np.ptp(np.concatenate(logits))
    assert check_parity(classifier, Shifted(classifier.model, 0)) == 0
    assert check_parity(classifier, Shifted(classifier.model, 0.5 * TOLERANCE * span)) == pytest.approx(
        0.5 * TOLERANCE, rel=0.02
    )
    for share in (2 * TOLERANCE * span, float("nan")):
        with pytest.raises(InputError, match="logits differ from the model's"):
            check_parity(classifier, Shifted(classifier.model, share))


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
    write_onnx(classifier.model, made_up_batch(classifier, (2, 5)), tmp_path / FILE)
    with pytest.raises(InputError, match="models of the type salience-attention cannot be exported to ONNX"):
        check_parity(classifier, OnnxModel(tmp_path, classifier.model.config))
