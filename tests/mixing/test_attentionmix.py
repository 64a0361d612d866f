"""AttentionMix against the paper, its worked examples (methods.md 3.1) and slow loops."""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from families import FAMILIES, LAYERS, batch, crossed, distinct_batch, layer_modules, padded, some
from reference import close, soft_cross_entropy
from reference_attention import attentionmix_reference, eager_attention, mixture, relevances
from salience import AttentionMix, Batch, forward_mixed, mixed
from salience.explainers import Attention
from salience.hooks.hooks import forward
from salience.mixing.method import neighbours, shuffle

# DeBERTa-v2 and MPNet say that they compute all heads: tests/explainers/test_attention.py's business.
pytestmark = pytest.mark.filterwarnings("ignore:.*attention interface")
every_family = pytest.mark.parametrize("family", some(FAMILIES, "bert", "albert", "deberta-v2", "modernbert-mean"))


def texts(*lengths: int, columns: int = 0, labels=None) -> Batch:
    """Texts of that many tokens, all of them words: how long a text is counts here, not what it says."""
    width = max(*lengths, columns)
    mask = torch.tensor([[int(place < length) for place in range(width)] for length in lengths])
    ids = 1000 * torch.arange(1, len(lengths) + 1)[:, None] + torch.arange(width)
    return Batch(ids * mask, mask, mask.clone(), torch.arange(len(lengths)) if labels is None else labels)


