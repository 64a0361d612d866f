"""R-Drop: against a slow loop written from Eq. 4, its cost, and what it is refused with."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Bernoulli, kl_divergence

import families
from salience import plain
from salience.data.batching import padded
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.hooks.hooks import forward
from salience.models.problem import SEVERAL
from salience.training.loss import BinaryCrossEntropy, CrossEntropy
from salience.training.passes import passes_per_step, reads_per_step
from salience.training.r_drop import RDrop, both_divergences, divergences_of_labels, twice
from salience.training.recipe import Recipe
from salience.training.techniques import check_techniques, unmixed_objective
from test_contract import rows_through_layers

LENGTHS = [5, 2, 9, 4]


def equation_4(first, second, labels, alpha) -> float:
    """The loss of Eq. 4 of one text after the other, with both cross-entropies added up."""
    total = 0.0
    rows = zip(first.softmax(1).tolist(), second.softmax(1).tolist(), labels.tolist(), strict=True)
    for ones, others, label in rows:
        likelihood = -math.log(ones[label]) - math.log(others[label])
        forth = sum(one * math.log(one / other) for one, other in zip(ones, others, strict=True))
        back = sum(other * math.log(other / one) for one, other in zip(ones, others, strict=True))
        total += likelihood + alpha * (forth + back) / 2
    return total / len(labels)


@pytest.mark.parametrize("alpha", [0.5, 4.0])
def test_the_loss_is_half_of_equation_4(alpha):
    """Dropout draws its masks for both passes at once, from the same seed here and there."""
    model, own = families.build("bert", dropout=0.3).train(), families.batch(LENGTHS)
    torch.manual_seed(1)
    (loss,) = RDrop(alpha)(model, own)
    torch.manual_seed(1)
    first, second = forward(model, twice(own)).chunk(2)
    assert (first - second).abs().max() > 1e-3
    assert loss.item() == pytest.approx(equation_4(first, second, own.labels, alpha) / 2, rel=1e-6)


def test_both_passes_read_the_token_types_of_an_empty_second_text():
    own = padded(encode_texts(families.tiny_tokenizer(), ["a b", "c"], ["", "d"], [0, 1]), np.arange(2), labelled=True)
    assert own.token_type_ids[0].sum() == 1
    assert torch.equal(twice(own).token_type_ids, own.token_type_ids.repeat(2, 1))


def test_the_divergences_are_those_of_torch():
    first, second = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    forth = F.kl_div(second.log_softmax(1), first.softmax(1), reduction="none").sum(1)
    back = F.kl_div(first.log_softmax(1), second.softmax(1), reduction="none").sum(1)
    assert torch.allclose(both_divergences(first, second), forth + back)
    assert torch.autograd.gradcheck(both_divergences, (first.requires_grad_(), second.requires_grad_()))


def test_of_several_labels_each_has_a_divergence():
    """The loss against a loop over texts and labels; the divergences against torch's of Bernoulli distributions."""
    model, own = families.build("bert", dropout=0.3).train(), families.batch(LENGTHS)
    model.config.problem_type = SEVERAL
    several = replace(own, labels=torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]])[:, : model.num_labels])
    torch.manual_seed(1)
    (loss,) = RDrop(2.0)(model, several, BinaryCrossEntropy())
    torch.manual_seed(1)
    first, second = forward(model, twice(several)).chunk(2)
    total = 0.0
    for row, labels in enumerate(several.labels.tolist()):
        for place, label in enumerate(labels):
            p, q = (logits[row, place].sigmoid().item() for logits in (first, second))
            likelihood = math.log(p * q) if label else math.log((1 - p) * (1 - q))
            forth = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
            back = q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p))
            total += -likelihood / 2 + 2.0 / 4 * (forth + back)
    assert loss.item() == pytest.approx(total / several.labels.numel(), rel=1e-5)
    ones, others = Bernoulli(logits=first.double()), Bernoulli(logits=second.double())
    expected = kl_divergence(ones, others) + kl_divergence(others, ones)
    assert torch.allclose(divergences_of_labels(first.double(), second.double()), expected)


def test_without_dropout_it_is_plain_training():
    model, own = families.build("bert").train(), families.batch(LENGTHS)
    loss = CrossEntropy((0.5, 1.0, 1.5), 0.1)
    assert torch.allclose(next(RDrop(3.0)(model, own, loss)), next(plain(model, own, loss)))


def test_a_step_costs_two_passes():
    model, own = families.build("bert", dropout=0.1).train(), families.batch(LENGTHS)
    forwards, backwards = rows_through_layers(model, own, RDrop(1.0))
    counted = (forwards + 2 * backwards) / 3 / families.LAYERS
    assert counted == passes_per_step(None, 0.5, model, reads_per_step(Recipe("x", r_drop=1.0))) == 2


def test_it_is_chosen_by_the_recipe():
    assert unmixed_objective(Recipe("x", r_drop=2)) == RDrop(2)
    assert unmixed_objective(Recipe("x")) is plain


@pytest.mark.parametrize(
    ("settings", "mixes", "by_turns", "message"),
    [
        ({"r_drop": 1}, True, False, "--r-drop is for training without mixing: use it with --method plain"),
        ({"r_drop": 1}, False, True, "VAT is trained by turns, which has no --r-drop"),
        ({"average": "ema"}, False, True, "VAT is trained by turns, which has no --average"),
        ({"r_drop": 1, "contrastive": 0.1}, False, False, "leave one out"),
        ({"contrastive": 0.1, "accumulation": 2}, False, False, "use it with --accumulation 1, in one process"),
        ({"contrastive": 0, "contrastive_temperature": 0.2}, False, False, "--contrastive-temperature has no effect"),
        ({"contrastive": 0, "contrastive_memory": 9}, False, False, "--contrastive-memory has no effect"),
    ],
)
def test_techniques_that_do_not_fit_are_refused(settings, mixes, by_turns, message):
    with pytest.raises(InputError, match=message):
        check_techniques(Recipe("x", **settings), mixes, by_turns)


def test_several_processes_have_no_contrastive_loss(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="in one process"):
        check_techniques(Recipe("x", contrastive=0.1), False, False)
    check_techniques(Recipe("x", r_drop=0.1), False, False)
