"""Attention in bf16 equals fused attention, forwards and backwards, and never runs its slow backward pass."""

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

import families
from salience.hooks import attention as ours
from salience.models.precision import attending, computing

FUSED_BACKWARD = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"


class Layer(torch.nn.Module):
    is_causal = False


def states(length, dtype=torch.bfloat16, heads=2):
    """Queries, keys and values (3, heads, length, 8), as they leave a linear layer in bf16."""
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(3, heads, length, 8, generator=generator).to(torch.bfloat16).to(dtype).requires_grad_()
        for _ in range(3)
    ]


def padding(length):
    """A mask (3, 1, length, length) that hides the last two tokens of the second text, as `sdpa_mask` makes it."""
    mask = torch.ones(3, 1, length, length, dtype=torch.bool)
    mask[1, :, :, -2:] = False
    return mask


def output_and_gradients(function, parts, mask, **others):
    output, _ = function(Layer(), *parts, mask, **others)
    weights = torch.linspace(-1, 1, output.numel()).reshape(output.shape)
    return [output.detach(), *torch.autograd.grad((output.float() * weights).sum(), parts)]


def operations(action):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        action()
    return {event.key for event in profile.key_averages()}


@pytest.mark.parametrize("scaling", [None, 0.1])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("length", [5, ours.SHORT + 1])
def test_outputs_and_gradients_are_those_of_fused_attention_in_float64(length, masked, scaling):
    mask = padding(length) if masked else None
    exact = output_and_gradients(sdpa_attention_forward, states(length, torch.float64), mask, scaling=scaling)
    with torch.autocast("cpu", torch.bfloat16):
        found = output_and_gradients(ours.attention_in_bf16, states(length), mask, scaling=scaling)
    for one, other in zip(found, exact, strict=True):
        assert (one.double() - other).norm() / other.norm() < 0.01  # bf16 has 8 bits


def test_dropout_keeps_the_mean_and_drops_its_share():
    parts = states(ours.SHORT + 1)
    parts[2] = torch.eye(ours.SHORT + 1).expand(3, 2, -1, -1).to(torch.bfloat16)  # the output is the weights
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16):
        weights = ours.attention_in_bf16(Layer(), *parts, None, dropout=0.25)[0].detach().float()
    assert (weights == 0).float().mean() == pytest.approx(0.25, abs=0.01)
    assert weights.sum(-1).mean() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("family", ["bert", "modernbert", "deberta-v2", *(
    pytest.param(family, marks=pytest.mark.whole) for family in ("roberta", "distilbert", "mpnet", "electra")
)])  # fmt: skip
def test_the_slow_operation_does_not_run(family):
    model = families.build(family).eval()
    ids = torch.randint(5, 100, (3, 7), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, -3:] = 0

    def differentiate():
        embedded = model.get_input_embeddings()(ids).detach().requires_grad_()
        logits = model(inputs_embeds=embedded, attention_mask=mask).logits
        return logits, torch.autograd.grad(logits[:, 0].sum(), embedded)[0]

    usual = model.config._attn_implementation
    exact = differentiate()
    with torch.autocast("cpu", torch.bfloat16):
        fused = differentiate()
    with computing(model, "bf16"):
        ours = differentiate()
        assert FUSED_BACKWARD not in operations(differentiate)
    assert model.config._attn_implementation == usual
    for mine, theirs, right in zip(ours, fused, exact, strict=True):  # as near to fp32 as torch's own bf16
        assert (mine - right).norm() <= 1.5 * (theirs - right).norm() + 1e-6
    assert ours[1][1, -3:].abs().max() <= 1e-6 * ours[1].abs().max()  # padding is not attended to


def test_without_a_gradient_attention_is_fused():
    model = families.build("bert").eval()
    with torch.inference_mode(), computing(model, "bf16"):
        assert FUSED_BACKWARD.removesuffix("_backward") in operations(
            lambda: model(torch.ones(2, 7, dtype=torch.long))
        )


def test_fp32_and_other_attention_stay_as_they_are():
    model = families.build("bert")
    with attending(model, half=False):
        assert model.config._attn_implementation == "sdpa"
    model.set_attn_implementation("eager")
    with computing(model, "bf16"):
        assert model.config._attn_implementation == "eager"


def test_the_attention_is_restored_after_an_error():
    model = families.build("bert")
    with pytest.raises(KeyError), computing(model, "bf16"):
        assert model.config._attn_implementation == ours.OWN_ATTENTION["sdpa"]
        raise KeyError
    assert model.config._attn_implementation == "sdpa"


def test_causal_attention_without_a_mask_stays_fused():
    layer = Layer()
    layer.is_causal = True
    exact = sdpa_attention_forward(layer, *states(5), None)[0]
    with torch.autocast("cpu", torch.bfloat16):
        found = ours.attention_in_bf16(layer, *states(5), None)[0]
    assert torch.equal(found, exact)
