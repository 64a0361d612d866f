"""SSMix against the paper (section 2), its worked examples (methods.md 3.6 and 3.7) and a slow loop."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from families import FAMILIES, batch, crossed, distinct_batch, padded, rearranged
from reference import best_start, close, span_length, ssmix_reference
from salience import Batch, SSMix
from salience.mixing.method import neighbours, shuffle, swap_halves


def scored(own: Batch, rows: list[list[float]], dtype=torch.float64) -> torch.Tensor:
    """The scores of the words, row by row, in their places; special tokens and padding get 0."""
    scores = torch.zeros(own.input_ids.shape, dtype=dtype)
    for number, row in enumerate(rows):
        places = own.segment[number].nonzero().flatten()
        assert len(places) == len(row)
        scores[number, places] = torch.tensor(row, dtype=dtype)
    return scores


def words(own: Batch, ids: torch.Tensor, row: int) -> list[int]:
    return ids[row][own.segment[row] > 0].tolist()


def random_scores(own: Batch, seed: int = 0, dtype=torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(own.input_ids.shape, generator=generator, dtype=dtype) * own.attention_mask


def mixed_ids(own: Batch, scores: torch.Tensor, window: float = 0.1, **fields) -> tuple[torch.Tensor, torch.Tensor]:
    mix = SSMix(window=window, **fields)(own, scores)
    return mix.blend(own.input_ids), mix.share


# -------------------------------------------------------------------------------------------------- worked examples

A, B = 1000, 2000  # a_i has the id 1000 + i and b_i 2000 + i: [CLS] stands at place 0


def test_gold_a_both_directions():
    """r_A = 10, r_B = 5, lambda_0 = .2: a3 a4 give way to b3 b4, and b1 to a1, the most telling word of A."""
    own = distinct_batch([10, 5])
    scores = scored(own, [[9, 2, 1, 1, 8, 7, 6, 5, 4, 3], [1, 2, 9, 6, 3]])
    ids, share = mixed_ids(own, scores, window=0.2)
    assert words(own, ids, 0) == [A + 1, A + 2, B + 3, B + 4, *range(A + 5, A + 11)]
    assert words(own, ids, 1) == [A + 1, B + 2, B + 3, B + 4, B + 5]
    assert share.tolist() == pytest.approx([0.8, 0.8], abs=1e-7)


def test_gold_a_reverse_takes_the_highest_score_of_the_other():
    """methods.md calls it b* = 1 because S_A = 9 comes first; move the peak and the word moves with it."""
    own = distinct_batch([10, 5])
    scores = scored(own, [[3, 2, 1, 1, 8, 7, 9, 5, 4, 3], [1, 2, 9, 6, 3]])
    ids, _ = mixed_ids(own, scores, window=0.2)
    assert words(own, ids, 1) == [A + 7, B + 2, B + 3, B + 4, B + 5]


def test_gold_b_figure_1():
    """Two words of ten: 20 % of the other's label, 80 % of one's own."""
    own = distinct_batch([10, 10])
    assert mixed_ids(own, random_scores(own), window=0.2)[1].tolist() == pytest.approx([0.8, 0.8], abs=1e-7)


def test_gold_c_one_word_of_six():
    own = distinct_batch([6, 6])
    share = mixed_ids(own, random_scores(own))[1]
    assert share.tolist() == pytest.approx([5 / 6, 5 / 6], abs=1e-7)
    assert round(share[0].item(), 2) == 0.83


@pytest.mark.parametrize(("other", "taken"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_gold_d_a_short_partner_gives_all_it_has_and_no_special_token(other, taken):
    """r_A = 30, lambda_0 = .1: one word of a one-word partner (lambda 1/30), two of two (1/15)."""
    own = distinct_batch([30, other])
    ids, share = mixed_ids(own, random_scores(own))
    assert share[0].item() == pytest.approx(1 - taken / 30, abs=1e-7)
    assert sum(word > B for word in words(own, ids, 0)) == taken
    assert all(word > 1000 for word in words(own, ids, 0))


@pytest.mark.parametrize(
    ("length", "window", "taken"),
    [
        (25, 0.1, 2),
        (19, 0.1, 1),
        (9, 0.1, 1),
        (10, 0.1, 1),
        (20, 0.1, 2),
        (1, 0.1, 1),
        (100, 0.29, 29),  # 28.999999999999996 in floating point
        (100, 0.57, 57),
        (50, 0.58, 29),
        (30, 0.1, 3),
        (10, 0.3, 3),
        (10, 0.35, 3),  # down, never to the nearest
        (11, 0.25, 2),
        (12, 1.0, 12),
        (12, 0.999, 11),
    ],
)
def test_gold_e_the_length_is_rounded_down(length, window, taken):
    own = distinct_batch([length, length])
    ids, share = mixed_ids(own, random_scores(own), window=window)
    assert span_length(length, length, window) == taken
    assert sum(word > B for word in words(own, ids, 0)) == taken
    assert share.tolist() == pytest.approx([1 - taken / length] * 2, abs=1e-6)


def test_gold_e_no_length_up_to_126_is_hurt_by_floating_point():
    lengths = list(range(1, 127))
    own = distinct_batch(lengths)
    _, share = mixed_ids(own, random_scores(own), pair=lambda batch: torch.arange(126))
    assert share.tolist() == pytest.approx([1 - max(length // 10, 1) / length for length in lengths], abs=1e-6)


def test_pairs_gold_a_figure_5():
    """r_p = 5, r_q = 6, one word each: lambda = 2/11."""
    own = distinct_batch([5, 5], [6, 6])
    ids, share = mixed_ids(own, random_scores(own))
    assert share.tolist() == pytest.approx([9 / 11, 9 / 11], abs=1e-7)
    assert sum(word > B for word in words(own, ids, 0)) == 2


def test_pairs_gold_b():
    """r_p = 20, r_q = 9: two words and one, lambda = 3/29."""
    own = distinct_batch([20, 20], [9, 9])
    ids, share = mixed_ids(own, random_scores(own))
    assert share.tolist() == pytest.approx([26 / 29, 26 / 29], abs=1e-7)
    first, second = words(own, ids, 0)[:20], words(own, ids, 0)[20:]
    assert [sum(word > B for word in part) for part in (first, second)] == [2, 1]


def test_a_pair_by_hand():
    """Each text meets its counterpart only: the best word of q_B goes into q_A although p_B has a better one."""
    own = distinct_batch([3, 4], [2, 2])
    scores = scored(own, [[5, 1, 3, 2, 8], [9, 9.5, 1, 1, 4, 7]])
    ids, share = mixed_ids(own, scores)
    # [CLS] p p p [SEP] q q [SEP]: the places of A's words are 1 2 3 and 5 6, of B's 1 2 3 4 and 6 7.
    assert words(own, ids, 0) == [A + 1, B + 2, A + 3, B + 7, A + 6]
    assert words(own, ids, 1) == [B + 1, B + 2, A + 1, B + 4, A + 6, B + 7]
    assert share.tolist() == pytest.approx([3 / 5, 4 / 6], abs=1e-7)


# --------------------------------------------------------------------------------------------------- against the loop


def with_ties(shape, generator):
    """Whole numbers: sums are exact, so equal windows are equal."""
    return torch.randint(0, 4, shape, generator=generator).double()


def without_ties(shape, generator):
    return torch.rand(shape, generator=generator, dtype=torch.float64)


def with_gaps(shape, generator):
    """About one score in forty is no number."""
    return without_ties(shape, generator).masked_fill(torch.rand(shape, generator=generator) < 0.025, math.nan)


@st.composite
def examples(draw, numbers):
    """A ragged batch, its scores, a window, a pairing; empty texts, texts of a word and a text alone among them."""
    size = draw(st.integers(1, 7))
    some = st.one_of(st.integers(0, 3), st.integers(0, 24))
    lengths = draw(st.lists(some, min_size=size, max_size=size))
    kind = draw(st.sampled_from(["single", "pairs", "both"]))
    seconds = None
    if kind != "single":
        second = some if kind == "pairs" else st.one_of(st.none(), some)
        seconds = draw(st.lists(second, min_size=size, max_size=size))
    family = draw(st.sampled_from(["bert", "roberta"]))
    own = distinct_batch(lengths, seconds, extra_padding=draw(st.integers(0, 3)), family=family)
    if draw(st.booleans()):  # few different words, so that texts share them or are equal
        own = replace(own, input_ids=torch.where(own.segment > 0, 5 + own.input_ids % 2, own.input_ids))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    scores = numbers(own.input_ids.shape, generator).masked_fill(own.attention_mask == 0, 0)
    window = draw(st.sampled_from([0.01, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75, 1.0]))
    partner = torch.tensor(draw(st.permutations(range(size))))
    return own, scores, window, partner


def compare(example):
    own, scores, window, partner = example
    mix = SSMix(window=window, pair=lambda _: partner)(own, scores)
    ids, share = ssmix_reference(own, scores, window, partner)
    assert torch.equal(mix.blend(own.input_ids), ids)
    assert close(mix.share, share, 1e-6)
    assert torch.equal(mix.partner, partner)


@settings(max_examples=60)
@given(examples(with_ties))
def test_against_the_loop_with_many_ties(example):
    """The first of equal windows must win."""
    compare(example)


@settings(max_examples=60)
@given(examples(without_ties))
def test_against_the_loop_with_few_ties(example):
    compare(example)


@settings(max_examples=60)
@given(examples(with_gaps))
def test_against_the_loop_where_scores_are_not_finite(example):
    compare(example)


@crossed("dtype", [torch.float32, torch.float64], "pairs", [False, True])
def test_against_the_loop_on_long_texts(pairs, dtype):
    """As long as a model reads, in the precision gradients come in."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, 250, (12,), generator=generator).tolist()
    seconds = torch.randint(0, 250, (12,), generator=generator).tolist() if pairs else None
    own = distinct_batch(lengths, seconds)
    scores = random_scores(own, seed=2, dtype=dtype)
    partner = swap_halves(own)
    ids, share = ssmix_reference(own, scores, 0.1, partner)
    found, kept = mixed_ids(own, scores)
    assert torch.equal(found, ids)
    assert close(kept, share, 1e-6)


