"""The interpolating methods against their formula and their worked examples (methods.md 3.2 to 3.5), and the trunk
that the two passes of a training step share.
"""

import copy
import math
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.utils.flop_counter import FlopCounterMode

from families import (
    FAMILIES,
    LAYERS,
    MODELS,
    WITH_TOKEN_TYPES,
    batch,
    crossed,
    distinct_batch,
    layer_modules,
    padded,
    rearranged,
    some,
    with_mean,
)
from reference import close
from salience import Batch, DropoutMixup, EmbedMix, MixupEncoding, SenMixup, TMix, WordMixup, forward_mixed, mixed
from salience.hooks.hooks import forward
from salience.mixing.method import neighbours, shuffle, swap_halves

METHODS = [WordMixup, EmbedMix, TMix, MixupEncoding, SenMixup, DropoutMixup]
LEVELS = {
    WordMixup: {"words"},
    EmbedMix: {"embeddings"},
    TMix: {7 / 12, 9 / 12, 12 / 12},
    MixupEncoding: {1.0},
    SenMixup: {"sentence"},
    DropoutMixup: {"embeddings"},
}
every_method = pytest.mark.parametrize("method", METHODS)
every_family = pytest.mark.parametrize("family", some(FAMILIES, "bert", "albert", "deberta-v2", "modernbert-mean"))


def of_one_word(count: int) -> Batch:
    """The same text of one word so often: weights are drawn for each."""
    return rearranged(distinct_batch([1]), torch.zeros(count, dtype=torch.long))


def union_of(own: Batch, partner) -> torch.Tensor:
    return torch.maximum(own.attention_mask, own.attention_mask[partner])


# -------------------------------------------------------------------------------------------------- worked examples


@every_method
def test_gold_of_the_formula(method):
    """X_A = (1, 2), X_B = (3, -2), lambda = .75: (1.5, 1), and back (2.5, -1); w_A = lambda."""
    mix = method(ratio=0.75)(distinct_batch([1, 1]), None)
    vectors = torch.tensor([[1.0, 2.0], [3.0, -2.0]])
    if mix.level != "sentence":
        vectors = vectors[:, None]
    partner = torch.tensor([1, 0])
    mix = replace(mix, partner=partner)
    assert mix.blend(vectors).view(2, 2).tolist() == [[1.5, 1.0], [2.5, -1.0]]
    assert mix.share.tolist() == [0.75, 0.75]
    assert mix.targets(torch.tensor([0, 1]), 2).tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_gold_of_the_sentence():
    """W = [1, 2], b = 3, v_A = (1, 0), v_B = (0, 1), lambda = .25: 4.75, whether vectors are mixed or logits."""
    mix = SenMixup(ratio=0.25, pair=neighbours)(distinct_batch([1, 1]), None)
    vectors, weight, bias = torch.eye(2), torch.tensor([1.0, 2.0]), 3.0
    assert (mix.blend(vectors) @ weight + bias)[0].item() == 4.75
    assert mix.blend((vectors @ weight + bias)[:, None])[0].item() == 4.75


# ------------------------------------------------------------------------------------------- rules against the formula


@st.composite
def examples(draw):
    """A method with its settings, a batch in which anybody may be anybody's partner, and a representation."""
    kind = draw(st.sampled_from(METHODS))
    size, places, columns = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    partner = torch.tensor(draw(st.permutations(range(size))))
    ratio = draw(st.one_of(st.none(), st.sampled_from([0.0, 1.0]), st.floats(0, 1, width=32)))
    method = kind(
        alpha=draw(st.sampled_from([0.025, 0.1, 0.2, 1.0, 5.0])),
        largest=draw(st.booleans()),
        ratio=ratio,
        per_example=draw(st.booleans()),
        pair=lambda _: partner,
    )
    seed = draw(st.integers(0, 2**32))
    generator = torch.Generator().manual_seed(seed)
    shape = (size, columns) if kind is SenMixup else (size, places, columns)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 4, (size,), generator=generator)
    return method, partner, seed, vectors, labels


def interpolated(own: list, other: list, weight: float) -> list:
    """weight * own + (1 - weight) * other, number by number, however deep the lists."""
    if isinstance(own, list):
        return [interpolated(mine, theirs, weight) for mine, theirs in zip(own, other, strict=True)]
    return weight * own + (1 - weight) * other


