"""DropMix against the paper's formulas in loops and its worked examples (methods.md 3.9)."""

import copy
import math
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from families import FAMILIES, batch, crossed
from reference import close, soft_cross_entropy
from reference_patches import budget, dropmix_reference, exchanged, window_size
from salience import METHODS, Batch, DropMix, forward_mixed, mixed, plain
from salience.explainers.gradient import gradient_map
from salience.hooks.hooks import forward
from salience.mixing.method import neighbours, shuffle


def texts(tokens: list[int], extra_padding: int = 0) -> Batch:
    """Texts of so many tokens, special ones included: two is an empty text, none a row of nothing but padding."""
    place = torch.arange(max([*tokens, 1]) + extra_padding)
    count = torch.tensor(tokens)[:, None]
    inner = (place > 0) & (place < count - 1)
    return Batch(torch.where(place < count, 5 + place, 0), (place < count).long(), inner.long())


def alone(batch: Batch) -> torch.Tensor:
    return torch.arange(len(batch))


def chosen(saliency: torch.Tensor, height: int | None, width: int | None, ratio: float) -> torch.Tensor:
    """The patch P (N, D) of one text without padding."""
    own = texts([len(saliency)])
    return ~DropMix(height, width, ratio=ratio, pair=alone)(own, saliency[None]).keep[0]