# --------------------------------------------------------------------------------------------------------- invariants


def test_ties_go_to_the_first_place():
    own = distinct_batch([20, 20])
    ids, _ = mixed_ids(own, scored(own, [[1.0] * 20, [1.0] * 20]))
    assert words(own, ids, 0)[:3] == [B + 1, B + 2, A + 3]


@crossed("dtype", [torch.float32, torch.float64], "value", [0.1, 0.7, 1e-7, 12345.678])
def test_equal_scores_are_a_tie_whatever_their_size(value, dtype):
    """A running sum of 0.1 drifts; the windows are equal all the same."""
    own = distinct_batch([40, 40, 31])
    ids, _ = mixed_ids(own, scored(own, [[value] * 40, [value] * 40, [value] * 31], dtype), window=0.3)
    for row in range(3):
        count = 9 if row == 2 else 12
        other = 1000 * (1 + int(swap_halves(own)[row]))
        own_id = 1000 * (1 + row)
        rest = (31 if row == 2 else 40) - count
        expected = [other + 1 + place for place in range(min(count, 40))]
        assert words(own, ids, row) == expected + [own_id + 1 + count + place for place in range(rest)]


def test_one_huge_score_does_not_blur_the_others():
    """In float32 1e9 swallows what is added to it, if windows are differences of a running sum."""
    own = distinct_batch([20, 20])
    small = [7, 9, 9, 8, 6, 7, 9, 5, 9, 8, 3, 4, 9, 9, 8, 7, 9, 6, 5]
    scores = scored(own, [[1e9, *small], [1e9, *small]], torch.float32)
    ids, _ = mixed_ids(own, scores)
    assert words(own, ids, 0) == [*range(A + 1, A + 12), B + 1, B + 2, *range(A + 14, A + 21)]


