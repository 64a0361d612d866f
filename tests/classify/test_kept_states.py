"""States below the first trained layer: what is computed from them, how often, and that no other text has a part."""

import pytest
import torch
import torch.nn.functional as F

import families
from salience.classify import kept_states
from salience.classify.kept_states import KeptStates
from salience.explainers.attention import Attention
from salience.hooks.hooks import evaluating, forward

LEVEL = 2
NAMES = [name for name in families.MODELS if name not in ("albert", "attention")]  # one layer, or none, at all levels


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(kept_states, "_shelves", {})


@pytest.fixture(params=NAMES)
def case(request):
    model = families.MODELS[request.param](0, 3, 0.5).eval()
    texts = families.batch([3, 9, 1, 5, 9], [None, 2, 4, None, None], family=request.param.partition(",")[0])
    return model, texts


def rows_of(batch, *rows):
    return families.rearranged(batch, torch.tensor(rows))


def kept_logits(model, batch, states):
    with torch.no_grad(), states.beginning(model, batch):
        return forward(model, batch)


def test_logits_are_those_of_the_whole_model(case):
    model, texts = case
    with torch.no_grad():
        expected = forward(model, texts)
    torch.testing.assert_close(kept_logits(model, texts, KeptStates(model, LEVEL)), expected, atol=2e-5, rtol=1e-5)


def test_gradients_above_are_those_of_the_whole_model(case):
    """In evaluation mode, in which the whole model has no dropout below the level either."""
    model, texts = case
    gradients = []
    for states in (None, KeptStates(model, LEVEL)):
        model.zero_grad()
        if states is None:
            F.cross_entropy(forward(model, texts), texts.labels).backward()
        else:
            with states.beginning(model, texts):
                F.cross_entropy(forward(model, texts), texts.labels).backward()
        gradients.append({name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None})
    whole, above = gradients
    layer = families.layer_modules(model)[LEVEL]
    own = {name for name, weight in model.named_parameters() if any(weight is each for each in layer.parameters())}
    assert own & above.keys() == own & whole.keys() != set()
    for name in own & above.keys():
        torch.testing.assert_close(above[name], whole[name], atol=2e-4, rtol=1e-3)


def test_states_are_the_same_alone_in_company_and_beyond_the_limit(case):
    model, texts = case
    alone = []
    for row in range(len(texts)):
        kept_states._shelves.clear()
        kept_logits(model, rows_of(texts, row), KeptStates(model, LEVEL))
        (shelf,) = kept_states._shelves.values()
        alone += shelf.states.values()
    kept_states._shelves.clear()
    together = kept_logits(model, families.padded(texts, 3), KeptStates(model, LEVEL))
    (shelf,) = kept_states._shelves.values()
    assert all(map(torch.equal, shelf.states.values(), alone))
    kept_states._shelves.clear()
    assert torch.equal(kept_logits(model, families.padded(texts, 3), KeptStates(model, LEVEL, limit=0)), together)
    assert kept_states.kept_bytes() == 0


def test_layers_below_run_once_a_text_and_without_dropout(case):
    model, texts = case
    below, above = families.layer_modules(model)[LEVEL - 1 : LEVEL + 1]
    calls = []
    below.register_forward_hook(lambda module, *_: calls.append(("below", module.training)))
    above.register_forward_hook(lambda module, *_: calls.append(("above", module.training)))
    model.train()
    states = KeptStates(model, LEVEL)
    for rows in ((0, 1, 2), (2, 1, 0), (1, 3)):
        kept_logits(model, rows_of(texts, *rows), states)
    assert calls.count(("below", False)) == 4 and ("below", True) not in calls
    assert calls.count(("above", True)) == 3 and ("above", False) not in calls
    assert model.training and below.training


def test_another_lower_part_has_other_states():
    model, texts = families.build("bert").eval(), families.batch([3, 4])
    before = kept_logits(model, texts, KeptStates(model, LEVEL))
    with torch.no_grad():
        families.layer_modules(model)[LEVEL].output.dense.weight.add_(1)  # above: the states stay
    assert KeptStates(model, LEVEL).digest == next(iter(kept_states._shelves))[0]
    with torch.no_grad():
        families.layer_modules(model)[0].output.dense.weight.add_(1)
    after = kept_logits(model, texts, KeptStates(model, LEVEL))
    assert len(kept_states._shelves) == 2 and not torch.equal(before, after)


def test_a_pair_and_a_single_text_of_the_same_tokens_are_kept_apart():
    model = families.build("bert").eval()
    pair = families.batch([2], [3])
    single = type(pair)(pair.input_ids, pair.attention_mask, (pair.segment > 0).long(), pair.labels)
    assert torch.equal(pair.input_ids, single.input_ids)
    states = KeptStates(model, LEVEL)
    with evaluating(model), torch.no_grad():
        for batch in (pair, single):
            torch.testing.assert_close(kept_logits(model, batch, states), forward(model, batch), atol=1e-5, rtol=1e-5)
    assert len(next(iter(kept_states._shelves.values())).states) == 2


@pytest.mark.parametrize("name", ["bert", "mpnet", "deberta-v2", "bert, mean"])
def test_attention_above_is_that_of_the_whole_model(name):
    """MPNet and DeBERTa return it with what a layer returns; of the others it is captured where it is computed."""
    model = families.MODELS[name](0, 3).eval()
    texts = families.batch([3, 9, 1], family=name.partition(",")[0])
    explainer, states = Attention(layer=LEVEL), KeptStates(model, LEVEL)
    expected = explainer(model, texts)
    with states.beginning(model, texts):
        torch.testing.assert_close(explainer(model, texts), expected, atol=1e-5, rtol=1e-4)


def test_a_text_without_a_token(case):
    """Of tokenizers without special tokens."""
    model, texts = case
    texts.attention_mask[2] = 0
    with torch.no_grad():
        expected = forward(model, texts)
    found = kept_logits(model, texts, KeptStates(model, LEVEL))
    torch.testing.assert_close(found[[0, 1, 3, 4]], expected[[0, 1, 3, 4]], atol=2e-5, rtol=1e-5)
    assert torch.equal(found.isfinite(), expected.isfinite())  # ModernBERT's own mean of nothing is no number