def untied(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    """Saliency without equals, in any order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, columns, generator=generator, dtype=torch.float64) + 0.01


# -------------------------------------------------------------------------------------------------- worked examples

I = torch.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])  # noqa: E741 (the paper's letter)

GOLDS = {  # S for b = 0, ..., 6
    "G (2, 1)": (2, 1, [0, 0, 2, 3, 3, 5, 6]),
    "U": (1, 1, [0, 1, 2, 2, 4, 5, 6]),  # two units tie at 2 and enter together
    "C": (None, 1, [0, 0, 0, 3, 3, 3, 6]),
    "W of one word": (1, None, [0, 0, 2, 2, 4, 4, 6]),
    "W of two words, as a general window": (2, 2, [0, 0, 0, 0, 4, 4, 6]),
    # DM11: a budget of one row pays for windows of one row, so that the text is mixed where it otherwise is not.
    "W of two words": (2, None, [0, 0, 2, 2, 4, 4, 6]),
}


@crossed("dtype", [torch.float32, torch.float64], "kind", GOLDS)
def test_gold_sizes_for_every_budget(kind, dtype):
    height, width, sizes = GOLDS[kind]
    found = [int(chosen(I.to(dtype), height, width, units / 6).sum()) for units in range(7)]
    assert found == sizes


@pytest.mark.parametrize("kind", GOLDS)
def test_gold_shares_follow_the_size(kind):
    height, width, sizes = GOLDS[kind]
    for units, size in enumerate(sizes):
        mix = DropMix(height, width, ratio=units / 6)(texts([3]), I[None])
        assert mix.share.tolist() == pytest.approx([1 - size / 6], abs=1e-6)


@pytest.mark.parametrize(
    ("height", "width", "units", "expected"),
    [
        (2, 1, 2, [[1, 0], [1, 0], [0, 0]]),
        (2, 1, 3, [[1, 0], [1, 0], [1, 0]]),
        (2, 1, 4, [[1, 0], [1, 0], [1, 0]]),  # the next window would add two
        (2, 1, 5, [[1, 0], [1, 1], [1, 1]]),
        (1, 1, 1, [[0, 0], [1, 0], [0, 0]]),
        (1, 1, 2, [[1, 0], [1, 0], [0, 0]]),
        (1, 1, 4, [[1, 0], [1, 1], [0, 1]]),
        (1, 1, 5, [[1, 1], [1, 1], [0, 1]]),
        (None, 1, 3, [[1, 0], [1, 0], [1, 0]]),
        (1, None, 2, [[0, 0], [1, 1], [0, 0]]),
        (1, None, 4, [[1, 1], [1, 1], [0, 0]]),
        (2, 2, 4, [[1, 1], [1, 1], [0, 0]]),
        (2, None, 4, [[1, 1], [1, 1], [0, 0]]),
        (None, None, 5, [[0, 0], [0, 0], [0, 0]]),
        (None, None, 6, [[1, 1], [1, 1], [1, 1]]),
    ],
)
def test_gold_patches(height, width, units, expected):
    assert chosen(I, height, width, units / 6).int().tolist() == expected


def test_gold_replace_and_keep():
    """X_B = -X_A, b = 3: the first column changes hands, or all but the first column."""
    own = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    both = torch.stack([own, -own])
    scores = torch.stack([I, I])
    replace = DropMix(2, 1, ratio=0.5, pair=neighbours)(texts([3, 3]), scores)
    keep = DropMix(2, 1, ratio=0.5, pair=neighbours, direction="keep")(texts([3, 3]), scores)
    assert replace.level == keep.level == "embeddings"
    assert replace.blend(both)[0].tolist() == [[-1, 2], [-3, 4], [-5, 6]]
    assert keep.blend(both)[0].tolist() == [[1, -2], [3, -4], [5, -6]]
    assert replace.share.tolist() == keep.share.tolist() == [0.5, 0.5]
    assert replace.targets(torch.tensor([0, 2]), 3)[0].tolist() == [0.5, 0, 0.5]
    assert torch.equal(replace.blend(both)[0] + keep.blend(both)[0], both[0] + both[1])


def test_a_short_text_keeps_as_much_of_itself_as_of_its_label():
    """DM2: with N = 128 a fifth of the units would be all of 13 tokens, and four fifths of the label one's own."""
    own = texts([13, 13], extra_padding=115)
    generator = torch.Generator().manual_seed(1)
    scores = torch.rand(2, 128, 10, generator=generator) * own.attention_mask[..., None]
    mix = DropMix(ratio=0.2, pair=neighbours)(own, scores)
    assert (~mix.keep).sum((1, 2)).tolist() == [26, 26]
    assert mix.share.tolist() == pytest.approx([0.8, 0.8], abs=1e-6)


def test_where_windows_may_lie():
    """Two tokens beside four, padded to five: what an eighth, a half and all of the units come to."""
    own, partner = texts([2, 4], extra_padding=1), torch.tensor([1, 0])
    scores = torch.arange(20.0).view(2, 5, 2) + 1
    sizes = {}
    for within in WITHIN:
        mixes = [DropMix(ratio=ratio, within=within, pair=lambda _: partner)(own, scores) for ratio in (0.125, 0.5, 1)]
        sizes[within] = [[int((1 - mix.keep.int()).sum((1, 2))[row]) for mix in mixes] for row in (0, 1)]
        assert mixes[2].share.tolist() == ([0, 0.5] if within == "overlap" else [0, 0])
    assert sizes == {
        "own": [[0, 2, 4], [1, 4, 8]],
        "overlap": [[0, 2, 4], [1, 4, 4]],  # of eight units four have a partner's
        "both": [[1, 4, 8], [1, 4, 8]],
        "padded": [[1, 4, 10], [1, 5, 10]],  # what padding has is worth nothing, and enters all at once or not at all
    }


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_who_gives_up_both_texts_is_the_partner(family):
    model, own = FAMILIES[family]().eval(), batch([3, 5, 2])
    clean = forward(model, own)
    mix = DropMix(ratio=1.0, within="both", pair=neighbours)(own, torch.rand(3, own.input_ids.shape[1], 16))
    assert mix.share.tolist() == [0, 0, 0]
    assert close(forward_mixed(model, own, mix), clean[mix.partner], 1e-5)


def test_words_are_mixed_in_a_short_text():
    """DM11: thirteen tokens, windows of eight words, a budget of three rows."""
    found = chosen(untied(13, 4), 8, None, 0.25)
    assert found.sum() == 3 * 4
    assert not chosen(untied(13, 4), 8, 4, 0.25).any()


# --------------------------------------------------------------------------------------------------- against the loops


def with_ties(shape, generator):
    """Small whole numbers: sums of squares are exact, so that equal windows are equal, and there are many."""
    return torch.randint(0, 4, shape, generator=generator).double()


def without_ties(shape, generator):
    return torch.rand(shape, generator=generator, dtype=torch.float64)


@st.composite
def examples(draw, numbers):
    """A ragged batch, scores (B, T, D), and all that DropMix can be set to.

    Texts of a word, empty texts and rows of nothing but padding among them. Padding has scores, too, of no account.
    """
    tokens = draw(st.lists(st.one_of(st.integers(0, 3), st.integers(4, 7)), min_size=1, max_size=5))
    own = texts(tokens, extra_padding=draw(st.integers(0, 2)))
    columns = draw(st.integers(1, 4))
    height = draw(st.one_of(st.none(), st.integers(1, 4), st.integers(5, 9)))
    width = draw(st.one_of(st.none(), st.integers(1, columns)))
    part = st.tuples(st.integers(0, 24), st.sampled_from([24, 21, 20, 18])).map(lambda pair: pair[0] / pair[1])
    ratio = min(draw(st.one_of(part, st.floats(0, 1, width=32), st.sampled_from([0.0, 1.0]))), 1.0)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    scores = numbers((len(tokens), own.input_ids.shape[1], columns), generator)
    partner = torch.tensor(draw(st.permutations(range(len(tokens)))))
    direction = draw(st.sampled_from(["replace", "keep"]))
    return own, scores, height, width, ratio, partner, direction, draw(st.sampled_from(WITHIN))


WITHIN = ["own", "overlap", "both", "padded"]


def compare(example):
    own, scores, height, width, ratio, partner, direction, within = example
    method = DropMix(height, width, ratio=ratio, direction=direction, within=within, pair=lambda _: partner)
    mix = method(own, scores)
    keep, share = dropmix_reference(scores, own.attention_mask, ratio, height, width, direction, within, partner)
    some = own.attention_mask.any(1)  # what a row without any token keeps of its label has a test of its own
    assert mix.level == "embeddings"
    assert torch.equal(mix.partner, partner)
    assert mix.keep.dtype == torch.bool
    assert mix.attend == ("own" if within in ("own", "overlap") else "both")
    assert torch.equal(mix.keep, keep)
    assert close(mix.share[some], share[some], 1e-6)
    if within in ("own", "overlap"):
        assert mix.keep[own.attention_mask == 0].all()
    representation = torch.arange(scores.numel()).view(scores.shape).double()
    assert torch.equal(mix.blend(representation), exchanged(representation, keep, partner))


@settings(max_examples=60)
@given(examples(with_ties))
def test_against_the_loops_with_many_ties(example):
    """Equal windows enter together or not at all."""
    compare(example)


@settings(max_examples=60)
@given(examples(without_ties))
def test_against_the_loops_with_few_ties(example):
    compare(example)


@crossed("dtype", [torch.float32, torch.float64], "height, width", [(1, 1), (None, 1), (3, None), (4, 1), (3, 5)])
def test_against_the_loops_on_longer_texts(height, width, dtype):
    own = texts([20, 9, 1, 15])
    scores = torch.stack([untied(20, 12, seed) for seed in range(4)]).to(dtype)
    for ratio in (0.05, 0.29, 0.5, 0.83):
        mix = DropMix(height, width, ratio=ratio)(own, scores)
        keep, share = dropmix_reference(scores, own.attention_mask, ratio, height, width)
        assert torch.equal(mix.keep, keep)
        assert close(mix.share, share, 1e-6)


# ---------------------------------------------------------------------------------------------------------- invariants

SIZES = [(1, 1), (None, 1), (1, None), (2, None), (3, None), (2, 1), (3, 1), (2, 2), (3, 3), (9, 1), (9, None)]
RATIOS = [0.0, 0.1, 0.2, 0.29, 1 / 3, 0.5, 0.7, 0.9, 1.0]


def runs(marks: list[bool]) -> list[int]:
    """The lengths of the runs of ones."""
    return [len(run) for run in "".join("1" if mark else "0" for mark in marks).split("0") if run]


@pytest.mark.parametrize("ratio", RATIOS)
def test_units_without_ties_use_the_whole_budget(ratio):
    assert chosen(untied(7, 5), 1, 1, ratio).sum() == budget(7, 5, ratio)


@pytest.mark.parametrize(("rows", "ratio", "units"), [(10, 0.29, 29), (10, 0.57, 57), (5, 0.58, 29), (10, 0.299, 29)])
def test_the_budget_is_rounded_down_but_not_by_floating_point(rows, ratio, units):
    """100 * 0.29 is 28.999999999999996 there."""
    assert chosen(untied(rows, 10), 1, 1, ratio).sum() == units


@pytest.mark.parametrize("ratio", RATIOS)
def test_channels_are_whole_columns(ratio):
    found = chosen(untied(7, 5), None, 1, ratio)
    assert found.sum() == 7 * math.floor(5 * ratio + 1e-9)
    assert torch.equal(found.all(0), found.any(0))


@crossed("ratio", RATIOS, "height", [1, 2, 3, 9])
def test_words_are_whole_rows_in_runs(height, ratio):
    found = chosen(untied(7, 5), height, None, ratio)
    assert found.sum() % 5 == 0
    assert torch.equal(found.all(1), found.any(1))
    tall, _ = window_size(7, 5, ratio, height, None)
    assert all(length >= tall for length in runs(found[:, 0].tolist()))
    assert found.any() or ratio < 1 / 7  # one row fits always


@crossed("ratio", RATIOS, "height", [1, 2, 3, 9])
def test_general_windows_leave_runs_in_every_column(height, ratio):
    found = chosen(untied(7, 5), height, 1, ratio)
    assert found.sum() <= budget(7, 5, ratio)
    for column in range(5):
        assert all(length >= min(height, 7) for length in runs(found[:, column].tolist()))


@pytest.mark.parametrize(("height", "width"), [size for size in SIZES if size[1] is not None or size[0] == 1])
def test_a_larger_budget_takes_more_of_the_same(height, width):
    """Not so for words of several rows: their windows grow with the budget (DM11)."""
    for saliency in (untied(7, 5), torch.randint(0, 4, (7, 5)).double()):
        found = [chosen(saliency, height, width, units / 35) for units in range(36)]
        assert all((more | ~less).all() for less, more in pairwise(found))
        assert not found[0].any()
        assert found[-1].all()


@crossed("power", [-40, -1, 3, 40], "height, width", SIZES)
def test_the_scale_of_the_saliency_does_not_matter(height, width, power):
    own = texts([7, 5, 1])
    scores = torch.stack([untied(7, 5, seed) for seed in range(3)])
    for ratio in (0.2, 0.5):
        before = DropMix(height, width, ratio=ratio, pair=alone)(own, scores)
        after = DropMix(height, width, ratio=ratio, pair=alone)(own, scores * 2.0**power)
        assert torch.equal(before.keep, after.keep)
        assert torch.equal(before.share, after.share)


@crossed("height, width", SIZES, "direction", ["replace", "keep"])
def test_nothing_and_everything(height, width, direction):
    """l = 0 replaces nothing, l = 1 all of one's own rows; "keep" is the other way round. Padding always stays."""
    own = texts([7, 2, 1, 4])
    scores = torch.randint(0, 3, (4, 7, 5)).double()
    real = own.attention_mask.bool()[..., None].expand(4, 7, 5)
    for ratio in (0.0, 1.0):
        mix = DropMix(height, width, ratio=ratio, direction=direction)(own, scores)
        theirs = (ratio == 1.0) == (direction == "replace")
        assert torch.equal(mix.keep, ~real if theirs else torch.ones_like(real))
        assert mix.share.tolist() == [0.0 if theirs else 1.0] * 4


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_named_shapes_are_windows(ratio):
    """U is (1, 1), C is (N, 1), and W of n words is (n, D) wherever the budget pays for n words (DM11)."""
    for saliency in (untied(7, 5), torch.randint(0, 4, (7, 5)).double()):
        assert torch.equal(chosen(saliency, None, 1, ratio), chosen(saliency, 7, 1, ratio))
        assert torch.equal(chosen(saliency, None, 1, ratio), chosen(saliency, 30, 1, ratio))
        for height in (1, 2, 3):
            if math.floor(7 * ratio + 1e-9) >= height:
                assert torch.equal(chosen(saliency, height, None, ratio), chosen(saliency, height, 5, ratio))


def test_the_names_of_the_paper():
    sizes = {name: (METHODS[name]().height, METHODS[name]().width) for name in METHODS if name.startswith("dropmix")}
    assert sizes["dropmix-u"] == (1, 1)
    assert sizes["dropmix-c"] == (None, 1)
    assert sizes["dropmix-w"][1] is None
    assert sizes["dropmix-g"][1] == 1
    assert all(2 <= sizes[name][0] <= 32 for name in ("dropmix-w", "dropmix-g"))


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_replace_and_keep_are_complementary(height, width):
    """x~_replace + x~_keep = x_A + x_B on one's own rows, and so for the labels; on padding both keep one's own."""
    own = texts([7, 3, 6], extra_padding=2)
    scores, partner = torch.randint(0, 4, (3, 9, 5)).double(), torch.tensor([2, 0, 1])
    representation = torch.randn(3, 9, 5, dtype=torch.float64)
    real = own.attention_mask.bool()
    for ratio in RATIOS:
        one, other = (
            DropMix(height, width, ratio=ratio, direction=direction, pair=lambda _: partner)(own, scores)
            for direction in ("replace", "keep")
        )
        assert torch.equal(one.keep[real], ~other.keep[real])
        assert close(one.share + other.share, torch.ones(3), 1e-6)
        total = one.blend(representation) + other.blend(representation)
        assert close(total[real], (representation + representation[partner])[real], 1e-12)
        assert torch.equal(total[~real], 2 * representation[~real])


@crossed("height, width", SIZES, "value, dtype", product([0.1, 0.7, 1e-7, 12345.678], [torch.float32, torch.float64]))
def test_equal_saliency_enters_together_whatever_its_size(value, dtype, height, width):
    saliency = torch.full((7, 5), value, dtype=dtype)
    assert not chosen(saliency, height, width, 34 / 35).any()
    assert chosen(saliency, height, width, 1.0).all()


@crossed(
    "height, width",
    [(1, 1), (None, 1), (2, None), (2, 1)],
    "direction, wrong",
    product(["replace", "keep"], [math.nan, math.inf, -math.inf]),
)
def test_a_text_whose_saliency_overflowed_stays_unmixed(height, width, wrong, direction):
    """One such unit is enough; its partner, whose own saliency is sound, is mixed as ever."""
    own, scores = texts([7, 5, 6, 7]), torch.stack([untied(7, 5, seed) for seed in range(4)])
    method = DropMix(height, width, ratio=0.5, direction=direction, pair=neighbours)
    whole = method(own, scores)
    scores[1, 3, 2] = wrong
    mix = method(own, scores)
    assert mix.keep[1].all()
    assert mix.share[1] == 1
    for row in (0, 2, 3):
        assert not mix.keep[row].all()
        assert torch.equal(mix.keep[row], whole.keep[row])
        assert mix.share[row] == whole.share[row]


@pytest.mark.parametrize("direction", ["replace", "keep"])
def test_a_row_without_any_token_keeps_its_label(direction):
    """As a distributed sampler may add: nothing of it can change hands, so nothing of its label does."""
    own, scores = texts([5, 0, 4]), torch.stack([untied(5, 3, seed) for seed in range(3)])
    mix = DropMix(ratio=0.5, direction=direction)(own, scores)
    assert mix.keep[1].all()
    assert mix.share[1] == 1


@pytest.mark.parametrize("direction", ["drop", "Replace", "", None])
def test_a_misspelt_direction_is_refused(direction):
    with pytest.raises(ValueError, match=r"direction.*(keep, replace|replace or keep)"):
        DropMix(direction=direction)


def test_the_rule_changes_neither_batch_nor_scores():
    own, scores = texts([7, 5]), torch.stack([untied(7, 5), untied(7, 5, 1)])
    before = copy.deepcopy((own, scores))
    DropMix(2, 2, ratio=0.5)(own, scores)
    assert torch.equal(scores, before[1])
    assert torch.equal(own.attention_mask, before[0].attention_mask)


# -------------------------------------------------------------------------------------------------------- the weights


def realised(method: DropMix, count: int = 4000) -> torch.Tensor:
    """What is replaced of `count` texts of 160 units without ties, which follows l to 1 part in 160."""
    saliency = untied(10, 16).expand(count, 10, 16)
    return 1 - method(texts([10] * count), saliency).share.double()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 4.0])