@pytest.mark.parametrize("power", [-80, -20, -1, 1, 30, 100])
def test_the_scale_of_the_scores_does_not_matter(power):
    """Each text may have its own: only smallest and largest are looked for."""
    own = distinct_batch([20, 7, 13, 1, 30], [4, 5, 1, 20, 11])
    scores = random_scores(own)
    scale = torch.tensor([2.0**power, 1, 2.0 ** (-power), 1, 2.0**power], dtype=torch.float64).unsqueeze(1)
    before, after = SSMix()(own, scores), SSMix()(own, scores * scale)
    assert torch.equal(before.blend(own.input_ids), after.blend(own.input_ids))
    assert torch.equal(before.share, after.share)


@pytest.mark.parametrize("pairs", [None, [4, 0, 9]])
def test_padding_changes_nothing(pairs):
    own = distinct_batch([20, 3, 11], pairs)
    wide = padded(own, 9)
    scores = random_scores(own)
    longer = torch.cat([scores, torch.zeros(3, 9)], dim=1)
    before, after = SSMix(window=0.3)(own, scores), SSMix(window=0.3)(wide, longer)
    columns = own.input_ids.shape[1]
    assert torch.equal(after.blend(wide.input_ids)[:, :columns], before.blend(own.input_ids))
    assert torch.equal(after.blend(wide.input_ids)[:, columns:], wide.input_ids[:, columns:])
    assert torch.equal(before.share, after.share)