@settings(max_examples=60)
@given(examples())
def test_against_the_formula_in_loops(example):
    """x~ = l x_A + (1 - l) x_B and y~ = l y_A + (1 - l) y_B, the same l on both sides, for every text and unit."""
    method, partner, seed, vectors, labels = example
    own = distinct_batch([1] * len(vectors))
    torch.default_generator.manual_seed(seed)
    mix = method(own, None)

    assert mix.level in LEVELS[type(method)]
    assert torch.equal(mix.partner, partner)
    assert mix.donor is None
    weights = mix.share.tolist()
    assert len(weights) == len(vectors)
    assert all(0 <= weight <= 1 for weight in weights)
    if method.ratio is not None:
        assert weights == pytest.approx([method.ratio] * len(weights), abs=1e-7)
    elif method.largest:
        assert min(weights) >= 0.5
    if not method.per_example:
        assert len(set(weights)) == 1
    elif method.ratio is None and method.alpha >= 1:
        assert len(set(weights)) == len(weights)

    targets, blended, rows = mix.targets(labels, 4), mix.blend(vectors), vectors.tolist()
    for row, weight in enumerate(weights):
        other = int(partner[row])
        expected = interpolated(rows[row], rows[other], weight)
        assert close(blended[row], torch.tensor(expected, dtype=torch.float64), 1e-6)
        label = [weight * (labels[row] == kind) + (1 - weight) * (labels[other] == kind) for kind in range(4)]
        assert close(targets[row], torch.tensor(label), 1e-6)


@crossed("per_example", [False, True], "method", METHODS)
def test_the_largest_side_is_the_larger_of_what_would_be_drawn(method, per_example):
    own, found = distinct_batch([1] * 40), []
    for largest in (False, True):
        torch.default_generator.manual_seed(3)
        found.append(method(alpha=0.7, largest=largest, per_example=per_example, pair=neighbours)(own, None).share)
    torch.default_generator.manual_seed(4)
    assert not torch.equal(method(alpha=0.7, per_example=per_example)(own, None).share, found[0])
    assert torch.equal(found[1], torch.maximum(found[0], 1 - found[0]))


@crossed("alpha", [0.2, 1.0, 2.5], "method", METHODS)
def test_weights_of_each_text_follow_beta(method, alpha):
    """Against the whole distribution, and its mean 1/2 and variance 1 / (4 (2 alpha + 1)) by themselves."""
    own = of_one_word(4000)
    drawn = method(alpha=alpha, largest=False, per_example=True, pair=shuffle)(own, None).share.double()
    assert stats.kstest(drawn.numpy(), stats.beta(alpha, alpha).cdf).pvalue > 1e-3
    deviation = math.sqrt(1 / (4 * (2 * alpha + 1)))
    assert drawn.mean().item() == pytest.approx(0.5, abs=4.5 * deviation / math.sqrt(4000))
    assert drawn.std().item() == pytest.approx(deviation, abs=0.015)


