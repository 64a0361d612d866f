"""SSMix without saliency, and without spans either, against the set of results that are possible (methods.md 3.8)."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from families import crossed, distinct_batch, padded
from reference import close, span_length
from salience import METHODS, SSMix
from salience.mixing.method import neighbours

SPANS, PLACES = "ssmix-nosaliency", "ssmix-nospan"
every_ablation = pytest.mark.parametrize("name", [SPANS, PLACES])


def method_of(name: str, **fields):
    return replace(METHODS[name](), **fields)


def places_of(segment: list[int], part: int) -> list[int]:
    return [place for place, value in enumerate(segment) if value == part]


def taken_from(mix, own, row: int) -> list[tuple[int, int]]:
    """(place here, place in the partner) of every token that changes hands, read off ids that name their place."""
    ids = mix.blend(own.input_ids)[row].tolist()
    gone = (~mix.keep[row]).nonzero().flatten().tolist()
    assert all(ids[place] // 1000 == int(mix.partner[row]) + 1 for place in gone)
    assert all(ids[place] == own.input_ids[row, place] for place in range(len(ids)) if place not in gone)
    return [(place, ids[place] % 1000) for place in gone]


# -------------------------------------------------------------------------------------------------- worked examples


@every_ablation
def test_gold_a_short_partner_gives_all_it_has(name):
    """r_A = 10, r_B = 3, lambda_0 = .5: three of A's words, and one of B's, whose own half is one and a half."""
    own = distinct_batch([10, 3])
    for seed in range(20):
        torch.default_generator.manual_seed(seed)
        mix = method_of(name, window=0.5)(own, None)
        here, there = zip(*taken_from(mix, own, 0), strict=True)
        assert len(here) == 3
        assert there == (1, 2, 3)
        assert len(taken_from(mix, own, 1)) == 1
        assert mix.share.tolist() == pytest.approx([0.7, 2 / 3], abs=1e-6)


@every_ablation
@pytest.mark.parametrize(
    ("length", "window", "taken"),
    [(10, 0.1, 1), (19, 0.1, 1), (20, 0.1, 2), (25, 0.1, 2), (9, 0.1, 1), (1, 0.1, 1), (100, 0.29, 29), (12, 1.0, 12)],
)
def test_the_length_is_rounded_down_and_at_least_one(name, length, window, taken):
    own = distinct_batch([length, length])
    mix = method_of(name, window=window)(own, None)
    assert [len(taken_from(mix, own, row)) for row in (0, 1)] == [taken, taken]
    assert mix.share.tolist() == pytest.approx([1 - taken / length] * 2, abs=1e-6)


@every_ablation
def test_a_pair_part_by_part(name):
    """r_p = 20, r_q = 9, lambda_0 = .1: two words of the first text and one of the second, lambda = 3/29."""
    own = distinct_batch([20, 20], [9, 9])
    for seed in range(10):
        torch.default_generator.manual_seed(seed)
        mix = method_of(name)(own, None)
        for row in (0, 1):
            segments = [own.segment[row, here].item() for here, _ in taken_from(mix, own, row)]
            assert sorted(segments) == [1, 1, 2]
        assert mix.share.tolist() == pytest.approx([26 / 29] * 2, abs=1e-6)


# ------------------------------------------------------------------------------------------ against what is possible


@st.composite
def examples(draw):
    """A ragged batch, single texts and pairs, empty ones among them; a window, a pairing, a seed."""
    size = draw(st.integers(1, 5))
    some = st.one_of(st.integers(0, 3), st.integers(0, 11))
    lengths = draw(st.lists(some, min_size=size, max_size=size))
    kind = draw(st.sampled_from(["single", "pairs", "both"]))
    seconds = None
    if kind != "single":
        second = some if kind == "pairs" else st.one_of(st.none(), some)
        seconds = draw(st.lists(second, min_size=size, max_size=size))
    family = draw(st.sampled_from(["bert", "roberta"]))
    own = distinct_batch(lengths, seconds, extra_padding=draw(st.integers(0, 3)), family=family)
    window = draw(st.sampled_from([0.01, 0.1, 0.2, 0.29, 0.5, 0.75, 1.0]))
    partner = torch.tensor(draw(st.permutations(range(size))))
    return own, window, partner, draw(st.integers(0, 2**32))


def possible_spans(here: list[int], there: list[int], length: int) -> set:
    """Every span of one's own words with every span of the partner's, word by word."""
    starts = product(range(len(here) - length + 1), range(len(there) - length + 1))
    return {tuple((here[own + step], there[other + step]) for step in range(length)) for own, other in starts}


def possible_places(here: list[int], there: list[int], length: int) -> set:
    """Every choice of `length` numbers up to the shorter text's, each of them the same number in both texts."""
    both = list(zip(here, there))  # noqa: B905 (to the end of the shorter)
    return set(combinations(both, length))