def exact(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def scored(rows: list[list[float]], columns: int = 0) -> torch.Tensor:
    width = max(*map(len, rows), columns)
    return torch.tensor([row + [0.0] * (width - len(row)) for row in rows], dtype=torch.float64)


def random_scores(own: Batch, seed: int = 0) -> torch.Tensor:
    """As attention gives them: positive, 1 in sum over a text, 0 on padding."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(own.input_ids.shape, generator=generator, dtype=torch.float64)
    return drawn.masked_fill(own.attention_mask == 0, -torch.inf).softmax(1).nan_to_num()


def even(own: Batch) -> torch.Tensor:
    """Every token receives as much as any other of its text."""
    return own.attention_mask.double() / own.attention_mask.sum(1, keepdim=True).clamp(min=1)


def rule(own: Batch, scores: torch.Tensor, **fields):
    return AttentionMix(**({"pair": neighbours} | fields))(own, scores)


# -------------------------------------------------------------------------------------------------- worked examples

A1 = [[0.5, 0.5], [0.25, 0.75]]
A2 = [[1.0, 0.0], [0.5, 0.5]]


@pytest.fixture
def giving(monkeypatch):
    """Makes every model attend as told: `giving(weights)` with one list of heads for each text."""

    def give(weights):
        given = torch.tensor(weights, dtype=torch.float64)
        monkeypatch.setattr("salience.explainers.attention.attention", lambda model, batch, layer, head: given)

    return give


def test_gold_a(giving):
    giving([[A1], [A2]])
    own = texts(2, 2)
    scores = AttentionMix().guide(None, own)
    assert close(scores, scored([[3 / 8, 5 / 8], [3 / 4, 1 / 4]]))
    mix = rule(own, scores)
    assert close(mix.keep[..., 0], scored([[1 / 3, 5 / 7], [2 / 3, 2 / 7]]))
    assert close(mix.share, exact([11 / 21, 10 / 21]))
    assert mix.share[0].item() == pytest.approx(0.5238095, abs=1e-7)
    words = exact([[[1, 0], [0, 1]], [[0, 0], [2, 4]]])
    assert close(mix.blend(words)[0], exact([[1 / 3, 0], [4 / 7, 13 / 7]]))
    assert close(mix.targets(own.labels, 2), exact([[11 / 21, 10 / 21]] * 2))


def test_gold_a_is_not_changed_by_what_padding_gives_and_gets(giving):
    """Padding's own row is some distribution or other; it must not enter the mean, nor n grow."""
    junk = [0.3, 0.3, 0.4]
    giving([[[[*A1[0], 0.0], [*A1[1], 0.0], junk]], [[[*A2[0], 0.0], [*A2[1], 0.0], junk]]])
    own = texts(2, 2, columns=3)
    scores = AttentionMix().guide(None, own)
    assert close(scores, scored([[3 / 8, 5 / 8, 0], [3 / 4, 1 / 4, 0]]))
    assert close(rule(own, scores).share, exact([11 / 21, 10 / 21]))


def test_what_padding_is_given_is_struck_out(giving):
    """The formula's last factor, m_j: a model may let tokens look at padding, and it must not be mixed by that."""
    giving([[[[0.4, 0.4, 0.2], [0.2, 0.6, 0.2], [1.0, 0.0, 0.0]]]])
    assert close(AttentionMix().guide(None, texts(2, columns=3)), exact([[0.3, 0.5, 0]]))


def test_gold_b_a_layer_is_the_mean_of_its_heads(giving):
    giving([[A1, [[0.1, 0.9], [0.3, 0.7]]]])
    assert close(AttentionMix().guide(None, texts(2)), scored([[0.2875, 0.7125]]))


@pytest.mark.parametrize("columns", [3, 4, 9])
def test_gold_c_lengths_three_and_two_however_padded(columns):
    """A mean that counts the place where both are padding, at one half, would give 121/224."""
    own, scores = texts(3, 2, columns=columns), scored([[0.2, 0.3, 0.5], [0.5, 0.5]], columns)
    mix = rule(own, scores)
    assert close(mix.keep[0, :3, 0], exact([2 / 7, 3 / 8, 1]))
    assert close(mix.keep[1, :3, 0], exact([5 / 7, 5 / 8, 0]))
    assert close(mix.share, exact([31 / 56, 25 / 56]))
    assert mix.share[0].item() == pytest.approx(0.5535714, abs=1e-7)


def test_gold_c_over_ones_own_tokens():
    """AM4's alternative: the longer text counts three places, the shorter two."""
    own, scores = texts(3, 2, columns=4), scored([[0.2, 0.3, 0.5], [0.5, 0.5]], 4)
    share = rule(own, scores, denominator="own").share
    assert close(share, exact([31 / 56, (5 / 7 + 5 / 8) / 2]))


@pytest.mark.parametrize(
    ("own_length", "other_length", "expected"), [(30, 10, 3 / 4), (3, 1, 3 / 4), (2, 5, 2 / 7), (7, 7, 1 / 2)]
)
def test_gold_even_attention_shares_by_length(own_length, other_length, expected):
    """n / (n + n'), exactly."""
    own = texts(own_length, other_length, columns=33)
    assert close(rule(own, even(own)).share, exact([expected, 1 - expected]))


@pytest.mark.parametrize(("own_length", "other_length", "expected"), [(30, 10, 5 / 6), (3, 1, 5 / 6), (2, 5, 1 / 5)])
def test_gold_even_attention_not_divided_by_length(own_length, other_length, expected):
    """1 - n'/(2 n) for the longer text (.8333 for 30 and 10): what sums over queries would come to."""
    own = texts(own_length, other_length)
    sums = own.attention_mask.double()
    assert close(rule(own, sums).share, exact([expected, 1 - expected]))


def even_bert():
    """Without queries every token attends to all of its text alike."""
    model = FAMILIES["bert"]().double()
    for name, weight in model.named_parameters():
        if ".query." in name:
            torch.nn.init.zeros_(weight)
    return model


@crossed("layer", range(LAYERS), "head", [None, 0, 1])
def test_a_model_with_even_attention_shares_by_length(layer, head):
    """The closed form from ids to share: any padding in the means would show."""
    own = padded(batch([28, 8, 1, 0]), 3)
    method = AttentionMix(layer=layer, head=head, pair=neighbours)
    share = method(own, method.guide(even_bert(), own)).share
    assert close(share, exact([30 / 40, 10 / 40, 3 / 5, 2 / 5]))
    method = replace(method, mean=False)
    share = method(own, method.guide(even_bert(), own)).share
    assert close(share, exact([5 / 6, 1 / 6, 2 / 3, 1 / 3]))


def test_without_special_tokens_by_hand():
    """[CLS] a a [SEP] meets [CLS] b [SEP]: only the first words are mixed, and two places are counted."""
    own = distinct_batch([2, 1], extra_padding=1)
    scores = scored([[0.4, 0.1, 0.2, 0.3], [0.3, 0.3, 0.4]], 5)
    mix = rule(own, scores, specials=False)
    assert close(mix.keep[0, :4, 0], exact([1, 0.25, 1, 1]))
    assert close(mix.keep[1, :4, 0], exact([1, 0.75, 1, 0]))
    assert close(mix.share, exact([(0.25 + 1) / 2, (0.75 + 1) / 2]))
    assert close(rule(own, scores, specials=False, denominator="own").share, exact([0.625, 0.75]))


# ----------------------------------------------------------------------------------------------- against the loops


@st.composite
def examples(draw):
    """A ragged batch of texts or pairs, its scores and a pairing; empty, one-word and equal texts, a row of nothing
    but padding, scores with ties and with nothing to divide by."""
    size = draw(st.integers(1, 7))
    some = st.one_of(st.integers(0, 3), st.integers(0, 16))
    alike = draw(st.sampled_from([False, False, False, True]))
    lengths = [draw(some)] * size if alike else draw(st.lists(some, min_size=size, max_size=size))
    seconds = None
    if not alike and draw(st.booleans()):
        seconds = draw(st.lists(st.one_of(st.none(), some), min_size=size, max_size=size))
    family = draw(st.sampled_from(["bert", "roberta"]))
    own = distinct_batch(lengths, seconds, extra_padding=draw(st.integers(0, 3)), family=family)
    if draw(st.sampled_from([False] * 4 + [True])):
        there = torch.ones(size, 1, dtype=torch.long)
        there[draw(st.integers(0, size - 1))] = 0
        own = replace(own, attention_mask=own.attention_mask * there, segment=own.segment * there)

    seed = draw(st.integers(0, 2**32))
    generator = torch.Generator().manual_seed(seed)
    if draw(st.booleans()):
        scores = random_scores(own, seed)
    else:  # few values, 0 among them
        scores = torch.randint(0, 4, own.input_ids.shape, generator=generator).double() * own.attention_mask
    if alike:
        scores = (scores[:1] * own.attention_mask).clone()
        own = replace(own, input_ids=own.input_ids[:1].expand(size, -1).clone())
    if draw(st.booleans()):
        scores = scores.float()
    partner = torch.tensor(draw(st.permutations(range(size))))
    return own, scores, partner, draw(st.booleans()), draw(st.sampled_from(["both", "own"]))


@settings(max_examples=60)
@given(examples())
def test_against_the_loops(example):
    own, scores, partner, specials, denominator = example
    method = AttentionMix(specials=specials, denominator=denominator, pair=lambda _: partner)
    mix = method(own, scores)
    keep, share = attentionmix_reference(own, scores, partner, specials, denominator)
    tolerance = 1e-12 if scores.dtype == torch.float64 else 1e-6
    somewhere = ~keep.isnan()
    assert mix.keep.shape == (*own.input_ids.shape, 1)
    assert mix.keep.isfinite().all()
    assert close(mix.keep[..., 0][somewhere], keep[somewhere], tolerance)
    assert close(mix.share, share, tolerance)
    assert torch.equal(mix.partner, partner)

    generator = torch.Generator().manual_seed(0)
    words = torch.randn(*own.input_ids.shape, 2, generator=generator, dtype=torch.float64)
    assert close(mix.blend(words)[somewhere], mixture(words, keep, partner)[somewhere], 10 * tolerance)


@settings(max_examples=60)
@given(examples())
def test_what_one_gives_the_other_gets(example):
    """Places where either has a token, and the labels' shares, add up to 1: only if both are counted, all of them."""
    own, scores, *_ = example
    there = torch.arange(len(own)) ^ 1
    partner = torch.where(there < len(own), there, torch.arange(len(own)))
    mix = rule(own, scores)
    assert torch.equal(mix.partner, partner)
    either = torch.maximum(own.attention_mask, own.attention_mask[partner]).bool()
    keep = mix.keep[..., 0]
    assert close((keep + keep[partner])[either], torch.ones(int(either.sum())), 1e-6)
    among = either.any(1)
    assert close((mix.share + mix.share[partner])[among], torch.ones(int(among.sum())), 1e-6)


# --------------------------------------------------------------------------------------------------------- invariants


@pytest.mark.parametrize("specials", [True, False])
def test_with_itself_a_text_stays_as_it_is(specials):
    own = batch([6, 1, 9, 4])
    scores = random_scores(own)
    mix = AttentionMix(specials=specials, pair=lambda _: torch.arange(4))(own, scores)
    weighed = own.attention_mask.bool() if specials else own.segment > 0
    assert (mix.keep[..., 0][weighed] == 0.5).all()
    assert close(mix.share, torch.full((4,), 0.5))
    words = torch.randn(*own.input_ids.shape, 5, dtype=torch.float64)
    real = own.attention_mask.bool()
    assert close(mix.blend(words)[real], words[real])
    assert close(mix.targets(own.labels, 3), torch.nn.functional.one_hot(own.labels, 3))


@every_family
def test_with_itself_a_text_has_its_own_logits(family):
    model, own = FAMILIES[family]().double(), batch([6, 1, 9, 4], family=family)
    method = AttentionMix(pair=lambda _: torch.arange(4))
    with torch.no_grad():
        assert close(forward_mixed(model, own, method(own, method.guide(model, own))), forward(model, own))


def test_the_first_token_is_the_same_whatever_the_ratio():
    """Both have [CLS] there."""
    model, own = FAMILIES["bert"]().double(), batch([6, 1, 9, 4])
    words = model.get_input_embeddings()(own.input_ids)
    mixed_words = rule(own, random_scores(own)).blend(words)
    assert close(mixed_words[:, 0], words[:, 0])
    assert not close(mixed_words[:, 1], words[:, 1], 1e-2)


def test_more_attention_keeps_more():
    own, scores = batch([6, 6]), random_scores(batch([6, 6]))
    keep = rule(own, scores).keep[..., 0]
    assert torch.equal(keep > 0.5, scores > scores.flip(0))
    assert (keep > 0.5).any()
    assert (keep < 0.5).any()


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40])
def test_only_the_ratio_of_scores_counts(factor):
    own = batch([6, 2, 9, 4])
    scores = random_scores(own)
    before, after = rule(own, scores), rule(own, scores * factor)
    assert torch.equal(before.keep, after.keep)
    assert torch.equal(before.share, after.share)