@pytest.mark.parametrize("special", [-1e6, 0.0, 1e6])
def test_what_special_tokens_score_is_of_no_account(special):
    own = distinct_batch([20, 3, 11], [4, 1, 9], extra_padding=3)
    scores = random_scores(own)
    changed = torch.where(own.segment > 0, scores, torch.full_like(scores, special))
    assert torch.equal(mixed_ids(own, scores)[0], mixed_ids(own, changed)[0])


@crossed("family", ["bert", "roberta"], "window", [0.1, 0.5, 1.0])
def test_special_tokens_and_padding_stay_and_nothing_crosses_a_separator(window, family):
    own = distinct_batch([6, 1, 12, 0, 3], [2, 20, 1, 5, 0], extra_padding=2, family=family)
    for seed in range(10):
        mix = SSMix(window=window, pair=shuffle)(own, random_scores(own, seed))
        ids = mix.blend(own.input_ids)
        assert torch.equal(ids[own.segment == 0], own.input_ids[own.segment == 0])
        for row, place in own.segment.nonzero().tolist():
            origin = divmod(ids[row, place].item(), 1000)
            source, at = origin[0] - 1, origin[1]
            assert (source, at) == (row, place) or source == mix.partner[row]
            assert own.segment[source, at] == own.segment[row, place]


def test_what_is_taken_is_one_run_of_words():
    """Every word is one's own in its own place or part of one contiguous run of the partner's."""
    own = distinct_batch([20, 17])
    for seed in range(20):
        ids, share = mixed_ids(own, random_scores(own, seed), window=0.3)
        places = [place for place, word in enumerate(words(own, ids, 0)) if word > B]
        taken = [words(own, ids, 0)[place] for place in places]
        assert places == list(range(places[0], places[0] + 6))
        assert taken == list(range(taken[0], taken[0] + 6))
        assert share[0].item() == pytest.approx(0.7, abs=1e-7)


def test_equal_texts_count_what_was_overwritten_not_what_changed():
    own = distinct_batch([10, 10])
    same = replace(own, input_ids=own.input_ids[:1].expand(2, -1).contiguous())
    scores = scored(same, [[5, 4, 3, 2, 1, 2, 3, 4, 5, 6]] * 2)
    assert mixed_ids(same, scores)[1].tolist() == pytest.approx([0.9, 0.9], abs=1e-7)


def test_a_text_alone_is_mixed_with_itself():
    own = distinct_batch([10])
    ids, share = mixed_ids(own, scored(own, [[5, 4, 3, 2, 1, 2, 3, 4, 5, 6]]))
    assert words(own, ids, 0) == [A + 1, A + 2, A + 3, A + 4, A + 10, A + 6, A + 7, A + 8, A + 9, A + 10]
    assert share.tolist() == pytest.approx([0.9], abs=1e-7)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_rows_without_finite_scores_are_left_alone(wrong):
    """And so are their partners, which would have to take a span of them. The others are mixed as ever."""
    own = distinct_batch([10, 12, 14, 16, 10, 11])
    scores = random_scores(own)
    whole, shares = mixed_ids(own, scores)
    scores[1, 3] = wrong
    ids, share = mixed_ids(own, scores)
    for row in range(6):
        if row in (1, 4):  # row 1, and row 4 whose partner is row 1
            assert torch.equal(ids[row], own.input_ids[row])
            assert share[row] == 1
        else:
            assert torch.equal(ids[row], whole[row])
            assert share[row] == shares[row]


def test_all_scores_lost():
    own = distinct_batch([10, 12])
    ids, share = mixed_ids(own, torch.full(own.input_ids.shape, math.nan))
    assert torch.equal(ids, own.input_ids)
    assert share.tolist() == [1.0, 1.0]