def compare(name, possible, example):
    own, window, partner, seed = example
    torch.default_generator.manual_seed(seed)
    mix = method_of(name, window=window, pair=lambda _: partner)(own, None)
    assert mix.level == "tokens"
    assert torch.equal(mix.partner, partner)
    assert mix.keep[own.segment == 0].all()
    for row, other in enumerate(partner.tolist()):
        changes, total, words = taken_from(mix, own, row), 0, 0
        for part in (1, 2):
            here, there = (places_of(own.segment[one].tolist(), part) for one in (row, other))
            found = tuple(change for change in changes if change[0] in here)
            length = span_length(len(here), len(there), window)
            assert len(found) == length
            assert found in possible(here, there, length)
            total, words = total + length, words + len(here)
        assert len(changes) == total
        assert mix.share[row].item() == pytest.approx(1 - total / words if words else 1.0, abs=1e-6)


@settings(max_examples=60)
@given(examples())
def test_random_spans_are_possible_ones(example):
    """SS9: contiguous here and there, each within one text of the pair."""
    compare(SPANS, possible_spans, example)


@settings(max_examples=60)
@given(examples())
def test_random_places_are_possible_ones(example):
    """SS10: distinct places, the same number in both texts, up to the shorter text's end."""
    compare(PLACES, possible_places, example)


# ----------------------------------------------------------------------------------------------------------- chance


def many(lengths: tuple[int, int], pairs: tuple[int, int] | None = None, copies: int = 1500):
    """The same two texts `copies` times, next to each other: one call of the rule draws for all of them."""
    own = distinct_batch(list(lengths), None if pairs is None else list(pairs))
    repeat = {name: getattr(own, name).repeat(copies, 1) for name in ("input_ids", "attention_mask", "segment")}
    return replace(own, **repeat, labels=own.labels.repeat(copies))


def drawn(mix, own, row: int, part: int) -> Counter:
    """How often each result came up in the text number `row` (0 or 1) of all the copies; ids name their places."""
    ids = mix.blend(own.input_ids)
    found = Counter()
    for number in range(row, len(ids), 2):
        gone = (~mix.keep[number]).nonzero().flatten().tolist()
        found[
            tuple((place, int(ids[number, place]) % 1000) for place in gone if own.segment[number, place] == part)
        ] += 1
    return found


def assert_all_alike(found: Counter, possible: set) -> None:
    """Every possible result came up, about as often as another (chi-square)."""
    assert set(found) == possible
    assert stats.chisquare(list(found.values())).pvalue > 1e-3


@crossed("lengths", [(6, 4), (4, 6), (5, 5)], "name, possible", [(SPANS, possible_spans), (PLACES, possible_places)])
def test_all_results_are_equally_likely(name, possible, lengths):
    """Both starts by themselves, not the same start in both texts (SS9); every choice of places."""
    own = many(lengths)
    mix = method_of(name, window=0.4, pair=neighbours)(own, None)
    for row in (0, 1):
        here, there = (list(range(1, 1 + lengths[one])) for one in (row, 1 - row))
        wanted = possible(here, there, span_length(len(here), len(there), 0.4))
        assert len(wanted) > 3
        assert_all_alike(drawn(mix, own, row, 1), wanted)