@every_method
def test_the_weight_of_a_batch_follows_beta(method):
    own = distinct_batch([1, 1])
    drawn = torch.stack([method(alpha=2.0, largest=False)(own, None).share for _ in range(500)]).double()
    assert torch.equal(drawn[:, 0], drawn[:, 1])
    assert stats.kstest(drawn[:, 0].numpy(), stats.beta(2, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize("alpha", [0.025, 0.05])
def test_the_smallest_alphas_of_the_papers_give_numbers(alpha):
    own = of_one_word(20000)
    drawn = WordMixup(alpha=alpha, per_example=True)(own, None).share
    assert drawn.isfinite().all()
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert drawn.mean().item() == pytest.approx(0.5, abs=0.02)


def test_defaults():
    """AM8: the paper names no alpha; Kong et al. take .1 (section 5.1). One weight a batch, as published code does."""
    for method in (WordMixup(), MixupEncoding(), SenMixup()):
        assert (method.alpha, method.largest, method.ratio, method.per_example) == (0.2, False, None, False)
        assert method.pair is shuffle
        assert method.guide is None
    method = DropoutMixup()
    assert (method.alpha, method.dropout, method.largest, method.per_example) == (0.1, 0.1, False, False)
    assert method.pair is shuffle
    assert method.guide is None


# ---------------------------------------------------------------------------------- wordMixup, MixupEncoding, senMixup


@every_family
def test_word_mixup_is_a_mixture_of_inputs(family):
    """Rows of the word table are mixed and the model is handed them: positions, LayerNorm and layers come after, all
    under the mask of both texts (padding has a row in the table, too)."""
    model, own, partner = FAMILIES[family]().double(), batch([7, 2, 5, 11], family=family), torch.tensor([3, 0, 1, 2])
    table = model.base_model.get_input_embeddings().weight
    rows = table[own.input_ids]
    types = {"token_type_ids": torch.zeros_like(own.input_ids)} if family in WITH_TOKEN_TYPES else {}
    with torch.no_grad():
        mixture = 0.75 * rows + 0.25 * rows[partner]
        expected = model(inputs_embeds=mixture, attention_mask=union_of(own, partner), **types).logits
        found = forward_mixed(model, own, WordMixup(ratio=0.75, pair=lambda _: partner)(own, None))
        assert not close(found, forward(model, own), 1e-2)
    assert close(found, expected)


@pytest.mark.parametrize("family", sorted(WITH_TOKEN_TYPES & set(FAMILIES)))
def test_mixed_pairs_have_the_token_types_of_whose_words_are_there(family):
    """A token has its own type, and a place that only the partner's words reach has that of the partner's token."""
    model, own, partner = FAMILIES[family]().double(), batch([3, 1, 2], [2, 7, 4], family=family), [1, 2, 0]
    rows, types = model.base_model.get_input_embeddings().weight[own.input_ids], torch.zeros_like(own.input_ids)
    for row, other in enumerate(partner):
        for place in range(types.shape[1]):
            whose = row if own.attention_mask[row, place] else other
            before = own.segment[whose, : place + 1].tolist()
            types[row, place] = int(2 in before and own.attention_mask[whose, place])
    assert not torch.equal(types, own.token_type_ids)
    with torch.no_grad():
        mixture, mask = 0.75 * rows + 0.25 * rows[partner], union_of(own, partner)
        expected = model(inputs_embeds=mixture, attention_mask=mask, token_type_ids=types).logits
        found = forward_mixed(model, own, WordMixup(ratio=0.75, pair=lambda _: torch.tensor(partner))(own, None))
    assert close(found, expected)


@pytest.mark.parametrize("family", sorted(WITH_TOKEN_TYPES))
def test_a_pair_of_which_nothing_is_kept_is_the_partner(family):
    model, own, partner = MODELS[family]().double(), batch([3, 1, 2], [2, 7, 4], family=family), [1, 2, 0]
    every, none = (WordMixup(ratio=ratio, pair=lambda _: torch.tensor(partner))(own, None) for ratio in (1.0, 0.0))
    with torch.no_grad():
        logits = forward(model, own)
        assert close(forward_mixed(model, own, every), logits)
        assert close(forward_mixed(model, own, none), logits[partner])


def test_word_mixup_gives_each_text_its_own_weight():
    model, own = FAMILIES["bert"]().double(), batch([7, 2, 5, 11])
    mix = WordMixup(alpha=1.0, per_example=True, pair=neighbours)(own, None)
    assert len(set(mix.share.tolist())) == 4
    rows, share = model.bert.embeddings.word_embeddings.weight[own.input_ids], mix.share.double()[:, None, None]
    with torch.no_grad():
        mixture = share * rows + (1 - share) * rows[[1, 0, 3, 2]]
        expected = model(inputs_embeds=mixture, attention_mask=union_of(own, [1, 0, 3, 2])).logits
        assert close(forward_mixed(model, own, mix), expected)


def test_word_mixup_and_embedmix_differ_by_the_layer_norm_alone():
    """Positions and types are the same for both texts of a place, and weights that sum to 1 carry them through."""
    own = batch([7, 2, 5, 11])
    for norm in (True, False):
        model = FAMILIES["bert"]().double()
        if not norm:
            model.bert.embeddings.LayerNorm = torch.nn.Identity()
        with torch.no_grad():
            words, embeddings = (
                forward_mixed(model, own, method(ratio=0.75, pair=neighbours)(own, None))
                for method in (WordMixup, EmbedMix)
            )
        assert close(words, embeddings) != norm
        assert not norm or not close(words, embeddings, 1e-2)


@every_family
def test_mixup_encoding_is_tmix_after_the_last_layer(family):
    model, own = FAMILIES[family]().double(), batch([7, 2, 5, 11, 4], family=family)
    here = MixupEncoding(ratio=0.75, pair=swap_halves)(own, None)
    there = TMix(levels=(1.0,), ratio=0.75)(own, None)
    assert here.level == there.level
    for field in ("partner", "keep", "share"):
        assert torch.equal(getattr(here, field), getattr(there, field))
    with torch.no_grad():
        found = forward_mixed(model, own, here)
        assert torch.equal(found, forward_mixed(model, own, there))
        assert close(found, forward_mixed(model, own, TMix(levels=(LAYERS,), ratio=0.75)(own, None)))


@every_family
def test_sentence_mixup_is_logit_mixup(family):
    """An affine map of a mixture is the mixture of the maps, for the weights sum to 1 and carry the bias."""
    model, own = FAMILIES[family]().double(), batch([7, 2, 5, 11], family=family)
    mix = SenMixup(alpha=1.0, per_example=True, pair=swap_halves)(own, None)
    with torch.no_grad():
        logits, share = forward(model, own), mix.share.double()[:, None]
        assert not close(logits, logits[mix.partner], 1e-1)
        assert close(forward_mixed(model, own, mix), share * logits + (1 - share) * logits[mix.partner], 1e-6)


def test_mixing_before_the_pooler_is_not_mixing_logits():
    """BERT's tanh lies in between; taken out, the two are the same, and only [CLS] is read."""
    own = batch([7, 2, 5, 11])
    method = MixupEncoding(ratio=0.75, pair=neighbours)
    for between in (torch.nn.Tanh(), torch.nn.Identity()):
        model = FAMILIES["bert"]().double()
        model.bert.pooler.activation = between
        with torch.no_grad():
            logits = forward(model, own)
            mixture = 0.75 * logits + 0.25 * logits[[1, 0, 3, 2]]
            found = forward_mixed(model, own, method(own, None))
        assert close(found, mixture, 1e-6) == isinstance(between, torch.nn.Identity)
        assert isinstance(between, torch.nn.Identity) or not close(found, mixture, 1e-2)


def test_mixup_encoding_by_hand():
    """BERT's states after the last layer, mixed, then pooler and classifier."""
    model, own = FAMILIES["bert"]().double(), batch([7, 2, 5, 11])
    with torch.no_grad():
        states = model.bert(input_ids=own.input_ids, attention_mask=own.attention_mask).last_hidden_state
        expected = model.classifier(model.bert.pooler(0.75 * states + 0.25 * states[[1, 0, 3, 2]]))
        found = forward_mixed(model, own, MixupEncoding(ratio=0.75, pair=neighbours)(own, None))
    assert close(found, expected)


# ------------------------------------------------------------------------------------------------------- Dropout+Mixup


def at_first_layer(model, own: Batch, mix) -> torch.Tensor:
    """What the first layer reads: the embeddings, mixed (B, T, D)."""
    seen = []

    def before(module, arguments, named):
        seen.append(arguments[0] if arguments else named["hidden_states"])

    handle = layer_modules(model)[0].register_forward_pre_hook(before, with_kwargs=True)
    with torch.no_grad():
        forward_mixed(model, own, mix)
    handle.remove()
    return seen[0]


def embedded(model, own: Batch) -> torch.Tensor:
    with torch.no_grad():
        return model.bert.embeddings(input_ids=own.input_ids)


@every_family
def test_without_dropout_it_is_mixup(family):
    """p = 0, in training; and in evaluation whatever p is."""
    model, own = FAMILIES[family]().double(), batch([7, 2, 5, 11], family=family)
    mixup = EmbedMix(ratio=0.75, largest=False, pair=neighbours)(own, None)
    off, on = (DropoutMixup(ratio=0.75, pair=neighbours, dropout=rate)(own, None) for rate in (0.0, 0.5))
    with torch.no_grad():
        expected = forward_mixed(model, own, mixup)
        assert torch.equal(forward_mixed(model, own, on), expected)
        assert torch.equal(forward_mixed(model, own, off), expected)
        model.train()
        assert torch.equal(forward_mixed(model, own, off), expected)
        assert not close(forward_mixed(model, own, on), expected, 1e-2)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.8])
