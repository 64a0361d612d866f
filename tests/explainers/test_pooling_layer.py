"""Explainers of a classifier with a pooling layer: which layers they count, and what its own attention is."""

import pytest
import torch

import families
from salience import EXPLAINERS
from salience.explainers import Attention, ClsAttention, pooling_attention
from salience.hooks.attention import attention
from salience.hooks.stages import depth, stages


@pytest.fixture
def model():
    return families.with_mean("bert").double()


def attentions(model, own):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return model(own.input_ids, own.attention_mask, output_attentions=True).attentions


def test_layers_are_those_of_the_encoder(model):
    """The last layer is the encoder's own; L is the pooling layer, which is a level of its own, above L."""
    own = families.batch([5, 2, 9])
    given = attentions(families.with_mean("bert").double(), own)
    assert len(given) == families.LAYERS + 1 and depth(model) == families.LAYERS
    real = own.attention_mask[:, None, :, None].bool()
    for layer in (*range(families.LAYERS + 1), -1, -families.LAYERS):
        expected = given[layer if layer >= 0 else layer - 1]
        torch.testing.assert_close(attention(model, own, layer) * real, expected * real)
    for layer in (families.LAYERS + 1, -families.LAYERS - 1):
        with pytest.raises(ValueError, match="has the layers 0 to 2, not"):
            attention(model, own, layer)
    assert list(stages(model)) == ["words", "embeddings", 1, 2, 3, "pooling", "sentence"]
    assert stages(model)["pooling"] is model.bert.encoder.layer[-1]
    assert (EXPLAINERS["attention"], EXPLAINERS["cls-attention"]) == (Attention(layer=-1), ClsAttention(layer=-1))


def test_models_without_it_have_no_such_layer():
    with pytest.raises(ValueError, match="has the layers 0 to 2, not 3"):
        attention(families.build("bert"), families.batch([3]), families.LAYERS)


def test_the_attention_of_a_layer_that_was_trained_is_the_one_of_the_first_token():
    """As in runs with the retired pooling trained-mean, which go on to be explained."""
    model, own = families.with_mean("bert").double(), families.batch([5, 2, 9])
    model.config.pooling_layer = "trained-mean"
    with torch.no_grad():
        model.bert.encoder.layer[-1].attention.self.query.weight.normal_()
    scores = pooling_attention(model, own)
    torch.testing.assert_close(scores, attentions(model, own)[-1][:, :, 0].mean(1))
    assert scores.std(1).min() > 0.01


def test_attention_that_says_nothing_is_not_shown():
    with pytest.raises(ValueError, match="mean pooling weights all tokens alike"):
        pooling_attention(families.with_mean("bert"), families.batch([5, 2]))