def test_empty_texts_neither_give_nor_take():
    own = distinct_batch([0, 5, 4, 0])
    ids, share = mixed_ids(own, random_scores(own), pair=neighbours)
    assert torch.equal(ids, own.input_ids)
    assert share.tolist() == [1.0] * 4


def test_a_row_of_nothing_but_padding():
    """As a distributed sampler may add: no token at all, not even [CLS]."""
    own = distinct_batch([5, 4])
    blank = Batch(
        torch.cat([own.input_ids, torch.zeros(1, 7, dtype=torch.long)]),
        torch.cat([own.attention_mask, torch.zeros(1, 7, dtype=torch.long)]),
        torch.cat([own.segment, torch.zeros(1, 7, dtype=torch.long)]),
        torch.tensor([0, 1, 0]),
    )
    ids, share = mixed_ids(blank, random_scores(blank))
    assert share.isfinite().all()
    assert share[2] == 1
    assert torch.equal(ids[2], blank.input_ids[2])


def test_one_half_of_a_pair_may_be_empty():
    """The other half is mixed, and the label follows all the words of the pair."""
    own = distinct_batch([0, 10], [10, 10])
    ids, share = mixed_ids(own, random_scores(own))
    assert share.tolist() == pytest.approx([9 / 10, 19 / 20], abs=1e-7)
    assert words(own, ids, 1)[:10] == list(range(B + 1, B + 11))
    assert sum(word > B for word in words(own, ids, 0)) == 1


def test_order_of_the_batch_does_not_matter():
    own = distinct_batch([20, 7, 13, 1, 30], [4, 5, 1, 20, 0])
    scores, order, partner = random_scores(own), torch.tensor([3, 0, 4, 2, 1]), torch.tensor([1, 2, 0, 4, 3])
    where = torch.empty_like(order).scatter_(0, order, torch.arange(5))
    before = SSMix(pair=lambda _: partner)(own, scores)
    after = SSMix(pair=lambda _: where[partner[order]])(rearranged(own, order), scores[order])
    assert torch.equal(after.blend(own.input_ids[order]), before.blend(own.input_ids)[order])
    assert torch.equal(after.share, before.share[order])


def test_the_rule_changes_neither_batch_nor_scores():
    own = distinct_batch([20, 7, 13])
    scores = random_scores(own)
    before = scores.clone(), own.input_ids.clone()
    mixed_ids(own, scores)
    assert torch.equal(scores, before[0])
    assert torch.equal(own.input_ids, before[1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_in_half_precision(dtype):
    """As under mixed precision: whole numbers to 8 are exact there, and sums of them must be, too."""
    generator = torch.Generator().manual_seed(5)
    own = distinct_batch([200, 180, 150, 190])
    scores = (torch.randint(0, 9, own.input_ids.shape, generator=generator) * own.attention_mask).to(dtype)
    ids, share = ssmix_reference(own, scores, 0.1, swap_halves(own))
    found, kept = mixed_ids(own, scores)
    assert torch.equal(found, ids)
    assert close(kept, share, 1e-6)


def test_defaults_are_the_papers():
    method = SSMix()
    assert method.window == 0.1
    assert method.pair is swap_halves
    with pytest.raises(AttributeError):
        method.window = 0.2


# ---------------------------------------------------------------------------------------------------------- the guide


@pytest.mark.parametrize("family", FAMILIES)
def test_the_guide_is_the_norm_of_the_gradient_at_the_embedding_block(family):
    """|d loss / d X_t|_2 of each text's own loss (SS5), up to a factor of each text; nothing on padding."""
    model = FAMILIES[family]().double()
    own = batch([6, 1, 9, 0], family=family)
    seen = []
    handle = model.base_model.embeddings.register_forward_hook(lambda *call: seen.append(call[2]))
    logits = model(input_ids=own.input_ids, attention_mask=own.attention_mask).logits
    handle.remove()
    loss = torch.nn.functional.cross_entropy(logits, own.labels, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, seen[0])
    expected = gradient.square().sum(-1).sqrt() * own.attention_mask

    scores = SSMix().guide(model, own)
    assert scores.shape == own.input_ids.shape
    assert (scores[own.attention_mask == 0] == 0).all()
    ours, theirs = scores / scores.sum(1, keepdim=True), expected / expected.sum(1, keepdim=True)
    assert close(ours, theirs, 1e-6)
    assert best_start(scores[2, 1:10].tolist(), 2, True) == best_start(expected[2, 1:10].tolist(), 2, True)