def test_what_is_kept_grows_by_what_is_dropped(rate):
    """Every entry is 0 or x / (1 - p), about p of them 0, in the rows of all texts and over the whole width."""
    model, own = FAMILIES["bert"]().double().train(), batch([30] * 12)
    clean = embedded(model, own)
    found = at_first_layer(model, own, DropoutMixup(ratio=1.0, dropout=rate)(own, None))
    kept = found != 0
    assert close(found[kept], clean[kept] / (1 - rate), 1e-6)
    deviation = math.sqrt(rate * (1 - rate))
    for axes in ((1, 2), (0, 2), (0, 1)):  # by text, by place, by dimension
        part = 1 - kept.double().mean(axes)
        count = kept.numel() / len(part)
        assert (part - rate).abs().max() < 4.5 * deviation / math.sqrt(count)
    assert len({tuple(row) for row in kept.flatten(1).tolist()}) == 12  # no text shares another's mask


@pytest.mark.parametrize("ratio", [0.75, 0.3])
def test_the_partner_comes_with_its_own_mask(ratio):
    """x~ = (l M_A x_A + (1 - l) M_B x_B) / (1 - p), and M_B is what B itself is dropped out by."""
    model, own, partner = FAMILIES["bert"]().double().train(), batch([7, 2, 5, 11]), torch.tensor([2, 3, 1, 0])
    mix = DropoutMixup(ratio=ratio, dropout=0.4, pair=lambda _: partner)(own, None)
    clean = embedded(model, own)
    dropped = at_first_layer(model, own, replace(mix, keep=torch.ones_like(mix.keep)))
    masks = (dropped != 0).double()
    assert not torch.equal(masks, masks[partner])
    expected = (ratio * masks * clean + (1 - ratio) * masks[partner] * clean[partner]) / 0.6
    assert close(at_first_layer(model, own, mix), expected, 1e-6)