def test_weights_are_drawn_from_beta_for_each_text(alpha):
    """Mean 1/2 and variance 1 / (4 (2 alpha + 1)); what is rounded down costs half a unit in the mean."""
    found = realised(DropMix(alpha=alpha))
    assert found.unique().numel() > 20
    deviation = math.sqrt(1 / (4 * (2 * alpha + 1)))
    assert found.mean().item() == pytest.approx(0.5, abs=4.5 * deviation / math.sqrt(4000) + 1 / 160)
    assert found.std().item() == pytest.approx(deviation, abs=0.02)


def test_the_paper_sets_alpha_and_who_meets_whom():
    method = DropMix()
    assert (method.alpha, method.ratio, method.direction, method.pair) == (0.1, None, "replace", shuffle)
    assert method.guide is gradient_map


def test_the_seed_decides():
    own, scores = texts([10] * 6), untied(10, 16).expand(6, 10, 16)
    found = []
    for seed in (1, 1, 2):
        torch.default_generator.manual_seed(seed)
        mix = DropMix(alpha=1.0)(own, scores)
        found.append((mix.partner.tolist(), mix.share.tolist()))
    assert found[0] == found[1]
    assert found[0][0] != found[2][0]
    assert found[0][1] != found[2][1]


@pytest.mark.parametrize("width", [1, None])
def test_a_height_between_two_is_drawn_for_every_batch(width):
    """DM7: one height for all texts of a batch, the two bounds among them; each is what a fixed height gives."""
    own, scores = texts([9, 9]), torch.stack([untied(9, 4), untied(9, 4, seed=1)])
    fixed = [DropMix(height, width, ratio=0.6, pair=alone)(own, scores).keep for height in (2, 3, 4)]
    drawn = [DropMix((2, 4), width, ratio=0.6, pair=alone)(own, scores).keep for _ in range(60)]
    assert not any(torch.equal(one, other) for one, other in zip(fixed, fixed[1:] + fixed[:1], strict=True))
    counts = [sum(torch.equal(keep, one) for keep in drawn) for one in fixed]
    assert sum(counts) == 60
    assert min(counts) >= 5  # 20 on average; fewer than 5 once in a million


