"""random-UNK against the set of results that are possible (methods.md 3.8)."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from families import FAMILIES, batch, distinct_batch, padded
from reference import close
from salience import RandomUNK, forward_mixed, mixed
from salience.hooks.hooks import forward

UNKNOWN = 99  # which stands nowhere else in the texts


def count_of(words: int, window: float) -> int:
    """max(floor(lambda_0 |x|), 1), but nothing of an empty text."""
    return min(max(math.floor(window * words + 1e-9), 1), words)


def test_gold():
    """r_A = 10, lambda_0 = .5: five words, however short anybody else's text is."""
    own = distinct_batch([10, 3])
    for seed in range(20):
        torch.default_generator.manual_seed(seed)
        ids = RandomUNK(window=0.5, unknown=UNKNOWN)(own, None).blend(own.input_ids)
        assert (ids == UNKNOWN).sum(1).tolist() == [5, 1]


@pytest.mark.parametrize(
    ("length", "window", "taken"),
    [(10, 0.1, 1), (19, 0.1, 1), (20, 0.1, 2), (25, 0.1, 2), (9, 0.1, 1), (1, 0.1, 1), (100, 0.29, 29), (12, 1.0, 12)],
)
def test_the_number_is_rounded_down_and_at_least_one(length, window, taken):
    own = distinct_batch([length])
    ids = RandomUNK(window=window, unknown=UNKNOWN)(own, None).blend(own.input_ids)
    assert (ids == UNKNOWN).sum() == taken


@pytest.mark.parametrize("unknown", [0, 1, 3, 77, 100])
def test_the_tokenizers_own_id_is_used(unknown):
    own = distinct_batch([20, 10], [5, 5])
    mix = RandomUNK(window=0.2, unknown=unknown)(own, None)
    ids = mix.blend(own.input_ids)
    assert (ids[~mix.keep] == unknown).all()
    assert torch.equal(ids[mix.keep], own.input_ids[mix.keep])
    assert (~mix.keep).sum(1).tolist() == [5, 3]


def test_without_one_it_is_berts():
    own = distinct_batch([20])
    assert (RandomUNK(window=0.2)(own, None).blend(own.input_ids) == 100).sum() == 4


def test_defaults():
    method = RandomUNK()
    assert (method.window, method.unknown, method.guide) == (0.1, None, None)


@st.composite
def examples(draw):
    """A ragged batch, single texts and pairs, empty ones among them; a window and a seed."""
    size = draw(st.integers(1, 6))
    some = st.one_of(st.integers(0, 3), st.integers(0, 24))
    lengths = draw(st.lists(some, min_size=size, max_size=size))
    seconds = None
    if draw(st.booleans()):
        seconds = draw(st.lists(st.one_of(st.none(), some), min_size=size, max_size=size))
    family = draw(st.sampled_from(["bert", "roberta"]))
    own = distinct_batch(lengths, seconds, extra_padding=draw(st.integers(0, 3)), family=family)
    return own, draw(st.sampled_from([0.01, 0.1, 0.2, 0.29, 0.5, 0.75, 1.0])), draw(st.integers(0, 2**32))


@settings(max_examples=60)
@given(examples())
def test_exactly_so_many_words_and_nothing_else(example):
    own, window, seed = example
    torch.default_generator.manual_seed(seed)
    mix = RandomUNK(window=window, unknown=UNKNOWN)(own, None)
    ids = mix.blend(own.input_ids)
    assert mix.level == "tokens"
    assert mix.partner.tolist() == list(range(len(ids)))
    assert mix.share.tolist() == [1.0] * len(ids)
    for row, segments in enumerate(own.segment.tolist()):
        words = {place for place, part in enumerate(segments) if part > 0}
        gone = {place for place in range(len(segments)) if not mix.keep[row, place]}
        assert gone <= words
        assert len(gone) == count_of(len(words), window)
        for place in range(len(segments)):
            assert ids[row, place] == (UNKNOWN if place in gone else own.input_ids[row, place])


@pytest.mark.parametrize(("lengths", "pairs", "window"), [([6], None, 0.5), ([5], None, 0.2), ([3], [3], 0.34)])
def test_all_choices_are_equally_likely(lengths, pairs, window):
    """Of both texts of a pair together: |x| words, whichever of the two they stand in (chi-square)."""
    own = distinct_batch(lengths, pairs)
    copies = {name: getattr(own, name).repeat(3000, 1) for name in ("input_ids", "attention_mask", "segment")}
    mix = RandomUNK(window=window, unknown=UNKNOWN)(replace(own, **copies), None)
    found = Counter(tuple(row.nonzero().flatten().tolist()) for row in ~mix.keep)
    words = own.segment[0].nonzero().flatten().tolist()
    assert set(found) == set(combinations(words, count_of(len(words), window)))
    assert stats.chisquare(list(found.values())).pvalue > 1e-3


@pytest.mark.parametrize("pairs", [None, [4, 0, 9, 2]])
def test_padding_draws_nothing_more(pairs):
    """Neither other places nor more numbers: what is drawn next is the same, too."""
    own, found = distinct_batch([12, 3, 0, 7], pairs), []
    for texts in (own, padded(own, 9)):
        torch.default_generator.manual_seed(7)
        keep = RandomUNK(window=0.4)(texts, None).keep
        assert keep[:, own.input_ids.shape[1] :].all()
        found.append((keep[:, : own.input_ids.shape[1]], torch.get_rng_state()))
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


def test_the_seed_decides():
    own, found = distinct_batch([20, 17, 30]), []
    for seed in (1, 1, 2):
        torch.default_generator.manual_seed(seed)
        found.append(RandomUNK(window=0.3)(own, None).keep)
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_the_label_is_left_alone():
    own = distinct_batch([20, 17, 0])
    assert RandomUNK(window=1.0)(own, None).targets(torch.tensor([2, 0, 1]), 3).tolist() == [
        [0, 0, 1],
        [1, 0, 0],
        [0, 1, 0],
    ]


def test_a_step_trains_on_the_texts_and_on_the_texts_with_words_unknown():
    """The mean of two ordinary losses, hard labels in both."""
    model, own = FAMILIES["bert"]().double(), batch([7, 2, 5, 11])
    torch.default_generator.manual_seed(5)
    mix = RandomUNK(window=0.4, unknown=1)(own, None)
    ids = torch.where(mix.keep, own.input_ids, 1)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=own.attention_mask).logits
        assert close(forward_mixed(model, own, mix), logits)
        expected = [torch.nn.functional.cross_entropy(each, own.labels) / 2 for each in (forward(model, own), logits)]
        torch.default_generator.manual_seed(5)
        found = list(mixed(RandomUNK(window=0.4, unknown=1))(model, own))
    assert abs(expected[0] - expected[1]) > 1e-2
    assert [loss.item() for loss in found] == pytest.approx([loss.item() for loss in expected], abs=1e-7)