def test_on_average_it_is_the_mixture():
    """E[x~] = l x_A + (1 - l) x_B; each entry's deviation is at most that of l x_A and (1 - l) x_B together."""
    model, own = FAMILIES["bert"](layers=1).double().train(), batch([4, 2])
    clean, draws = embedded(model, own), 200
    expected = 0.75 * clean + 0.25 * clean[[1, 0]]
    total = torch.zeros_like(clean)
    for _ in range(draws):
        total += at_first_layer(model, own, DropoutMixup(ratio=0.75, dropout=0.3, pair=neighbours)(own, None))
    deviation = (0.3 / 0.7 * ((0.75 * clean) ** 2 + (0.25 * clean[[1, 0]]) ** 2)).sqrt() / math.sqrt(draws)
    assert ((total / draws - expected).abs() < 4.5 * deviation).all()


def test_a_mix_is_drawn_once_however_often_it_is_computed():
    """Activation checkpointing computes it twice. Nothing is drawn on the way, and two Mixes are two draws."""
    model, own = FAMILIES["bert"]().double().train(), batch([7, 2, 5, 11])
    method = DropoutMixup(ratio=0.75, dropout=0.3, pair=neighbours)
    first, second = method(own, None), method(own, None)
    state = torch.get_rng_state()
    with torch.no_grad():
        logits = forward_mixed(model, own, first)
        assert torch.equal(forward_mixed(model, own, first), logits)
        assert not close(forward_mixed(model, own, second), logits, 1e-3)
    assert torch.equal(torch.get_rng_state(), state)


@every_family
def test_padding_draws_no_other_mask(family):
    model, own = FAMILIES[family]().double().train(), batch([7, 2, 5, 11], family=family)
    mix = DropoutMixup(ratio=0.75, dropout=0.3, pair=neighbours)(own, None)
    with torch.no_grad():
        narrow = forward_mixed(model, own, mix)
        for columns in (1, 6, 21):
            assert close(forward_mixed(model, padded(own, columns, family), mix), narrow)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_decides_on_the_mask(seed):
    model, own = FAMILIES["bert"]().double().train(), batch([7, 2, 5, 11])
    found = []
    for again in (seed, seed, seed + 5):
        torch.default_generator.manual_seed(again)
        mix = DropoutMixup(ratio=0.75, pair=neighbours)(own, None)
        with torch.no_grad():
            found.append(forward_mixed(model, own, mix))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


