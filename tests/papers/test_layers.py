"""Attention and other poolings as worked by hand and as loops; dropout against its definition and torch's."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import families
from reference import close
from salience.papers.attention_classifiers.layers import Additive, Dot, Max, Mean, pooling
from salience.papers.attention_classifiers.options import POOLINGS

WIDTH = 6
ATTENDING = [name for name in POOLINGS if name != "max"]
every_pooling = pytest.mark.parametrize("name", POOLINGS)


def filled(name: str, width: int = WIDTH, heads: int = 1, scale: float = 1.0, seed: int = 0) -> torch.nn.Module:
    """The pooling with normal draws for its weights, in double precision."""
    found = pooling(name, width, heads, scale).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in found.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return found


def texts(lengths: list[int], seed: int = 0, gaps: bool = False, width: int = WIDTH):
    """States (B, T, D), of padding too, and the mask (B, T); with gaps some tokens inside may not be read either."""
    generator = torch.Generator().manual_seed(seed)
    tokens = max([*lengths, 1])
    states = torch.randn(len(lengths), tokens, width, generator=generator, dtype=torch.float64)
    mask = torch.arange(tokens) < torch.tensor(lengths)[:, None]
    if gaps:
        mask &= torch.rand(mask.shape, generator=generator) < 0.7
    return states, mask


# ----------------------------------------------------------------------------------------------------- worked by hand


def test_additive_attention_as_worked_by_hand():
    """methods.md 3.12: scores (0, ln 2), attention (1/3, 2/3), R = 2/3 atanh 1/2."""
    found = Additive(1).double()
    with torch.no_grad():
        found.key.weight.fill_(1)
        found.query.fill_(2 * math.log(2))
    states = torch.tensor([[[0.0], [math.atanh(0.5)]]], dtype=torch.float64)
    assert close(found.scores(states), torch.tensor([[[0.0, math.log(2)]]]), 1e-7)
    pooled, attention = found(states, torch.ones(1, 2, dtype=torch.bool))
    assert close(attention, torch.tensor([[[1 / 3, 2 / 3]]], dtype=torch.float64))
    assert pooled.item() == pytest.approx(0.3662041, abs=1e-7)


def test_max_pooling_as_worked_by_hand():
    """methods.md 3.12: h = (1, -2), (0, -1), padding. Padding's zeros would win the second unit."""
    states = torch.tensor([[[1.0, -2.0], [0.0, -1.0], [0.0, 0.0]]])
    pooled, attention = Max()(states, torch.tensor([[True, True, False]]))
    assert pooled.tolist() == [[1, -1]]
    assert attention is None


def test_the_scale_as_worked_by_hand():
    """methods.md 3.10, gold c: scores of (.3, .1, -.2) before they are divided."""
    for scale, expected, tolerance in [
        (1, (0.4123267, 0.3375845, 0.2500888), 1e-7),
        (1e4, (1 / 3, 1 / 3, 1 / 3), 1e-5),
        (1e-3, (1, 0, 0), 1e-7),
    ]:
        found = Dot(1, scale=scale).double()
        torch.nn.init.ones_(found.query)
        states = torch.tensor([0.3, 0.1, -0.2], dtype=torch.float64).reshape(1, 3, 1)
        _, attention = found(states, torch.ones(1, 3, dtype=torch.bool))
        assert close(attention[0, 0], torch.tensor(expected, dtype=torch.float64), tolerance)


# ------------------------------------------------------------------------------------------------- formulas as loops


def raw_score(name: str, module, head: int, state: list[float]) -> float:
    """V . h / lambda, or v . tanh(W h) / lambda, of one token."""
    if name == "additive":
        state = [
            math.tanh(math.fsum(weight * value for weight, value in zip(row, state, strict=True)))
            for row in module.key.weight.tolist()
        ]
    return math.fsum(v * value for v, value in zip(module.query[head].tolist(), state, strict=True)) / module.scale


