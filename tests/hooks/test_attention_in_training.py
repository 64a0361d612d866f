"""Attention for training equals fused attention, forwards and backwards, with less memory, and not slowly in bf16."""

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

import families
from salience.hooks import attention as ours
from salience.hooks import dropped_attention
from salience.models.precision import computing

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
        found = output_and_gradients(ours.differentiable_attention, states(length), mask, scaling=scaling)
    for one, other in zip(found, exact, strict=True):
        assert (one.double() - other).norm() / other.norm() < 0.01  # bf16 has 8 bits


def dropped(parts, mask, dropout, half=False):
    """The probabilities after dropout (B, H, T, T) of a seed: the output where the values are an identity matrix."""
    texts, heads, length, _ = parts[0].shape
    identity = torch.eye(length, dtype=parts[0].dtype).expand(texts, heads, -1, -1)
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        output = ours.differentiable_attention(Layer(), *parts[:2], identity, mask, dropout=dropout)[0]
    return output.transpose(1, 2).detach().float()


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize("length", [60, ours.SHORT + 1])
def test_dropout_keeps_the_mean_and_drops_its_share(length, half):
    weights = dropped(states(length, torch.bfloat16 if half else torch.float32), None, 0.25, half)
    assert (weights == 0).float().mean() == pytest.approx(0.25, abs=0.01)
    assert weights.sum(-1).mean() == pytest.approx(1, abs=0.01)


LONG = ours.SHORT + 7


@pytest.mark.parametrize(
    ("dtype", "error"), [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 0.01)]
)  # bf16 has 8 bits
@pytest.mark.parametrize(("length", "block"), [(7, 0), (LONG, 1), (LONG, 2 * LONG**2), (LONG, 1 << 20)])
@pytest.mark.parametrize("masked", [True, False])
def test_dropout_is_that_of_the_plain_formula(masked, length, block, dtype, error, monkeypatch):
    """Its gradients are those of autograd; in long texts, with heads one by one, in pairs, or all at once."""
    monkeypatch.setattr(dropped_attention, "BLOCK", block)
    mask, half, parts = padding(length) if masked else None, dtype == torch.bfloat16, states(length, dtype, heads=3)
    kept, exact = dropped(parts, mask, 0.25, half) != 0, states(length, torch.float64, heads=3)

    def plainly(module, query, key, value, mask):
        scores = query @ key.mT * 0.3
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return (scores.softmax(-1) * kept / 0.75 @ value).transpose(1, 2), None

    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        found = output_and_gradients(ours.differentiable_attention, parts, mask, dropout=0.25, scaling=0.3)
    for mine, right in zip(found, output_and_gradients(plainly, exact, mask), strict=True):
        assert mine.dtype == dtype and (mine.double() - right).norm() <= error * right.norm()


def kept_bytes(length, dtype, half):
    """The bytes that attention with dropout keeps of each probability, beside queries, keys and values."""
    parts = states(length, dtype)
    kept = {part.untyped_storage().data_ptr(): 0 for part in parts}

    def keep(tensor):
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes())
        return tensor

    keeping = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with keeping, torch.autocast("cpu", torch.bfloat16, enabled=half):
        output, _ = ours.differentiable_attention(Layer(), *parts, None, dropout=0.1)
    del output
    return sum(kept.values()) / 6 / length**2


@pytest.mark.parametrize(("dtype", "half"), [(torch.float32, False), (torch.bfloat16, True)])
def test_dropout_keeps_a_byte_of_each_probability_of_long_texts(dtype, half):
    assert kept_bytes(LONG, dtype, half) == 1
    assert kept_bytes(ours.SHORT, dtype, half) > 6


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra"])
def test_encoders_are_trained_by_it(family, half):
    """Their attention keeps little of long texts; MPNet and DeBERTa compute their own."""
    model = families.build(family, dropout=0.1, positions=LONG + 2).train()
    ids = torch.randint(5, 100, (2, LONG), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, -3:] = 0
    with ours.differentiating(model), torch.autocast("cpu", torch.bfloat16, enabled=half):
        logits = model(ids, attention_mask=mask).logits
        seen = operations(lambda: model(ids, attention_mask=mask))
    logits.float().square().sum().backward()
    assert "DroppedAttention" in seen
    assert all(weight.grad.isfinite().all() for weight in model.parameters() if weight.grad is not None)


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
    with computing(model, "fp32"):
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
        found = ours.differentiable_attention(layer, *states(5), None)[0]
    assert torch.equal(found, exact)
