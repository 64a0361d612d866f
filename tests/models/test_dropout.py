"""Dropout against its definition and against torch's."""

import pytest
import torch
from torch import nn

from salience.papers.attention_classifiers.layers import Dropout

COUNT = 400_000


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_units_are_dropped_by_themselves_with_probability_p(p):
    dropped = Dropout(p)(torch.ones(COUNT)) == 0
    error = 4 * (p * (1 - p) / COUNT) ** 0.5  # four standard errors
    assert abs(dropped.float().mean() - p) < error
    for distance in (1, 2, 3, 4, 7, 100):  # neighbours share a number of 64 bits
        both = (dropped[distance:] & dropped[:-distance]).float().mean()
        assert abs(both - p * p) < 4 * (p * p * (1 - p * p) / COUNT) ** 0.5 + 2 * error * p
    runs = dropped.view(-1, 4).sum(1).bincount(minlength=5) / (COUNT / 4)
    expected = torch.distributions.Binomial(4, torch.tensor(p)).log_prob(torch.arange(5.0)).exp()
    assert (runs - expected).abs().max() < 0.01


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_values_and_gradients_are_scaled_as_by_torch(p):
    values = torch.randn(3, 5, 7, requires_grad=True)
    ours = Dropout(p)(values)
    kept = ours != 0
    torch.testing.assert_close(ours[kept], (values / (1 - p))[kept], rtol=1e-4, atol=0)
    (gradient,) = torch.autograd.grad(ours.sum(), values)
    torch.testing.assert_close(gradient, kept.float() / (1 - p), rtol=1e-4, atol=0)
    assert abs(Dropout(p)(torch.ones(COUNT)).mean() - 1) < 4 * (p / (1 - p) / COUNT) ** 0.5


def test_a_seed_repeats_the_mask_and_the_next_one_differs():
    dropout, ones = Dropout(0.5), torch.ones(1001)
    state = torch.get_rng_state()
    first, second = dropout(ones), dropout(ones)
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(dropout(ones), first) and torch.equal(dropout(ones), second)


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-6, 1 - 1e-6])
def test_what_16_bits_cannot_tell_is_left_to_torch(p):
    torch.manual_seed(1)
    ours = Dropout(p)(torch.ones(100))
    torch.manual_seed(1)
    assert torch.equal(ours, nn.Dropout(p)(torch.ones(100)))


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3), (5, 0, 2)])
def test_any_shape(shape):
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_nothing_is_dropped_in_evaluation():
    values = torch.randn(10)
    assert torch.equal(Dropout(0.5).eval()(values), values)


def test_half_precision_stays():
    assert Dropout(0.5)(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16
