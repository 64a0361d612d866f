"""Which pass a guide reads: the clean one of the training step, if it can, else one of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch

from families import FAMILIES, batch
from salience import AttentionMix, Batch, DropMix, SSMix, mixed, plain
from salience.explainers import CleanPassGuide, EachTextAlone, gradient
from test_contract import rows_through_layers

LAYERS = 3


@dataclass
class InputNorm:
    """A user's guide that is called with the model: the length of each token's word embedding."""

    calls: list = field(default_factory=list)

    def __call__(self, model, batch: Batch, target=None) -> torch.Tensor:
        self.calls.append(len(batch))
        with torch.no_grad():
            return model.get_input_embeddings()(batch.input_ids).norm(dim=-1) * batch.attention_mask


@dataclass
class GradientAtLayer:
    """A user's guide that can be read from the clean pass: the length of the gradient at a layer."""

    level: str | int = 1
    read: list = field(default_factory=list)

    def __call__(self, model, batch: Batch, target=None) -> torch.Tensor:
        raise AssertionError("the clean pass is there to be read")

    def from_clean_pass(self, clean, batch: Batch) -> torch.Tensor:
        self.read.append((clean.value.detach(), clean.gradient))
        return clean.gradient.norm(dim=-1) * batch.attention_mask


def step(method, clean: float = 0.5):
    model, texts = FAMILIES["bert"](classes=3).train(), batch([5, 2, 9, 4])
    for loss in mixed(method, clean)(model, texts):
        loss.backward()


def test_which_guides_can_be_read_from_the_clean_pass():
    assert isinstance(gradient, CleanPassGuide)
    assert isinstance(DropMix().guide, CleanPassGuide)
    assert isinstance(GradientAtLayer(), CleanPassGuide)
    for guide in (InputNorm(), AttentionMix().guide, EachTextAlone(gradient), None):
        assert not isinstance(guide, CleanPassGuide)


@pytest.mark.parametrize("clean", [0.5, 0.0])
def test_a_guide_that_is_called_with_the_model(clean):
    guide = InputNorm()
    step(SSMix(guide=guide), clean)
    assert guide.calls == [4]


@pytest.mark.parametrize("level", ["embeddings", 1, 2])
def test_a_guide_that_reads_the_clean_pass(level):
    """It sees the representation at its level and the gradient of the clean loss, and costs no pass."""
    guide = GradientAtLayer(level)
    model, texts = FAMILIES["bert"](classes=3).train(), batch([5, 2, 9, 4])
    assert rows_through_layers(model, texts, mixed(SSMix(guide=guide))) == (2 * LAYERS, 2 * LAYERS)
    ((value, found),) = guide.read

    stage = model.bert.embeddings if level == "embeddings" else model.bert.encoder.layer[level - 1]
    outputs = []

    def keep(module, arguments, output):
        outputs.append(output[0] if isinstance(output, tuple) else output)

    handle = stage.register_forward_hook(keep)
    (loss,) = plain(model, texts)
    handle.remove()
    assert torch.equal(value, outputs[0])
    (expected,) = torch.autograd.grad(0.5 * loss, outputs[0])
    assert torch.allclose(found, expected, atol=1e-7)
    assert found.abs().max() > 0


def test_without_a_clean_loss_every_guide_is_called_with_the_model():
    with pytest.raises(AssertionError, match="the clean pass is there to be read"):
        step(SSMix(guide=GradientAtLayer()), clean=0.0)


@pytest.mark.parametrize("clean", [-0.1, 1, 1.5])
def test_the_clean_part_is_at_least_0_and_below_1(clean):
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        mixed(SSMix(), clean)


def test_texts_without_labels_are_refused():
    texts = batch([5, 2])
    unlabelled = Batch(texts.input_ids, texts.attention_mask, texts.segment)
    for objective in (plain, mixed(SSMix())):
        with pytest.raises(ValueError, match="no labels"):
            next(iter(objective(FAMILIES["bert"](), unlabelled)))