def pooled_by_loops(name: str, module, heads: int, states: list[list[float]], mask: list[bool]):
    """R and the attention, a list for each head, of one text; slow, and straight from the formulas."""
    width, read = len(states[0]), [place for place, may in enumerate(mask) if may]
    if name == "first":
        return states[0], [[float(place == 0) for place in range(len(mask))]]
    if not read:
        return [0.0] * width, [[0.0] * len(mask)] * heads
    if name == "max":
        return [max(states[place][unit] for place in read) for unit in range(width)], None
    pooled, attention = [], []
    for head in range(heads):
        scores = {place: 0.0 if name == "mean" else raw_score(name, module, head, states[place]) for place in read}
        largest = max(scores.values())
        powers = {place: math.exp(score - largest) for place, score in scores.items()}
        alpha = [powers.get(place, 0.0) / math.fsum(powers.values()) for place in range(len(mask))]
        part = range(head * width // heads, (head + 1) * width // heads)
        pooled += [math.fsum(alpha[place] * states[place][unit] for place in read) for unit in part]
        attention.append(alpha)
    return pooled, attention


@given(
    name=st.sampled_from(["dot", "additive", "mean", "max", "first"]),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    heads=st.sampled_from([1, 2, 3]),
    scale=st.sampled_from([0.3, 1.0, 10.0]),
    gaps=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_every_pooling_is_its_formula(name, lengths, heads, scale, gaps, seed):
    heads = heads if name in ("dot", "additive") else 1
    module = filled(name, heads=heads, scale=scale, seed=seed)
    states, mask = texts(lengths, seed, gaps)
    with torch.no_grad():
        pooled, attention = module(states, mask)
    assert pooled.shape == (len(lengths), WIDTH)
    for row in range(len(lengths)):
        expected, alpha = pooled_by_loops(name, module, heads, states[row].tolist(), mask[row].tolist())
        assert close(pooled[row], torch.tensor(expected, dtype=torch.float64))
        if name == "max":
            assert attention is None
        else:
            assert close(attention[row], torch.tensor(alpha, dtype=torch.float64))


def test_variational_attention_is_additive():
    """VAT attends as ATT does; it is trained otherwise."""
    states, mask = texts([5, 2])
    for found, expected in zip(filled("variational")(states, mask), filled("additive")(states, mask), strict=True):
        assert torch.equal(found, expected)


def test_one_head_reads_the_whole_width_and_several_their_own_part():
    states, mask = texts([4])
    module = filled("dot", heads=2)
    for head, part in ((0, slice(0, 3)), (1, slice(3, 6))):
        alone = filled("dot")
        with torch.no_grad():
            alone.query.copy_(module.query[head : head + 1])
        assert close(module(states, mask)[0][:, part], alone(states, mask)[0][:, part])


# --------------------------------------------------------------------------------------------------- what must hold


@families.crossed("name", ATTENDING, "heads", [1, 3])
def test_attention_is_a_distribution_over_what_may_be_read(name, heads):
    heads = 1 if name in ("first", "mean") else heads
    states, mask = texts([5, 2, 1], gaps=True)
    mask[:, 0] = True
    _, attention = filled(name, heads=heads)(states, mask)
    assert attention.shape == (3, heads, 5)
    assert close(attention.sum(2), torch.ones(3, heads))
    assert (attention >= 0).all()
    assert (attention.masked_select(~mask[:, None]) == 0).all()


def test_padding_changes_nothing():
    """Whatever stands there: large numbers too."""
    for name in POOLINGS:
        states, mask = texts([5, 2, 1])
        more = torch.cat([states, 1e6 * torch.ones(3, 4, WIDTH)], 1)
        module = filled(name, heads=2)
        pooled, attention = module(states, mask)
        wide, wide_attention = module(more, torch.cat([mask, torch.zeros(3, 4, dtype=torch.bool)], 1))
        assert close(wide, pooled)
        if attention is not None:
            assert close(wide_attention[:, :, :5], attention)
            assert (wide_attention[:, :, 5:] == 0).all()


@families.crossed(
    "name", ["max", "mean", "dot", "additive", "variational"], "dtype", [torch.float32, torch.float64, torch.bfloat16]
)
def test_a_text_without_any_token_gives_zeros_and_no_nan(name, dtype):
    states, mask = texts([3, 0, 1])
    states = states.to(dtype).requires_grad_()
    module = filled(name, scale=0.1).to(dtype)
    pooled, attention = module(states, mask)
    assert (pooled[1] == 0).all()
    assert attention is None or (attention[1] == 0).all()
    assert pooled.isfinite().all()
    pooled.square().sum().backward()
    assert states.grad.isfinite().all()
    assert (states.grad[1] == 0).all()
    assert all(weight.grad.isfinite().all() for weight in module.parameters())


def test_other_orders_of_the_tokens_give_other_orders_of_the_attention():
    for name in ["max", "mean", "dot", "additive"]:
        states, mask = texts([6, 4], gaps=True)
        order = torch.tensor([3, 0, 5, 1, 4, 2])
        module = filled(name, heads=2)
        pooled, attention = module(states, mask)
        other, other_attention = module(states[:, order], mask[:, order])
        assert close(other, pooled)
        assert attention is None or close(other_attention, attention[:, :, order])


def test_a_large_scale_is_mean_pooling():
    for name in ["dot", "additive"]:
        states, mask = texts([6, 3, 0])
        pooled, attention = filled(name, scale=1e9)(states, mask)
        expected, even = Mean()(states, mask)
        assert close(pooled, expected, 1e-7)
        assert close(attention, even, 1e-7)


def test_a_tiny_scale_is_a_hard_choice():
    for name in ["dot", "additive"]:
        states, mask = texts([6, 3, 2])
        module = filled(name, scale=1e-6)
        pooled, attention = module(states, mask)
        best = module.scores(states)[:, 0].masked_fill(~mask, -torch.inf).argmax(1)
        assert torch.equal(attention[:, 0], torch.nn.functional.one_hot(best, 6).double())
        assert torch.equal(pooled, states[torch.arange(3), best])


def test_additive_without_its_tanh_and_with_an_identity_is_dot(monkeypatch):
    states, mask = texts([6, 3, 2])
    additive, dot = filled("additive", heads=2, scale=0.7), filled("dot", heads=2, scale=0.7)
    with torch.no_grad():
        torch.nn.init.eye_(additive.key.weight)
        additive.query.copy_(dot.query)
    assert not close(additive(states, mask)[0], dot(states, mask)[0])
    monkeypatch.setattr(torch.Tensor, "tanh", lambda values: values)
    for found, expected in zip(additive(states, mask), dot(states, mask), strict=True):
        assert close(found, expected)
