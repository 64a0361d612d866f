"""The value every method returns: how it blends representations and labels."""

import math

import pytest
import torch

from families import FAMILIES, batch, crossed, distinct_batch
from reference import close, soft_cross_entropy
from salience import Mix, forward_mixed


def test_a_bool_keep_chooses_token_ids():
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    mix = Mix("tokens", torch.tensor([1, 0]), torch.tensor([[True, False, True], [False, True, True]]), torch.ones(2))
    blended = mix.blend(ids)
    assert blended.tolist() == [[1, 5, 3], [1, 5, 6]]
    assert blended.dtype == torch.long


def test_a_bool_keep_takes_from_the_donor_it_is_given():
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    donor = torch.tensor([[7, 8, 9], [10, 11, 12]])
    keep = torch.tensor([[True, False, True], [False, True, False]])
    mix = Mix("tokens", torch.tensor([1, 0]), keep, torch.ones(2), donor)
    assert mix.blend(ids).tolist() == [[1, 8, 3], [10, 5, 12]]


def test_a_bool_keep_lets_nothing_of_what_it_drops_through():
    """`where`, not a product with zero: an infinite vector that is dropped must leave no NaN."""
    own = torch.tensor([[[1.0]], [[math.inf]]])
    keep = torch.tensor([True, False]).view(2, 1, 1)
    assert Mix("embeddings", torch.tensor([1, 0]), keep, torch.ones(2)).blend(own).flatten().tolist() == [1.0, 1.0]


def test_a_float_keep_interpolates():
    own = torch.tensor([[[1.0, 2.0]], [[3.0, -2.0]]])
    mix = Mix("embeddings", torch.tensor([1, 0]), torch.tensor(0.75), torch.full((2,), 0.75))
    assert mix.blend(own).tolist() == [[[1.5, 1.0]], [[2.5, -1.0]]]


def test_a_float_keep_may_differ_from_token_to_token():
    """AttentionMix: keep is (B, T, 1). With three texts the partner is no involution."""
    own = torch.tensor([[0.0, 10.0], [100.0, 1000.0], [-5.0, 3.0]]).unsqueeze(2)
    keep = torch.tensor([[1.0, 0.5], [0.25, 0.0], [0.1, 0.9]]).unsqueeze(2)
    mix = Mix("words", torch.tensor([1, 2, 0]), keep, keep.mean((1, 2)))
    expected = [[0.0, 505.0], [0.25 * 100 + 0.75 * -5, 3.0], [0.1 * -5, 0.9 * 3 + 0.1 * 10]]
    assert close(mix.blend(own).squeeze(2), torch.tensor(expected), 1e-4)


def test_a_float_keep_interpolates_with_the_donor_it_is_given():
    own, donor = torch.tensor([[2.0], [4.0]]), torch.tensor([[-2.0], [8.0]])
    mix = Mix("sentence", torch.tensor([1, 0]), torch.tensor([[0.5], [0.25]]), torch.ones(2), donor)
    assert mix.blend(own).tolist() == [[0.0], [7.0]]


@pytest.mark.parametrize("keep", [1.0, 0.0])
def test_the_ends_of_an_interpolation_are_exact(keep):
    own = torch.randn(4, 3, 5, dtype=torch.float64) * 1e6
    partner = torch.tensor([2, 3, 0, 1])
    mix = Mix(1, partner, torch.tensor(keep), torch.full((4,), keep))
    assert torch.equal(mix.blend(own), own if keep else own[partner])