@pytest.mark.parametrize(("name", "possible"), [(SPANS, possible_spans), (PLACES, possible_places)])
def test_both_texts_of_a_pair_draw_evenly_and_by_themselves(name, possible):
    """[CLS] p p p [SEP] q q q q [SEP] with its like: the second text's places are 5 to 8."""
    own = many((3, 3), (4, 4))
    mix = method_of(name, window=0.5, pair=neighbours)(own, None)
    first, second = possible([1, 2, 3], [1, 2, 3], 1), possible([5, 6, 7, 8], [5, 6, 7, 8], 2)
    assert_all_alike(drawn(mix, own, 0, 1), first)
    assert_all_alike(drawn(mix, own, 0, 2), second)
    gone = (~mix.keep[::2]).int().tolist()
    together = Counter((tuple(row[1:4]), tuple(row[5:9])) for row in gone)
    assert len(together) == len({key[0] for key in together}) * len({key[1] for key in together})
    assert stats.chisquare(list(together.values())).pvalue > 1e-3


def test_the_two_directions_draw_by_themselves():
    """What A takes from B does not decide what B takes from A."""
    own = many((4, 4))
    mix = method_of(SPANS, window=0.25, pair=neighbours)(own, None)
    gone = (~mix.keep).int().argmax(1)
    assert_all_alike(
        Counter(zip(gone[::2].tolist(), gone[1::2].tolist(), strict=True)), set(product(range(1, 5), repeat=2))
    )


@crossed("pairs", [None, [4, 0, 9, 2]], "name", [SPANS, PLACES])
def test_padding_draws_nothing_more(name, pairs):
    """Neither other results nor more numbers: what is drawn next is the same, too."""
    own = distinct_batch([12, 3, 0, 7], pairs)
    found = []
    for texts in (own, padded(own, 9)):
        torch.default_generator.manual_seed(7)
        mix = method_of(name, window=0.4)(texts, None)
        ids = mix.blend(texts.input_ids)
        assert torch.equal(ids[:, own.input_ids.shape[1] :], texts.input_ids[:, own.input_ids.shape[1] :])
        found.append((ids[:, : own.input_ids.shape[1]], mix.share, torch.get_rng_state()))
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


@every_ablation
def test_the_seed_decides(name):
    own, found = distinct_batch([20, 17, 30]), []
    for seed in (1, 1, 2):
        torch.default_generator.manual_seed(seed)
        found.append(method_of(name, window=0.3)(own, None).blend(own.input_ids))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@every_ablation
def test_scores_are_of_no_account(name):
    """Without a guide the rule is handed none; if it is handed some, it looks at none, sound or not."""
    own, found = distinct_batch([20, 17, 30]), []
    peak = torch.zeros(own.input_ids.shape)
    peak[:, 5] = 1.0
    for scores in (None, peak, torch.full_like(peak, torch.nan)):
        torch.default_generator.manual_seed(3)
        found.append(method_of(name, window=0.2)(own, scores).blend(own.input_ids))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[0], own.input_ids)


def test_what_the_names_stand_for():
    """The published settings of SSMix, but for what is taken away; scattered places cannot be guided."""
    assert METHODS[SPANS]() == SSMix(guide=None)
    assert METHODS[PLACES]() == SSMix(guide=None, span=False)
    assert METHODS[SPANS]().window == METHODS[PLACES]().window == 0.1
    with pytest.raises(ValueError, match="guide=None"):
        SSMix(span=False)


@every_ablation
def test_the_label_follows_what_was_taken_not_what_differs(name):
    """Equal texts: no id changes, and a tenth of the label does."""
    own = distinct_batch([10, 10])
    same = replace(own, input_ids=own.input_ids[:1].expand(2, -1).contiguous())
    mix = method_of(name)(same, None)
    assert (~mix.keep).sum(1).tolist() == [1, 1]
    assert close(mix.share, torch.tensor([0.9, 0.9]), 1e-6)
    assert close(mix.targets(torch.tensor([0, 1]), 2), torch.tensor([[0.9, 0.1], [0.1, 0.9]]), 1e-6)
