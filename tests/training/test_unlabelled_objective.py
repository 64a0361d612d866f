"""The loss on texts without labels: against a loop over the texts, in parts, and with views that mix texts."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from families import FAMILIES, batch
from salience import Batch, RandomUNK, SSMix, TMix, plain
from salience.hooks.hooks import forward
from salience.mixing.mix import Mix
from salience.training.self_training.batches import UnlabelledRows
from salience.training.self_training.objective import known_labels, viewed, with_unlabelled

CLASSES = 3


@pytest.fixture
def model():
    return FAMILIES["bert"](classes=CLASSES).double()


def texts_and_labels(seed: int = 0):
    random = torch.Generator().manual_seed(seed)
    labels = torch.rand(5, CLASSES, generator=random, dtype=torch.float64)
    weights = torch.rand(5, generator=random, dtype=torch.float64)
    own = batch([4, 7, 2, 5, 3])
    return Batch(own.input_ids, own.attention_mask, own.segment), labels / labels.sum(1, keepdim=True), weights


def cross_entropies(logits, labels, class_weights=(1.0, 1.0, 1.0)) -> list[float]:
    """sum_c k_c q_c (-log p_c) of each text, class by class."""
    found = []
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        total = sum(math.exp(value) for value in row)
        of_classes = zip(class_weights, label, row, strict=True)
        found.append(-sum(k * q * math.log(math.exp(v) / total) for k, q, v in of_classes))
    return found


def rows_of(own: Batch, rows) -> Batch:
    return Batch(own.input_ids[rows], own.attention_mask[rows], own.segment[rows])


@pytest.mark.parametrize("class_weights", [None, (0.5, 1.0, 1.5)])
def test_the_loss_is_the_weighted_mean_over_the_texts(model, class_weights):
    own, labels, weights = texts_and_labels()
    objective = with_unlabelled(plain, lambda model: (own, labels, weights, 1.0), None, 0.7, class_weights)
    of_labelled = batch([3, 6])
    first, second = (loss.item() for loss in objective(model, of_labelled))
    assert first == pytest.approx(next(plain(model, of_labelled)).item())
    each = cross_entropies(forward(model, own), labels, class_weights or (1.0,) * CLASSES)
    expected = 0.7 * sum(w * loss for w, loss in zip(weights.tolist(), each, strict=True)) / 5
    assert second == pytest.approx(expected, rel=1e-6)


def several_labels(seed: int = 0):
    """Of five texts: labels (5, 3), each for itself, and a weight for each."""
    random = torch.Generator().manual_seed(seed)
    return [torch.rand(5, CLASSES, generator=random, dtype=torch.float64) for _ in range(2)]


@pytest.mark.parametrize("label_weights", [None, (0.5, 1.0, 3.0)])
def test_of_several_labels_the_loss_is_the_weighted_mean_over_texts_and_labels(model, label_weights):
    model.config.problem_type = "multi_label_classification"
    own, (labels, weights) = texts_and_labels()[0], several_labels()
    objective = with_unlabelled(
        lambda *_: iter(()), lambda model: (own, labels, weights, 1.0), None, 0.7, label_weights
    )
    (found,) = (loss.item() for loss in objective(model, None))
    total = 0.0
    for row, label, weight in zip(*(each.tolist() for each in (forward(model, own), labels, weights)), strict=True):
        for x, y, w, k in zip(row, label, weight, label_weights or (1.0,) * CLASSES, strict=True):
            total += w * (k * y * math.log(1 + math.exp(-x)) + (1 - y) * math.log(1 + math.exp(x)))
    assert found == pytest.approx(0.7 * total / (5 * CLASSES), rel=1e-6)


def test_where_texts_with_several_labels_are_mixed_no_and_yes_are_too(model):
    model.config.problem_type = "multi_label_classification"
    own, (labels, weights) = texts_and_labels()[0], several_labels()
    both = torch.stack([1 - labels, labels], 2) * weights[..., None]
    view, mixes = TMix(), []

    class Seen:
        guide = view.guide

        def __call__(self, given, scores):
            assert given.labels.tolist() == (labels > 0.5).long().tolist()
            mixes.append(view(given, scores))
            return mixes[-1]

    _, targets = viewed(model, own, both, Seen())
    for row, share, partner in zip(range(5), mixes[0].share.tolist(), mixes[0].partner.tolist(), strict=True):
        torch.testing.assert_close(targets[row], share * both[row] + (1 - share) * both[partner])


def test_a_step_in_parts_has_the_gradient_of_the_whole_step(model):
    """Two parts, of three texts and of two, with as many labelled texts each, or with more in the first one."""

    def gradient(*parts):
        model.zero_grad()
        own, labels, weights = texts_and_labels()
        for labelled, rows in parts:
            part = rows_of(own, rows), labels[rows], weights[rows], len(rows) / 5
            objective = with_unlabelled(lambda *_: iter(()), lambda model, part=part: part, None, 1.0, labelled=10)
            for loss in objective(model, batch([3] * labelled)):
                (loss * labelled / 10).backward()  # as the trainer does
        return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])

    whole = gradient((10, [0, 1, 2, 3, 4]))
    assert whole.norm() > 1e-3
    torch.testing.assert_close(gradient((5, [0, 1, 2]), (5, [3, 4])), whole)
    torch.testing.assert_close(gradient((8, [0, 1, 2]), (2, [3, 4])), whole)


def test_a_part_without_texts_has_no_further_loss(model):
    assert len(list(with_unlabelled(plain, lambda model: None, None, 1.0)(model, batch([3, 6])))) == 1


def test_replaced_words_keep_the_label(model):
    own, labels, _ = texts_and_labels()
    torch.default_generator.manual_seed(1)
    logits, targets = viewed(model, own, labels, RandomUNK(window=0.5, unknown=1))
    torch.testing.assert_close(targets, labels)
    assert not torch.allclose(logits, forward(model, own))


@pytest.mark.parametrize("view", [TMix(), SSMix(window=0.5)], ids=["tmix", "ssmix"])
def test_where_texts_are_mixed_their_labels_are_too(model, view):
    """The labels are mixed text by text, with the shares of the method."""
    own, labels, _ = texts_and_labels()
    mixes = []

    class Seen:
        guide = view.guide

        def __call__(self, given, scores):
            assert given.labels.tolist() == [row.index(max(row)) for row in labels.tolist()]
            mixes.append(view(given, scores))
            return mixes[-1]

    _, targets = viewed(model, own, labels, Seen())
    (mix,) = mixes
    known = labels.tolist()
    expected = [
        [share * own + (1 - share) * other for own, other in zip(row, known[partner], strict=True)]
        for row, share, partner in zip(known, mix.share.tolist(), mix.partner.tolist(), strict=True)
    ]
    np.testing.assert_allclose(targets.detach(), expected, atol=1e-6)
    assert not torch.allclose(targets, labels)


class HalfOfTheNext:
    """Keeps a text as it is, and takes half of the label of the text before it, the last one for the first."""

    guide = None

    def __init__(self):
        self.seen = []

    def __call__(self, given, scores):
        self.seen.append(given)
        count = len(given)
        keep = torch.ones(1, 1, 1, dtype=torch.bool)
        return Mix("embeddings", torch.arange(count).roll(1), keep, torch.full((count,), 0.5))


@pytest.mark.parametrize("class_weights", [None, (0.5, 1.0, 1.5)])
def test_all_texts_of_a_step_are_mixed_together(model, class_weights):
    """The two labelled texts come first; the loss is the mean over all seven."""
    own, labels, weights = texts_and_labels()
    known, view = replace(batch([9, 3]), labels=torch.tensor([2, 0])), HalfOfTheNext()
    objective = with_unlabelled(
        lambda *_: iter(()), lambda model: (own, labels, weights, 1.0), view, 0.7, class_weights, padding=0
    )
    (found,) = (loss.item() for loss in objective(model, known))
    (given,) = view.seen
    assert given.labels.tolist() == [2, 0, *labels.argmax(1).tolist()]
    texts = [known_or_own[row : row + 1] for known_or_own in (known.input_ids, own.input_ids) for row in
             range(len(known_or_own))]  # fmt: skip
    lengths = [int(mask.sum()) for mask in (*known.attention_mask, *own.attention_mask)]
    logits = torch.cat([
        model(text[:, :length], attention_mask=torch.ones(1, length, dtype=torch.long)).logits
        for text, length in zip(texts, lengths, strict=True)
    ])  # fmt: skip
    before = [[0.0, 0, 1], [1.0, 0, 0], *(labels * weights[:, None]).tolist()]
    targets = torch.tensor([
        [(one + other) / 2 for one, other in zip(before[row], before[row - 1], strict=True)] for row in range(7)
    ])  # fmt: skip
    each = cross_entropies(logits, targets, class_weights or (1.0,) * CLASSES)
    assert found == pytest.approx(0.7 * sum(each) / 7, rel=1e-5)


def test_of_several_labels_the_labelled_texts_have_no_and_yes_too(model):
    model.config.problem_type = "multi_label_classification"
    own, (labels, weights) = texts_and_labels()[0], several_labels()
    known = replace(batch([4, 2]), labels=torch.tensor([[1, 0, 1], [0, 0, 1]]))
    both = torch.stack([1 - labels, labels], 2) * weights[..., None]
    found = torch.cat([known_labels(known, both), both])
    assert found[:2].tolist() == [[[0, 1], [1, 0], [0, 1]], [[1, 0], [1, 0], [0, 1]]]
    objective = with_unlabelled(
        lambda *_: iter(()), lambda model: (own, labels, weights, 1.0), HalfOfTheNext(), 1.0, padding=0
    )
    (loss,) = objective(model, known)
    logits = forward(model, known.followed_by(own, 0))
    total = 0.0
    for row, text in enumerate(logits.tolist()):
        target = ((found[row] + found[row - 1]) / 2).tolist()
        for x, (no, yes) in zip(text, target, strict=True):
            total += yes * math.log(1 + math.exp(-x)) + no * math.log(1 + math.exp(x))
    assert loss.item() == pytest.approx(total / (7 * CLASSES), rel=1e-6)


def test_batches_below_each_other_keep_their_tokens():
    upper, lower = batch([2, 5]), batch([7])
    both = upper.followed_by(lower, padding=9)
    length = lower.input_ids.shape[1]
    assert both.input_ids.shape == both.attention_mask.shape == both.segment.shape == (3, length)
    for place, part in ((slice(0, 2), upper), (slice(2, 3), lower)):
        width = part.input_ids.shape[1]
        for name, fill in (("input_ids", 9), ("attention_mask", 0), ("segment", 0)):
            found = getattr(both, name)[place]
            assert torch.equal(found[:, :width], getattr(part, name))
            assert (found[:, width:] == fill).all()
    assert both.labels is None and both.pair is None
    pairs = [replace(part, pair=torch.tensor(values)) for part, values in ((upper, [True, False]), (lower, [True]))]
    assert pairs[0].followed_by(pairs[1], 0).pair.tolist() == [True, False, True]


# -------------------------------------------------------------------------------------------------- which texts, when


def rows(**settings) -> UnlabelledRows:
    lengths = np.random.default_rng(0).integers(1, 30, 23)
    return UnlabelledRows(**({"lengths": lengths, "size": 4, "seed": 3} | settings))


def test_an_epoch_has_every_text_once_but_those_that_fill_no_step():
    own = rows()
    for epoch in range(3):
        seen = Counter(row for step in range(5) for row in own.of_step(5 * epoch + step).tolist())
        assert len(seen) == 20 and set(seen.values()) == {1}
    assert own.of_step(0).tolist() != own.of_step(5).tolist()


def test_the_rows_follow_from_the_number_of_the_step():
    """In whatever order the steps are asked for, as after a resumption."""
    own = rows()
    in_order = [own.of_step(step).tolist() for step in range(12)]
    assert [rows().of_step(step).tolist() for step in reversed(range(12))][::-1] == in_order
    assert [rows(seed=4).of_step(step).tolist() for step in range(12)] != in_order


def test_parts_divide_the_rows_of_a_step():
    own = rows(parts=3)
    for step in (0, 6, 2):
        own.on_step_begin(None, SimpleNamespace(global_step=step), None)
        parts = [own.next().tolist() for _ in range(3)]
        assert [len(part) for part in parts] == [2, 1, 1]
        assert [row for part in parts for row in part] == rows().of_step(step).tolist()


def test_fewer_texts_than_a_step_reads_are_all_read():
    own = rows(size=64)
    assert own.size == 23
    assert sorted(own.of_step(7).tolist()) == list(range(23))