@pytest.mark.parametrize("fields", [{}, {"specials": False}, {"denominator": "own"}])
def test_padding_changes_nothing(fields):
    own = batch([6, 1, 0, 9])
    wide, columns = padded(own, 7), own.input_ids.shape[1]
    scores = random_scores(own)
    before = rule(own, scores, **fields)
    after = rule(wide, torch.cat([scores, torch.zeros(4, 7)], dim=1), **fields)
    assert close(before.share, after.share)
    assert close(before.keep, after.keep[:, :columns])


def test_a_row_of_nothing_but_padding():
    """As a distributed sampler may add. There is nothing to mix with: its partner keeps its own text and label."""
    own = texts(3, 0, columns=5)
    mix = rule(own, random_scores(own))
    assert mix.share.tolist() == [1, 0]
    words = torch.randn(2, 5, 4, dtype=torch.float64)
    assert close(mix.blend(words)[:, :3], words[:1, :3].expand(2, -1, -1))


def test_two_rows_of_nothing_but_padding():
    own = texts(0, 0, columns=4)
    for fields in ({}, {"denominator": "own"}, {"specials": False}):
        assert rule(own, random_scores(own), **fields).share.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_scores_precision_is_not_lost(dtype):
    """In its own precision a ratio is right to half a last place, and the mean of many of them no worse than a few."""
    own = batch([200, 180, 90, 190])
    scores = random_scores(own).to(dtype)
    keep, share = attentionmix_reference(own, scores, torch.tensor([1, 0, 3, 2]))
    mix = rule(own, scores)
    somewhere = ~keep.isnan()
    assert close(mix.keep[..., 0][somewhere], keep[somewhere], 2 * torch.finfo(dtype).eps)
    assert close(mix.share, share, 2 * torch.finfo(dtype).eps)


