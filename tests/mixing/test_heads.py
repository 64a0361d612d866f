"""Which head agrees with the gradient: against scipy's rank correlation on the model's own eager attention."""

import pytest
import torch
from scipy.stats import spearmanr

from families import FAMILIES, alone, batch
from salience.explainers import gradient
from salience.hooks.hooks import forward
from salience.mixing import rank_heads
from salience.mixing.heads import rank_correlation

HEADS = 2


def test_rank_correlation_is_scipys():
    first, second = torch.rand(4, 9, generator=torch.Generator().manual_seed(0)), torch.rand(4, 9)
    among = torch.arange(9) < torch.tensor([9, 5, 2, 3])[:, None]
    found = rank_correlation(first, second, among)
    for row, count in enumerate([9, 5, 2, 3]):
        expected = spearmanr(first[row, :count], second[row, :count]).statistic
        assert found[row].item() == pytest.approx(expected, abs=1e-12)
    assert rank_correlation(first, second, among & False).eq(0).all()
    assert rank_correlation(first, first, among).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("family", ["bert", "modernbert", "albert", "roberta"])
def test_heads_are_ranked_by_agreement_with_the_gradient(family):
    model = FAMILIES[family]().double()
    batches = [batch([5, 1, 9], seed=1, family=family), batch([7, 3], [4, 6], seed=2, family=family)]
    ranked = rank_heads(model, batches)
    saliencies = [gradient(model, own) for own in batches]

    expected = {}
    model.set_attn_implementation("eager")
    for own, saliency in zip(batches, saliencies, strict=True):
        for row in range(len(own)):
            words = (own.segment[row] > 0).nonzero().flatten()
            if len(words) < 2:
                continue
            text = alone(own, row)  # and unpadded: ModernBERT's eager padding becomes NaN
            for layer, weights in enumerate(eager_attention(model, text)):
                for head in range(HEADS):
                    received = weights[0, head][:, words].mean(0)
                    found = spearmanr(received, saliency[row][words]).statistic
                    expected.setdefault((layer, head), []).append(found)
    assert {(found.layer, found.head) for found in ranked} == set(expected)
    for found in ranked:
        values = expected[found.layer, found.head]
        assert len(values) == 4
        assert found.agreement == pytest.approx(sum(values) / 4, abs=1e-6)
    agreements = [found.agreement for found in ranked]
    assert agreements == sorted(agreements, reverse=True)
    assert max(agreements) - min(agreements) > 0.05


def eager_attention(model, own):
    """All layers' attention as the model itself gives it."""
    seen = {}
    handle = model.register_forward_hook(lambda module, arguments, result: seen.update(found=result.attentions))
    with torch.no_grad():
        forward(model, own, output_attentions=True)
    handle.remove()
    return seen["found"]


def test_ranking_leaves_the_model_as_it_was():
    model = FAMILIES["bert"](dropout=0.3).train()
    own = batch([5, 4, 9])
    first, again = rank_heads(model, [own]), rank_heads(model, [own])
    assert first == again  # no dropout
    assert all(module.training for module in model.modules())
    assert all(weight.grad is None for weight in model.parameters())


def test_texts_of_one_word_have_nothing_to_rank():
    with pytest.raises(ValueError, match="two words"):
        rank_heads(FAMILIES["bert"](), [batch([1, 0, 1])])
