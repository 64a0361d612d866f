"""Captum's attributions as explainers: against ours where both compute the same, and in what holds of all of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import families
from reference import close
from salience import EXPLAINERS
from salience.data.batching import padded
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.explainers import from_captum
from salience.explainers.from_captum import GRADIENTS, PERTURBATIONS, FromCaptum

pytest.importorskip("captum")
CHEAP = [name for name in (*GRADIENTS, *PERTURBATIONS) if name not in ("KernelShap", "Lime", "ShapleyValueSampling")]


@pytest.mark.parametrize("family", ["bert", "modernbert", "attention"])
def test_gradient_times_input_is_ours(family):
    model, own = families.MODELS[family](), families.batch([5, 2, 7], family=family)
    expected = EXPLAINERS["gradient-x-input"](model, own).where(own.segment > 0, 0)
    assert expected.abs().max() > 0.01
    assert close(FromCaptum("InputXGradient")(model, own), expected, 1e-5)


def test_integrated_gradients_come_to_ours():
    """Captum's default is 50 points of Gauss and Legendre, ours 32 midpoints."""
    model, own = families.MODELS["bert"](spread=0.2), families.batch([5, 2, 7])
    expected = EXPLAINERS["integrated-gradients"](model, own)
    assert close(FromCaptum("IntegratedGradients")(model, own), expected, 2e-3 * float(expected.abs().max()))


@pytest.mark.parametrize(
    "name", families.some(("IntegratedGradients", "InputXGradient", "FeatureAblation"), "InputXGradient")
)
def test_an_empty_second_text_is_read_as_one(name):
    """The separator after it has the second type, in a batch of its own and beside a full pair."""
    model, tokenizer = families.MODELS["bert"]().double(), families.tiny_tokenizer()
    encoded = encode_texts(tokenizer, ["a b", "c"], ["", "e f"], [1, 0])
    both, alone = (padded(encoded, np.array(rows), labelled=True) for rows in ([0, 1], [0]))
    found = FromCaptum(name)(model, alone)
    assert close(FromCaptum(name)(model, both)[:1, : found.shape[1]], found, 1e-6)
    without = replace(alone, token_type_ids=torch.zeros_like(alone.input_ids))
    assert not close(FromCaptum(name)(model, without), found, 1e-4)


def test_the_steps_of_an_integral_are_no_larger_batch(monkeypatch):
    model, own, seen = families.MODELS["bert"](), families.batch([5, 2, 7]), []
    reads = from_captum.forward

    def watched(model, batch):
        seen.append(len(batch))
        return reads(model, batch)

    monkeypatch.setattr(from_captum, "forward", watched)
    FromCaptum("IntegratedGradients")(model, own)
    assert len(seen) >= 50 and max(seen) == 3


def test_ablation_takes_whole_tokens():
    """ln p of the text minus ln p with one word's embeddings as if it were none; a slow loop."""
    model, own = families.MODELS["bert"](), families.batch([4, 1])
    found = FromCaptum("FeatureAblation")(model, own)
    scored = from_captum.FromEmbeddings(model)
    empty, whole, logits = from_captum.from_nothing(model, own)
    others = (own.input_ids, own.attention_mask, own.segment, own.token_type_ids)
    for row, place in (own.segment > 0).nonzero().tolist():
        shortened = whole.clone()
        shortened[row, place] = empty[row, place]
        with torch.no_grad():
            lost = logits.log_softmax(1)[row, own.labels[row]] - scored(shortened, *others)[row, own.labels[row]]
        assert abs(float(lost - found[row, place])) < 1e-5


@families.crossed("name", CHEAP, "family", ["bert", "roberta", "attention"])
def test_the_rules_of_explainers_hold(name, family):
    """In float64: DeepLift divides by small differences, and in float32 it is the machine that decides."""
    model = families.MODELS[family]().double().train()
    own, padded = (families.batch([5, 2], [3, 4], extra_padding=more, family=family) for more in (0, 3))
    found = FromCaptum(name)(model, own)
    assert found.shape == own.input_ids.shape
    assert (found[own.segment == 0] == 0).all() and found.abs().max() > 0
    assert close(FromCaptum(name)(model, padded)[:, : found.shape[1]], found, 1e-5 * max(1, float(found.max())))
    assert model.training and all(weight.grad is None for weight in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    other = (own.labels + 1) % 3
    assert not close(FromCaptum(name)(model, own, other), found, 1e-6)


@pytest.mark.parametrize("name", ["KernelShap", "Lime", "ShapleyValueSampling"])
def test_attributions_that_draw(name):
    model, own = families.MODELS["bert"](), families.batch([3])
    found = FromCaptum(name)(model, own)
    assert (found[own.segment == 0] == 0).all() and found.isfinite().all() and found.abs().max() > 0


def test_unknown_attributions_are_refused_by_name():
    with pytest.raises(InputError, match=r'unknown attribution of captum "Lyme".*Did you mean "Lime"\?'):
        FromCaptum("Lyme")


def test_without_captum_the_mend_is_told(monkeypatch):
    monkeypatch.setattr(from_captum, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'captum>="):
        FromCaptum("Lime")