@pytest.mark.parametrize("height", [(0, 3), (5, 2), (2,), (2, 3, 4), (2, None), (1, True), "2-8", 2.5])
def test_heights_that_are_none(height):
    with pytest.raises(
        ValueError, match=r"height=.*: give a whole number from 1 on, or two between which it is drawn, or null"
    ):
        DropMix(height=height)


@pytest.mark.parametrize("direction", ["replace", "keep"])
def test_padding_draws_nothing_more(direction):
    own, wide = texts([7, 5, 2]), texts([7, 5, 2], extra_padding=6)
    scores = torch.stack([untied(7, 5, seed) for seed in range(3)]) * own.attention_mask[..., None]
    longer = torch.cat([scores, torch.zeros(3, 6, 5)], 1)
    found = []
    for one, values in ((own, scores), (wide, longer)):
        torch.default_generator.manual_seed(4)
        mix = DropMix(2, 1, alpha=1.0, direction=direction)(one, values)
        found.append((mix.partner, mix.share, mix.keep[:, :7], torch.get_rng_state()))
        assert mix.keep[:, 7:].all()
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


# --------------------------------------------------------------------------------------------------- through the model


@pytest.mark.parametrize("family", FAMILIES)
def test_the_guide_is_the_absolute_gradient_of_the_embeddings(family):
    """I = |d CE(x_A) / d X_A| of each text's own loss, unit by unit; nothing on padding."""
    model, own = FAMILIES[family]().double(), batch([6, 1, 9, 0], family=family)
    seen = []
    handle = model.base_model.embeddings.register_forward_hook(lambda *call: seen.append(call[2]))
    logits = model(input_ids=own.input_ids, attention_mask=own.attention_mask).logits
    handle.remove()
    loss = sum(-logits[row].log_softmax(0)[own.labels[row]] for row in range(4))
    (gradient,) = torch.autograd.grad(loss, seen[0])
    found = gradient_map(model, own)
    assert found.shape == seen[0].shape
    assert (found[own.attention_mask == 0] == 0).all()
    real = own.attention_mask.bool()
    largest = gradient[real].abs().max().item()
    assert largest > 1e-3
    assert close(found[real] / largest, gradient[real].abs() / largest, 1e-6)