# ---------------------------------------------------------------------------------------------------- the shared trunk

SHARING = {f"TMix at {level}": TMix(levels=(level,), ratio=0.75) for level in range(1, LAYERS + 1)}
SHARING |= {"MixupEncoding": MixupEncoding(ratio=0.75, pair=swap_halves)}
SHARING |= {"SenMixup": SenMixup(ratio=0.75, pair=swap_halves)}
REACHED = {f"TMix at {level}": level for level in range(1, LAYERS + 1)} | {"MixupEncoding": LAYERS, "SenMixup": LAYERS}
every_sharing = pytest.mark.parametrize("name", SHARING)


def stepped(model, own: Batch, method, **options) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The losses and gradients of a step, from weights without gradients."""
    model.zero_grad(set_to_none=True)
    losses = []
    for loss in mixed(method, **options)(model, own):
        loss.backward()
        losses.append(loss.item())
    return losses, {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def assert_same(found: tuple, expected: tuple) -> None:
    assert found[0] == pytest.approx(expected[0], abs=1e-6)
    assert found[1].keys() == expected[1].keys()
    largest = max(float(value.abs().max()) for value in expected[1].values())
    assert largest > 1e-3
    for name in expected[1]:
        assert close(found[1][name], expected[1][name], 1e-6 * largest), name


@crossed("family", FAMILIES, "name", SHARING)
def test_sharing_the_trunk_changes_neither_losses_nor_gradients(family, name):
    """Without dropout. Single texts and pairs, ragged, an empty one and an odd number among them."""
    model = FAMILIES[family]().double().train()
    for lengths, pairs in (([5, 2, 9, 4, 0], None), ([5, 2, 9], [3, 1, 6])):
        own = batch(lengths, pairs, family=family)
        shared, apart = (stepped(model, own, SHARING[name], shared_trunk=shared) for shared in (True, False))
        assert len(shared[0]) == 2
        assert_same(shared, apart)


@every_family
def test_sharing_is_the_default(family):
    """And a third of the loss on clean texts is a third, trunk or not."""
    model, own = FAMILIES[family]().double().train(), batch([5, 2, 9, 4], family=family)
    method = SHARING["TMix at 2"]
    one, other = stepped(model, own, method, clean=1 / 3), stepped(model, own, method, clean=1 / 3, shared_trunk=False)
    assert_same(one, other)
    assert calls(model, own, mixed(method, 1 / 3)) == (2 * LAYERS - 2, 2 * LAYERS - 2)


def calls(model, own: Batch, objective) -> tuple[int, int]:
    """How often layers run in a step, forward and backward; ALBERT's one layer counts each time it is called."""
    forwards, backwards = [], []

    def after(module, arguments, result):
        value = result[0] if isinstance(result, tuple) else result
        forwards.append(module)
        if value.requires_grad:
            value.register_hook(lambda gradient: backwards.append(module))

    handles = [layer.register_forward_hook(after) for layer in layer_modules(model)]
    for loss in objective(model, own):
        loss.backward()
    for handle in handles:
        handle.remove()
    return len(forwards), len(backwards)


@crossed("family", FAMILIES, "name", SHARING)
def test_layers_below_the_level_run_once(family, name):
    """24 - m of BERT's layers (methods.md 3.4 and section 5): all of them for the clean texts, and those above the
    level again for the mixed ones; apart, all of them twice."""
    model, own = FAMILIES[family]().double().train(), batch([5, 2, 9, 4], family=family)
    above = LAYERS - REACHED[name]
    assert calls(model, own, mixed(SHARING[name], 0.5)) == (LAYERS + above, LAYERS + above)
    assert calls(model, own, mixed(SHARING[name], 0.5, shared_trunk=False)) == (2 * LAYERS, 2 * LAYERS)
    assert calls(model, own, mixed(SHARING[name], 0.0)) == (LAYERS, LAYERS)


