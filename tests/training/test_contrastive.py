"""The contrastive loss: against a slow loop written from Eq. 3, by autograd, and in a training step."""

import math

import pytest
import torch

import families
from salience import EmbedMix, SenMixup, TMix, mixed, plain
from salience.errors import InputError
from salience.hooks.hooks import forward, reading
from salience.training.objective import (
    Contrastive,
    CrossEntropy,
    contrastive_loss,
)
from salience.training.passes import passes_per_step
from salience.training.recipe import Recipe
from test_contract import rows_through_layers

LENGTHS = [5, 2, 9, 4, 7, 3]
LABELS = torch.tensor([0, 1, 0, 2, 1, 0])  # one text is alone in its class


def drawn(texts=6, width=4):
    return torch.randn(texts, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def equation_3(vectors, labels, temperature) -> float:
    """The sum over texts, pair by pair."""
    rows = [[value / math.sqrt(sum(each**2 for each in row)) for value in row] for row in vectors.tolist()]

    def similarity(i, j):
        return math.exp(sum(one * other for one, other in zip(rows[i], rows[j], strict=True)) / temperature)

    texts, total = range(len(rows)), 0.0
    for i in texts:
        of_class = [j for j in texts if labels[j] == labels[i]]
        others = sum(similarity(i, k) for k in texts if k != i)
        if len(of_class) > 1:
            total -= sum(math.log(similarity(i, j) / others) for j in of_class if j != i) / (len(of_class) - 1)
    return total


@pytest.mark.parametrize("temperature", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("labels", [LABELS, torch.zeros(6, dtype=torch.long), torch.arange(6)], ids=str)
def test_the_loss_is_equation_3_for_each_text(labels, temperature):
    found = contrastive_loss(drawn(), labels, temperature)
    assert found.item() == pytest.approx(equation_3(drawn(), labels, temperature) / 6, rel=1e-9)


def test_its_gradient_is_that_of_finite_differences():
    vectors = drawn().requires_grad_()
    assert torch.autograd.gradcheck(lambda each: contrastive_loss(each, LABELS, 0.3), vectors)


def test_the_length_of_a_vector_does_not_count():
    scales = torch.tensor([[0.01], [1.0], [3.0], [100.0], [1.0], [7.0]], dtype=torch.float64)
    assert torch.allclose(contrastive_loss(drawn() * scales, LABELS, 0.3), contrastive_loss(drawn(), LABELS, 0.3))


def test_a_text_alone_has_no_loss_and_a_gradient_of_0():
    vectors = drawn(1).requires_grad_()
    loss = contrastive_loss(vectors, LABELS[:1], 0.3)
    loss.backward()
    assert loss.item() == 0 and vectors.grad.abs().max() == 0


def test_half_precision_is_compared_in_float32():
    vectors = drawn().to(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found = contrastive_loss(vectors, LABELS, 0.1)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(equation_3(vectors.double(), LABELS, 0.1) / 6, rel=1e-5)


@pytest.mark.parametrize("model", [families.build("bert"), families.with_mean("bert")], ids=["cls", "mean"])
def test_a_step_has_both_losses_on_what_the_head_reads(model):
    model, own = model.train(), families.batch(LENGTHS)
    usual = CrossEntropy((0.5, 1.0, 1.5), 0.1)
    (loss,) = Contrastive(0.3, 0.5)(model, own, usual)
    linear, read = model.classifier, []
    handle = linear.register_forward_pre_hook(lambda module, arguments: read.append(arguments[0].detach()))
    logits = forward(model, own)
    handle.remove()
    expected = 0.7 * usual(logits, own.labels).item() + 0.3 * equation_3(read[0], own.labels, 0.5) / len(own)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_encoder_learns_from_both_losses_and_the_head_from_one():
    model, own = families.build("bert").double().train(), families.batch(LENGTHS)
    weights = [model.classifier.weight, model.bert.encoder.layer[0].output.dense.weight]
    (loss,) = Contrastive(0.3, 0.5)(model, own)
    both = torch.autograd.grad(loss, weights)
    usual = torch.autograd.grad(next(plain(model, own)), weights)
    with reading(model, "sentence") as seen:
        forward(model, own)
    contrast = torch.autograd.grad(contrastive_loss(seen.value, own.labels, 0.5), weights[1])
    assert torch.allclose(both[0], 0.7 * usual[0], atol=1e-8)
    assert torch.allclose(both[1], 0.7 * usual[1] + 0.3 * contrast[0], atol=1e-8)


def contrast(model, batch):
    with reading(model, "sentence") as seen:
        forward(model, batch)
    yield contrastive_loss(seen.value, batch.labels, 0.5)


def gradients(objective, model, own) -> list[torch.Tensor]:
    """The gradients of the sum of an objective's losses, of all weights."""
    torch.manual_seed(0)  # of the mixtures
    model.zero_grad()
    for loss in objective(model, own):
        loss.backward()
    return [torch.zeros_like(each) if each.grad is None else each.grad.clone() for each in model.parameters()]


@pytest.mark.parametrize("shared_trunk", [True, False])
@pytest.mark.parametrize("method", [SenMixup, TMix, EmbedMix])
def test_mixtures_have_the_rest_of_its_weight(method, shared_trunk):
    """0.4 * 0.7 of the loss on unmixed texts, 0.6 * 0.7 of that on mixtures, and 0.3 of the contrast of the former."""
    model, own = families.with_mean("bert").double().train(), families.batch(LENGTHS)
    both = gradients(
        mixed(method(ratio=0.3), 0.4, shared_trunk=shared_trunk, beside=Contrastive(0.3, 0.5)), model, own
    )
    without, compared = gradients(mixed(method(ratio=0.3), 0.4), model, own), gradients(contrast, model, own)
    for found, usual, other in zip(both, without, compared, strict=True):
        assert torch.allclose(found, 0.7 * usual + 0.3 * other, rtol=1e-6, atol=1e-9)


def test_mixtures_alone_have_no_unmixed_texts_to_compare():
    with pytest.raises(ValueError, match="needs clean above 0"):
        mixed(SenMixup(), 0.0, beside=Contrastive(0.3, 0.5))
    with pytest.raises(InputError, match="contrastive compares unmixed texts: use it with clean above 0"):
        Recipe("x", method="senmixup", clean=0.0, contrastive=0.3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contrastive": 0.1, "accumulation": 2}, "use it with accumulation=1, in one process"),
        ({"contrastive": 0, "contrastive_temperature": 0.2}, "--set contrastive_temperature has no effect"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Recipe("x", **settings)


def test_several_processes_have_no_contrastive_loss(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="in one process"):
        Recipe("x", contrastive=0.1)


def test_a_step_costs_one_pass():
    model, own = families.build("bert").train(), families.batch(LENGTHS)
    forwards, backwards = rows_through_layers(model, own, Contrastive(0.3, 0.3))
    assert (forwards + 2 * backwards) / 3 / families.LAYERS == 1
    assert passes_per_step(None, 0.5, model) == 1