def layer_by_layer(model, own: Batch, change) -> torch.Tensor:
    """BERT with its embeddings changed, every layer under one's own mask, by calling its parts (eager attention)."""
    hidden = change(model.bert.embeddings(input_ids=own.input_ids))
    allowed = torch.where(own.attention_mask.bool(), 0.0, -1e9).double()[:, None, None, :]
    for layer in model.bert.encoder.layer:
        output = layer(hidden, allowed)
        hidden = output[0] if isinstance(output, tuple) else output
    return model.classifier(model.bert.pooler(hidden))


@crossed(
    "height, width",
    [(1, 1), (None, 1), (2, None), (2, 1)],
    "direction, attention",
    product(["replace", "keep"], ["eager", "sdpa"]),
)
def test_mixed_texts_keep_their_own_length(height, width, attention, direction):
    """A longer partner lengthens nobody: no token attends to what is past the end of its own text (DM2).

    And a shorter one gives what stands on its padding.
    """
    model, own, partner = FAMILIES["bert"]().double(), batch([7, 2, 5, 11, 0]), torch.tensor([1, 0, 3, 4, 2])
    model.set_attn_implementation("eager")
    with torch.no_grad():
        scores = gradient_map(model, own)
        keep, share = dropmix_reference(scores, own.attention_mask, 0.6, height, width, direction)
        expected = layer_by_layer(model, own, lambda embedded: exchanged(embedded, keep, partner))
        plain_logits = layer_by_layer(model, own, lambda embedded: embedded)
        model.set_attn_implementation(attention)
        mix = DropMix(height, width, ratio=0.6, direction=direction, pair=lambda _: partner)(own, scores)
        found = forward_mixed(model, own, mix)
    assert close(mix.share, share, 1e-6)
    assert all(not close(found[row], plain_logits[row], 1e-3) for row in range(4))  # the last is empty: [CLS] is [CLS]
    assert close(found, expected)