def test_the_rule_changes_neither_batch_nor_scores():
    own = batch([6, 1, 9, 4])
    scores = random_scores(own)
    before = scores.clone(), own.input_ids.clone(), own.attention_mask.clone()
    rule(own, scores)
    for value, found in zip(before, (scores, own.input_ids, own.attention_mask), strict=True):
        assert torch.equal(value, found)


# ---------------------------------------------------------------------------------------- from ids to logits and steps

PARTNER = torch.tensor([2, 0, 1, 4, 3])
LENGTHS = [5, 2, 9, 0, 7]


def by_the_paper(model, own, family, layer=0, head=None, partner=PARTNER, **fields):
    """Ratios and shares from the model's own eager attention, by the loops."""
    layers = [weights[layer] for weights in eager_attention(model, own, family)]
    return attentionmix_reference(own, relevances(layers, own.input_ids.shape[1], head), partner, **fields)


def union(own):
    return torch.maximum(own.attention_mask, own.attention_mask[PARTNER])


def mixed_words(model, own, keep):
    """The logits of mixed word vectors that are handed to the model from outside, under both masks."""
    words = model.get_input_embeddings()(own.input_ids)
    ratio = keep.nan_to_num()[..., None]
    mixture = ratio * words + (1 - ratio) * words[PARTNER]
    return model(inputs_embeds=mixture, attention_mask=union(own)).logits


