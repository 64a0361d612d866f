"""Dropout by 16 random bits is dropout, and a seed repeats it."""

import pytest
import torch
from torch import nn

import families
from salience.hooks.dropout import Dropout, by_few_bits

COUNT = 400_000


@pytest.fixture(autouse=True)
def seeded_by_0():
    torch.manual_seed(0)


def test_units_are_dropped_by_themselves_with_probability_p():
    for p in [0.1, 0.3, 0.5, 0.9]:
        dropped = Dropout(p)(torch.ones(COUNT)) == 0
        error = 4 * (p * (1 - p) / COUNT) ** 0.5  # four standard errors
        assert abs(dropped.float().mean() - p) < error
        for distance in (1, 2, 3, 4, 7, 100):  # neighbours share a number of 64 bits
            both = (dropped[distance:] & dropped[:-distance]).float().mean()
            assert abs(both - p * p) < 4 * (p * p * (1 - p * p) / COUNT) ** 0.5 + 2 * error * p
        runs = dropped.view(-1, 4).sum(1).bincount(minlength=5) / (COUNT / 4)
        expected = torch.distributions.Binomial(4, torch.tensor(p)).log_prob(torch.arange(5.0)).exp()
        assert (runs - expected).abs().max() < 0.01


def test_values_and_gradients_are_scaled_as_by_torch():
    for p in [0.1, 0.5]:
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


def test_what_16_bits_cannot_tell_is_left_to_torch():
    for p in [0.0, 1.0, 1e-6, 1 - 1e-6]:
        torch.manual_seed(1)
        ours = Dropout(p)(torch.ones(100))
        torch.manual_seed(1)
        assert torch.equal(ours, nn.Dropout(p)(torch.ones(100)))


def test_any_shape():
    for shape in [(0,), (1,), (2, 3), (5, 0, 2)]:
        assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_nothing_is_dropped_in_evaluation():
    values = torch.randn(10)
    assert torch.equal(Dropout(0.5).eval()(values), values)


def test_half_precision_stays():
    assert Dropout(0.5)(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_layers_of_a_model_draw_few_bits_inside():
    """Others than torch's own dropout stay as they are."""
    model = families.build("bert", dropout=0.1)
    model.other, model.inside = nn.Dropout1d(0.1), nn.Dropout(0.1, inplace=True)
    before = [type(module) for module in model.modules()]
    with pytest.raises(KeyError), by_few_bits(model):
        kinds = [type(module) for module in model.modules()]
        assert kinds.count(Dropout) == before.count(nn.Dropout) - 1 > 3
        assert kinds.count(nn.Dropout1d) == 1 and type(model.inside) is nn.Dropout
        raise KeyError
    assert [type(module) for module in model.modules()] == before