def by_hand(model, own: Batch, partner: torch.Tensor, ratio: float) -> torch.Tensor:
    """The loss of a step on mixtures only: saliency by autograd, patches by loops, soft cross-entropy by its terms."""
    seen = []
    handle = model.bert.embeddings.register_forward_hook(lambda *call: seen.append(call[2]))
    loss = torch.nn.functional.cross_entropy(forward(model, own), own.labels)
    handle.remove()
    (gradient,) = torch.autograd.grad(loss, seen[0])
    saliency = gradient.abs() * own.attention_mask[..., None]
    keep, share = dropmix_reference(saliency, own.attention_mask, ratio, 2, 1)
    logits = layer_by_layer(model, own, lambda embedded: torch.where(keep, embedded, embedded[partner]))
    return soft_cross_entropy(logits, own.labels, own.labels[partner], share).mean()


@pytest.mark.parametrize("accumulated", [0.0, 1.5])
def test_a_step_on_mixtures_only_equals_one_by_hand(accumulated):
    """The gradient of one loss: what the guide's pass would add to a weight is not there (methods.md 3.9 (5))."""
    model, own = FAMILIES["bert"]().double().train(), batch([7, 2, 5, 11, 4])
    partner = torch.tensor([1, 2, 0, 4, 3])
    model.set_attn_implementation("eager")
    other = copy.deepcopy(model)
    expected = by_hand(other, own, partner, 0.4)
    expected.backward()
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, accumulated) if accumulated else None

    losses = mixed(DropMix(2, 1, ratio=0.4, pair=lambda _: partner), 0.0)(model, own)
    loss = next(losses)
    assert all(weight.grad is None or (weight.grad == accumulated).all() for weight in model.parameters())
    loss.backward()
    assert next(losses, None) is None
    assert loss.item() == pytest.approx(expected.item(), abs=1e-7)
    for (name, found), wanted in zip(model.named_parameters(), other.parameters(), strict=True):
        if wanted.grad is None:
            assert found.grad is None or (found.grad == accumulated).all(), name
        else:
            assert close(found.grad - accumulated, wanted.grad, 1e-6), name