@every_sharing
def test_sentence_vectors_share_a_pooling_layer(name):
    """It has no dropout, so that both passes have the same vectors. Where texts meet below, it runs twice."""
    model, own = with_mean("bert").double().train(), batch([5, 2, 9, 4])
    runs = []
    handle = model.bert.encoder.layer[-1].register_forward_hook(lambda *_: runs.append(1))
    shared = stepped(model, own, SHARING[name])
    handle.remove()
    assert len(runs) == (1 if name == "SenMixup" else 2)
    assert_same(shared, stepped(model, own, SHARING[name], shared_trunk=False))


@every_sharing
def test_the_price_of_a_step_in_operations(name):
    """Matrix products with weights: three times those of a forward pass through 2 L - k layers and two heads."""
    model, own = FAMILIES["bert"]().double().train(), batch([5, 2, 9, 4])
    texts, places, width, inner, classes = *own.input_ids.shape, 16, 32, 3
    layer = 2 * texts * places * (4 * width * width + 2 * width * inner)
    head = 2 * texts * (width * width + width * classes)
    with FlopCounterMode(display=False) as counter:
        stepped(model, own, SHARING[name])
    counts = {str(kind): number for kind, number in counter.get_flop_counts()["Global"].items()}
    assert counts["aten.addmm"] + counts["aten.mm"] == 3 * ((2 * LAYERS - REACHED[name]) * layer + 2 * head)


def test_where_texts_meet_below_the_layers_nothing_is_shared():
    model, own = FAMILIES["bert"]().double().train(), batch([5, 2, 9, 4])
    for method in (EmbedMix(ratio=0.75), WordMixup(ratio=0.75), DropoutMixup(), TMix(levels=("embeddings",))):
        assert calls(model, own, mixed(method, 0.5)) == (2 * LAYERS, 2 * LAYERS)


@crossed("name", SHARING, "family", ["bert", "mpnet", "albert"])
def test_gradients_that_are_there_already_stay(family, name):
    """As when a large batch is cut into pieces: the trunk adds to them, once."""
    model, own = FAMILIES[family]().double().train(), batch([5, 2, 9, 4], family=family)
    _, expected = stepped(model, own, SHARING[name], shared_trunk=False)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, 1.5)
    for loss in mixed(SHARING[name])(model, own):
        loss.backward()
    found = {key: weight.grad - 1.5 for key, weight in model.named_parameters() if key in expected}
    assert_same(([0], found), ([0], expected))


@every_family
def test_frozen_layers_below_the_level(family):
    """Users freeze them: there is nothing to back-propagate through, and the layers above learn all the same."""
    model, own = FAMILIES[family]().double().train(), batch([5, 2, 9, 4], family=family)
    for weight in [*model.base_model.embeddings.parameters(), *layer_modules(model)[0].parameters()]:
        weight.requires_grad_(False)
    for level in (1, 2):
        method = TMix(levels=(level,), ratio=0.75)
        assert_same(stepped(model, own, method), stepped(model, own, method, shared_trunk=False))


def test_everything_but_the_head_is_frozen():
    model, own = FAMILIES["bert"]().double().train(), batch([5, 2, 9, 4])
    model.bert.requires_grad_(False)
    for method in SHARING.values():
        found = stepped(model, own, method)
        assert set(found[1]) == {"classifier.weight", "classifier.bias"}
        assert_same(found, stepped(model, own, method, shared_trunk=False))


def test_both_passes_share_the_dropout_of_the_trunk():
    """Kept wholly, a mixture after the last layer is the clean text itself, noise and all; apart, noise differs."""
    model, own = FAMILIES["bert"](dropout=0.4).double().train(), batch([5, 2, 9, 4])
    model.dropout.p = 0.0  # after the pooler: that is above the trunk
    method = MixupEncoding(ratio=1.0)
    one, other = stepped(model, own, method)[0]
    assert one == pytest.approx(other, abs=1e-9)
    one, other = stepped(model, own, method, shared_trunk=False)[0]
    assert abs(one - other) > 1e-3


class Broken(Exception):
    pass