def method_for(**fields):
    return AttentionMix(pair=lambda _: PARTNER, **fields)


@crossed("family", FAMILIES, "layer, head, specials", [(0, None, True), (1, 1, True), (2, 0, False)])
def test_the_logits_are_those_of_mixed_word_vectors(family, layer, head, specials):
    model, own = FAMILIES[family]().double(), padded(batch(LENGTHS, family=family), 2, family)
    method = method_for(layer=layer, head=head, specials=specials)
    keep, share = by_the_paper(model, own, family, layer, head, specials=specials)
    mix = method(own, method.guide(model, own))
    assert close(mix.share, share, 1e-6)
    with torch.no_grad():
        expected, found = mixed_words(model, own, keep), forward_mixed(model, own, mix)
        assert not close(expected, forward(model, own), 1e-2)
    assert close(found, expected, 1e-5)


def gradients(model, losses) -> dict:
    model.zero_grad(set_to_none=True)
    for loss in losses:
        loss.backward()
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def alike(found: dict, expected: dict, tolerance: float) -> bool:
    largest = max(float(value.abs().max()) for value in expected.values())
    assert largest > 1e-3
    assert found.keys() == expected.keys()
    return all(close(found[name], expected[name], tolerance * largest) for name in expected)


@every_family
def test_a_step_learns_from_the_mixture_and_not_through_its_ratios(family):
    """Attention is read, not trained (AM7): the gradient is that of ratios which are plain numbers."""
    model, own = FAMILIES[family]().double().train(), batch(LENGTHS, family=family)
    keep, share = by_the_paper(model, own, family, layer=1)
    logits = mixed_words(model, own, keep)
    loss = soft_cross_entropy(logits, own.labels, own.labels[PARTNER], share).mean()
    expected = gradients(model, [loss])
    assert alike(gradients(model, mixed(method_for(layer=1), 0.0)(model, own)), expected, 1e-5)


def two_passes(model, own, keep, level):
    """A pass that reads a layer, and one under both masks into which the mixture is put in its place.

    Layers are counted by call, for ALBERT calls one module for all of them. What the second pass computed before is
    thrown away, so its mask counts for what comes after, and only there.
    """
    turns, read = iter(range(1, 1000)), []

    def hook(module, arguments, result):
        value = result[0] if isinstance(result, tuple) else result
        turn = next(turns)
        if turn == level:
            read.append(value)
        if turn != LAYERS + level:
            return None
        ratio = keep.nan_to_num()[..., None]
        met = ratio * read[0] + (1 - ratio) * read[0][PARTNER]
        return (met, *result[1:]) if isinstance(result, tuple) else met

    handles = [layer.register_forward_hook(hook) for layer in layer_modules(model)]
    try:
        forward(model, own)
        return model(input_ids=own.input_ids, attention_mask=union(own)).logits
    finally:
        for handle in handles:
            handle.remove()


