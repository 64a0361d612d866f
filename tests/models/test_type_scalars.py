"""Logits from two scalars a type: the model's own, at the price of one pass over the vocabulary."""

import pytest
import torch

import word_models
from reference import close
from salience.classify.classifier import predict_probabilities
from salience.data.encoding import Encoded
from salience.hooks.hooks import forward
from salience.papers.attention_classifiers.classifier import TypeScalars


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("pooling", ["dot", "additive", "variational"])
@pytest.mark.parametrize("encoder", ["embeddings", "affine"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_logits_are_the_models(encoder, pooling, classes, scale):
    model = word_models.word_classifier(encoder, classes=classes, pooling=pooling, scale=scale)
    own = word_models.word_batch([5, 1, 9], [2, 3, 1], extra_padding=2)
    with torch.no_grad():
        expected = forward(model, own)
    assert expected.abs().max() > 0.01
    assert close(TypeScalars(model).logits(own), expected, 1e-6 * max(1, float(expected.abs().max())))


@pytest.mark.parametrize(
    "settings",
    [{"pooling": "mean"}, {"head": "perceptron"}, {"pooling_heads": 2}, {"encoder": "lstm"},
     {"pooling": "variational", "inference": "compressor"}],
    ids=str,
)  # fmt: skip
def test_other_models_do_not_fit(settings):
    """Their states, or their logits, are no sums of two scalars."""
    assert not TypeScalars.fits(word_models.word_classifier(**({"encoder": "embeddings"} | settings)))


def test_a_pooling_without_attention_scores_is_refused():
    with pytest.raises(ValueError, match="max pooling has no attention scores"):
        TypeScalars(word_models.word_classifier("embeddings", pooling="max"))


def test_predicting_many_tokens_runs_the_encoder_once():
    model = word_models.word_classifier("affine")
    batches = [word_models.word_batch([7] * 40, seed=seed) for seed in range(3)]
    ids, segments = (torch.cat([getattr(own, part).flatten() for own in batches]).numpy()
                     for part in ("input_ids", "segment"))  # fmt: skip
    texts = Encoded(ids.astype("int32"), segments.astype("int8"), torch.full((120,), 7).numpy())
    calls = []
    handle = model.encoder.register_forward_hook(lambda _, arguments, result: calls.append(result))
    found = predict_probabilities(model, texts)
    handle.remove()
    assert len(calls) == 1 and calls[0].last_hidden_state.shape[:2] == (model.config.vocab_size, 1)
    with torch.no_grad():
        expected = torch.cat([forward(model, own).softmax(1) for own in batches])
    assert close(torch.from_numpy(found), expected, 1e-6)
    assert not model.training


def test_few_tokens_are_read_as_they_are():
    """Fewer than there are types: the vocabulary would be the longer text."""
    model, own = word_models.word_classifier("embeddings"), word_models.word_batch([4])
    calls = []
    model.encoder.register_forward_hook(lambda _, arguments, result: calls.append(result.last_hidden_state.shape[0]))
    texts = Encoded(own.input_ids[0].numpy().astype("int32"), own.segment[0].numpy().astype("int8"),
                    torch.tensor([4]).numpy())  # fmt: skip
    predict_probabilities(model, texts)
    assert calls == [1]