@contextmanager
def failing(module, call: int):
    """Inside the `with`, that call of the module (0 first) ends in an error."""
    turn = iter(range(1000))

    def fail(*_):
        if next(turn) == call:
            raise Broken

    handle = module.register_forward_pre_hook(fail)
    try:
        yield
    finally:
        handle.remove()


def parts(model) -> list:
    return [(name, id(module)) for name, module in model.named_modules()]


@every_family
def test_the_layers_are_back_in_their_places(family):
    """While the mixed texts pass, something else stands for the layers below; not before the last loss is given out,
    and not after an error on the way, in the caller, or when a step is given up."""
    model, own = FAMILIES[family]().double().train(), batch([5, 2, 9, 4], family=family)
    head = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    before, during = parts(model), []
    for name, method in SHARING.items():
        objective = mixed(method)
        handle = head.register_forward_pre_hook(lambda *_: during.append(parts(model)))
        for loss in objective(model, own):
            assert parts(model) == before
            loss.backward()
        handle.remove()
        assert parts(model) == before
        assert during[-2] == before
        assert during[-1] != before, name

        with pytest.raises(Broken), failing(head, 1):
            for loss in objective(model, own):
                loss.backward()
        assert parts(model) == before

        losses = objective(model, own)
        next(losses).backward()
        next(losses)
        losses.close()
        assert parts(model) == before

        with pytest.raises(Broken):
            for turn, loss in enumerate(objective(model, own)):
                if turn == 1:
                    raise Broken
                loss.backward()
        assert parts(model) == before


@every_family
def test_an_error_in_a_layer_above_leaves_the_layers_below(family):
    model, own = FAMILIES[family]().double().train(), batch([5, 2, 9, 4], family=family)
    before, expected = parts(model), stepped(model, own, SHARING["TMix at 1"])
    one_layer = len(layer_modules(model)) == 1  # ALBERT's, called for every level; the trunk has taken its first turn
    last = layer_modules(model)[-1]
    with pytest.raises(Broken), failing(last, LAYERS + 1 if one_layer else 1):
        stepped(model, own, SHARING["TMix at 1"])
    assert parts(model) == before
    assert_same(stepped(model, own, SHARING["TMix at 1"]), expected)


@pytest.mark.parametrize("shared", [True, False])
def test_the_graph_of_the_clean_pass_is_gone_before_the_mixed_one_is_built(shared):
    """No two passes are in memory together: what the layers above the level gave is freed with the first backward.

    The layers below are kept where they are shared, for they are back-propagated last.
    """
    model, own = FAMILIES["bert"]().double().train(), batch([5, 2, 9, 4])
    seen = {1: [], 2: []}
    for number, layer in enumerate(model.bert.encoder.layer[:2], start=1):
        # What stands before the layer's last LayerNorm: kept for the backward pass, and by nobody else.
        layer.output.dense.register_forward_hook(
            lambda module, read, given, at=number: seen[at].append(weakref.ref(read[0]))
        )
    alive = []
    layer.output.dense.register_forward_pre_hook(lambda *_: alive.append([ref() is not None for ref in seen[2]]))

    losses = mixed(TMix(levels=(1,), ratio=0.75), shared_trunk=shared)(model, own)
    loss = next(losses)
    assert [ref() is not None for ref in seen[2]] == [True]  # the graph of the clean pass holds it
    loss.backward()
    assert [ref() is not None for ref in seen[2]] == [False]
    assert [ref() is not None for ref in seen[1]] == [shared]
    loss = next(losses)
    assert alive == [[], [False]]
    assert [ref() is not None for ref in seen[2]] == [False, True]
    loss.backward()
    assert next(losses, None) is None
    assert not any(ref() is not None for refs in seen.values() for ref in refs)


def test_a_step_leaves_the_model_as_it_was():
    """The method object, the texts and the modules' modes, too: two steps in a row are the same step."""
    model, own = FAMILIES["albert"]().double().train(), batch([5, 2, 9, 4], family="albert")
    before = copy.deepcopy(own)
    first, again = (stepped(model, own, SHARING["TMix at 2"]) for _ in range(2))
    assert_same(first, again)
    assert torch.equal(own.input_ids, before.input_ids)
    assert torch.equal(own.attention_mask, before.attention_mask)
    assert all(module.training for module in model.modules())