@crossed("family", FAMILIES, "level", [1, 2, LAYERS])
def test_texts_may_meet_after_a_layer(family, level):
    """The paper leaves it for later: the ratios are the same, the texts' states take the words' place."""
    model, own = FAMILIES[family]().double(), batch(LENGTHS, family=family)
    keep, share = by_the_paper(model, own, family)
    method = method_for(level=level)
    mix = method(own, method.guide(model, own))
    with torch.no_grad():
        expected, found = two_passes(model, own, keep, level), forward_mixed(model, own, mix)
        assert not close(expected, forward(model, own), 1e-2)
    assert close(mix.share, share, 1e-6)
    assert close(found, expected, 1e-5)
    part = replace(mix, level=level / LAYERS)
    with torch.no_grad():
        assert torch.equal(forward_mixed(model, own, part), found)


@every_family
def test_half_clean_and_half_mixed_after_a_layer_is_the_sum_by_hand(family):
    """Both losses share the layers below; their gradient is that of full passes."""
    model, own = FAMILIES[family]().double().train(), batch(LENGTHS, family=family)
    keep, share = by_the_paper(model, own, family, layer=1, head=0)
    on_clean = torch.nn.functional.cross_entropy(forward(model, own), own.labels)
    on_mixed = soft_cross_entropy(two_passes(model, own, keep, 2), own.labels, own.labels[PARTNER], share).mean()
    expected = gradients(model, [0.5 * on_clean + 0.5 * on_mixed])
    objective = mixed(method_for(layer=1, head=0, level=2), 0.5)
    assert alike(gradients(model, objective(model, own)), expected, 1e-5)


def test_every_batch_is_weighed_by_the_model_as_it_is_then():
    """Algorithm 1 reads the attention of every batch from the model that is being trained (AM6)."""
    model, own = FAMILIES["bert"]().double(), batch(LENGTHS)
    method = method_for()
    before = method.guide(model, own)
    changed = copy.deepcopy(model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if ".query." in name:
                weight.mul_(-1)
                changed.get_parameter(name).mul_(-1)
    found = method(own, method.guide(model, own))
    keep, _ = by_the_paper(changed, own, "bert")
    assert close(found.keep[..., 0], keep.nan_to_num())
    assert not close(method.guide(model, own), before, 1e-2)


# ----------------------------------------------------------------------------------------------------------- settings


def test_defaults_are_the_papers():
    method = AttentionMix()
    assert (method.layer, method.head, method.level, method.pair) == (0, None, "words", shuffle)
    assert (method.specials, method.denominator, method.mean) == (True, "both", True)
    with pytest.raises(AttributeError):
        method.layer = 1


def test_the_guide_is_the_attention_of_the_layer_and_head_that_were_asked_for():
    assert AttentionMix().guide == Attention(layer=0, head=None, mean=True)
    assert AttentionMix(layer=2, head=1, mean=False).guide == Attention(layer=2, head=1, mean=False)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"head": "best"}, "'best'"),
        ({"head": ""}, "''"),
        ({"denominator": "union"}, 'unknown denominator "union"'),
        ({"denominator": None}, "None"),
        ({"level": "sentence"}, "sentence"),
    ],
)
def test_bad_settings_are_refused_when_they_are_given(fields, message):
    with pytest.raises(ValueError, match=message):
        AttentionMix(**fields)


def test_a_head_still_to_be_chosen_is_no_guide():
    with pytest.raises(ValueError, match="auto"):
        _ = AttentionMix(head="auto").guide


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layer": LAYERS}, f"layers 0 to {LAYERS - 1}"),
        ({"layer": -LAYERS - 1}, f"layers 0 to {LAYERS - 1}"),
        ({"head": 2}, "heads 0 to 1"),
        ({"head": -1}, "heads 0 to 1"),
    ],
)
def test_layers_and_heads_that_the_model_has_not_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        AttentionMix(**fields).guide(FAMILIES["bert"](), batch([3, 4]))


@pytest.mark.parametrize("level", [LAYERS + 1, "hidden"])
def test_a_level_that_the_model_has_not_is_refused(level):
    model, own = FAMILIES["bert"](), batch([3, 4])
    with pytest.raises(ValueError, match="'embeddings', 1, 2, 3"):
        forward_mixed(model, own, rule(own, random_scores(own), level=level))