@crossed("shape", [(), (2, 1, 1), (2, 3, 1)], "dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_blending_keeps_the_precision_of_the_representation(dtype, shape):
    """The layers above were built for it; a keep in another precision must not change it."""
    mix = Mix("embeddings", torch.tensor([1, 0]), torch.full(shape, 0.3), torch.full((2,), 0.3))
    assert mix.blend(torch.ones(2, 3, 4, dtype=dtype)).dtype == dtype


def test_blending_is_linear_in_keep_and_leaves_equal_texts_alone():
    own = torch.randn(2, 3, 4, dtype=torch.float64)
    partner, share = torch.tensor([1, 0]), torch.ones(2)

    def at(keep):
        return Mix(1, partner, torch.tensor(keep, dtype=torch.float64), share).blend(own)

    assert close(at(0.3), 0.3 * at(1.0) + 0.7 * at(0.0), 1e-12)
    assert close(Mix(1, torch.arange(2), torch.tensor(0.3), share).blend(own), own, 1e-12)


def test_gradients_reach_both_texts():
    own = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    mix = Mix(1, torch.tensor([1, 0]), torch.tensor(0.75, dtype=torch.float64), torch.full((2,), 0.75))
    mix.blend(own)[0].sum().backward()
    assert own.grad.tolist() == [[0.75] * 3, [0.25] * 3]


# ------------------------------------------------------------------------------------------------------------- attend


def attending(keep: torch.Tensor, attend: str | None = None, level="embeddings") -> Mix:
    return Mix(level, torch.tensor([1, 0]), keep, torch.ones(2), attend=attend)


def test_a_bool_keep_attends_to_ones_own_and_a_float_keep_to_both_unless_told():
    one = torch.tensor(1.0)
    for keep, usual in ((one.bool(), "own"), (one, "both"), (one.double(), "both")):
        assert attending(keep).attend == usual
        assert [attending(keep, attend).attend for attend in ("own", "both")] == ["own", "both"]


@pytest.mark.parametrize("attend", ["partner", "", True])
def test_nothing_else_is_attended_to(attend):
    with pytest.raises(ValueError, match="'own', 'both' or None"):
        attending(torch.tensor(True), attend)


@crossed("level", ["embeddings", 1], "family", ["bert", "roberta", "deberta-v2"])
def test_attend_and_not_the_type_of_keep_decides_the_mask(family, level):
    """The same half of the units replaced, given as bool and as 0 and 1: equal logits if, and only if, `attend` is."""
    model, texts = FAMILIES[family]().double(), batch([3, 9], family=family)
    width = model.config.hidden_size
    keep = (torch.arange(width) < width // 2).expand(2, texts.input_ids.shape[1], width)
    logits = {
        (kind, attend): forward_mixed(model, texts, attending(keep.to(kind), attend, level)).detach()
        for kind in (torch.bool, torch.float64)
        for attend in ("own", "both")
    }
    for attend in ("own", "both"):
        assert close(logits[torch.bool, attend], logits[torch.float64, attend], 1e-9)
    own, both = logits[torch.bool, "own"], logits[torch.bool, "both"]
    assert (own - both)[0].abs().max() > 1e-4  # the longer partner's tail is attended to in one of them only
    assert close(own[1], both[1], 1e-9)  # the partner of the longer text has no tail


# ------------------------------------------------------------------------------------------------------------- labels


def targets(share, labels, partner, classes):
    share = torch.tensor(share, dtype=torch.float64)
    mix = Mix("tokens", torch.tensor(partner), torch.tensor(True), share)
    return mix.targets(torch.tensor(labels), classes)


def test_targets_give_the_own_label_its_share():
    found = targets([0.8, 0.25, 1.0], [0, 2, 1], [1, 2, 0], 3)
    expected = [[0.8, 0.0, 0.2], [0.0, 0.75, 0.25], [0.0, 1.0, 0.0]]
    assert close(found, torch.tensor(expected), 1e-7)


def test_targets_of_equal_labels_are_hard():
    assert targets([0.3, 0.6], [1, 1], [1, 0], 2).tolist() == [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize("seed", range(5))
def test_targets_sum_to_one(seed):
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(17, generator=generator)
    labels = torch.randint(0, 7, (17,), generator=generator)
    mix = Mix("tokens", torch.randperm(17, generator=generator), torch.tensor(True), share)
    found = mix.targets(labels, 7)
    assert found.shape == (17, 7)
    assert found.is_floating_point()
    assert (found >= 0).all()
    assert close(found.sum(1), torch.ones(17), 1e-6)


def test_soft_cross_entropy_golds():
    """methods.md, section 1: z = (ln 3, 0), w_A = .8; z = (ln 6, ln 3, 0), y_A = 0, y_B = 2, w_A = .75."""
    two = torch.tensor([[math.log(3), 0.0]], dtype=torch.float64)
    three = torch.tensor([[math.log(6), math.log(3), 0.0]], dtype=torch.float64)
    first = -(targets([0.8, 1.0], [0, 1], [1, 0], 2)[:1].double() * two.log_softmax(1)).sum(1)
    second = -(targets([0.75, 1.0], [0, 2], [1, 0], 3)[:1].double() * three.log_softmax(1)).sum(1)
    assert first.item() == pytest.approx(0.5074045302, abs=1e-9)
    assert second.item() == pytest.approx(0.9587654911, abs=1e-9)


def test_cross_entropy_with_targets_is_the_weighted_mean_of_two():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    labels, share = torch.randint(0, 4, (9,), generator=generator), torch.rand(9, generator=generator).double()
    partner = torch.randperm(9, generator=generator)
    found = Mix("tokens", partner, torch.tensor(True), share).targets(labels, 4).double()
    losses = torch.nn.functional.cross_entropy(logits, found, reduction="none")
    assert close(losses, soft_cross_entropy(logits, labels, labels[partner], share), 1e-6)


def test_a_mix_is_a_value():
    mix = Mix("tokens", torch.tensor([0]), torch.tensor(True), torch.ones(1))
    with pytest.raises(AttributeError):
        mix.level = "words"
    ids = distinct_batch([3]).input_ids
    before = ids.clone()
    mix.blend(ids)
    assert torch.equal(ids, before)


def test_targets_of_several_labels_by_a_slow_loop():
    """y~ = share y + (1 - share) y[partner] for each label, and one label is the special case of one-hot rows."""
    labels = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]])
    partner, share = torch.tensor([2, 0, 1]), torch.tensor([0.25, 0.7, 1.0])
    mix = Mix("embeddings", partner, share[:, None, None], share)
    found = mix.targets(labels, 4)
    for row in range(3):
        for label in range(4):
            own, other = labels[row, label].item(), labels[partner[row], label].item()
            assert found[row, label].item() == pytest.approx(share[row].item() * own + (1 - share[row].item()) * other)
    numbers = torch.tensor([3, 0, 1])
    one_hot = torch.nn.functional.one_hot(numbers, 4)
    assert torch.equal(mix.targets(one_hot, 4), mix.targets(numbers, 4))