def products(model, own: Batch, objective) -> tuple[int, int]:
    """Operations of the linear maps' matrix products in a step: forward, and backward."""
    with FlopCounterMode(display=False) as counter:
        for loss in objective(model, own):
            loss.backward()
    counts = {str(kind): number for kind, number in counter.get_flop_counts()["Global"].items()}
    return counts["aten.addmm"], counts["aten.mm"]


@crossed("name", ["dropmix-u", "dropmix-c", "dropmix-w", "dropmix-g"], "family", ["bert", "roberta", "electra"])
def test_a_step_costs_five_or_six_forward_passes(name, family):
    """Section 5 of methods.md, F the cost of a forward pass: plain training 3; on mixtures only 5, for the guide's
    backward pass multiplies no weight gradient; with the clean loss, whose backward pass the guide reads, 6."""
    model, own = FAMILIES[family]().double().train(), batch([7, 2, 5, 11], family=family)
    one, plain_backward = products(model, own, plain)
    assert plain_backward == 2 * one
    assert products(model, own, mixed(METHODS[name](), 0.0)) == (2 * one, 3 * one)
    assert products(model, own, mixed(METHODS[name](), 0.5)) == (2 * one, 4 * one)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_weight_gets_its_gradient_once_in_a_step_on_mixtures(family):
    model, own = FAMILIES[family]().double().train(), batch([7, 2, 5, 11], family=family)
    arrived = []
    for name, weight in model.named_parameters():
        weight.register_post_accumulate_grad_hook(lambda _, name=name: arrived.append(name))
    losses = mixed(DropMix(2, 1, ratio=0.4), 0.0)(model, own)
    loss = next(losses)
    assert arrived == []
    loss.backward()
    list(losses)
    assert len(arrived) == len(set(arrived)) > 10


def test_a_window_wider_than_the_representation_is_refused():
    batch = texts([4, 3])
    scores = torch.rand(2, 4, 1)
    for height in (1, 2, None):
        with pytest.raises(ValueError, match="width=2 is wider than the representation, whose width is 1:"):
            DropMix(height=height, width=2)(batch, scores)
    assert DropMix(width=1, ratio=0.5)(batch, scores).keep.shape == scores.shape
