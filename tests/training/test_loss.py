"""The loss against torch's own, where torch has a definition, and against the definition itself where it has two."""

import pytest
import torch
import torch.nn.functional as F

import families
from salience.training.objective import BinaryCrossEntropy, CrossEntropy, cross_entropy, loss_for

LOGITS = torch.randn(7, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3
LABELS = torch.tensor([0, 1, 2, 3, 3, 0, 1])


def soft(share: float) -> torch.Tensor:
    own = F.one_hot(LABELS, 4).double()
    return share * own + (1 - share) * own.flip(0)


def test_worked_numbers_of_a_mixed_label():
    logits = torch.tensor([[3.0, 1.0]]).log()  # p = (.75, .25)
    assert cross_entropy(logits, torch.tensor([[0.8, 0.2]])).item() == pytest.approx(0.5074045302)
    logits = torch.tensor([[6.0, 3.0, 1.0]]).log()  # p = (.6, .3, .1)
    assert cross_entropy(logits, torch.tensor([[0.75, 0.0, 0.25]])).item() == pytest.approx(0.9587654911)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_hard_and_soft_labels_agree_with_torch(smoothing):
    loss = CrossEntropy(smoothing=smoothing)
    assert torch.allclose(loss(LOGITS, LABELS), F.cross_entropy(LOGITS, LABELS, label_smoothing=smoothing))
    mixed = soft(0.3)
    assert torch.allclose(loss(LOGITS, mixed), F.cross_entropy(LOGITS, mixed, label_smoothing=smoothing))


def test_class_weights_are_one_definition_for_hard_and_soft_labels():
    weights = (0.5, 2.0, 1.0, 3.0)
    loss = CrossEntropy(weights)
    by_hand = sum(weights[label] * -LOGITS[row].log_softmax(0)[label] for row, label in enumerate(LABELS)) / len(
        LABELS
    )
    assert torch.allclose(loss(LOGITS, LABELS), by_hand)
    assert torch.allclose(loss(LOGITS, F.one_hot(LABELS, 4).double()), by_hand)
    # torch's two definitions differ; ours is the one it has for soft labels
    assert torch.allclose(
        by_hand, F.cross_entropy(LOGITS, F.one_hot(LABELS, 4).double(), torch.tensor(weights).double())
    )
    assert not torch.allclose(by_hand, F.cross_entropy(LOGITS, LABELS, torch.tensor(weights).double()))


def test_the_loss_of_a_mixed_label_is_the_mix_of_two_losses_also_with_weights():
    loss = CrossEntropy((0.5, 2.0, 1.0, 3.0), smoothing=0.1)
    apart = 0.3 * loss(LOGITS, LABELS) + 0.7 * loss(LOGITS, LABELS.flip(0))
    assert torch.allclose(loss(LOGITS, soft(0.3)), apart)


def test_the_smoothed_loss_of_a_text_is_multiplied_by_the_weight_of_its_label():
    weights = torch.tensor([0.5, 2.0, 1.0, 30.0], dtype=LOGITS.dtype)
    smoothed = F.cross_entropy(LOGITS, LABELS, label_smoothing=0.1, reduction="none")
    found = CrossEntropy(tuple(weights.tolist()), smoothing=0.1)(LOGITS, LABELS)
    assert torch.allclose(found, (weights[LABELS] * smoothed).mean())
    labels = (torch.rand(7, 4, generator=torch.Generator().manual_seed(1)) < 0.4).double()
    smoothed = F.binary_cross_entropy_with_logits(LOGITS, 0.9 * labels + 0.05, reduction="none")
    found = BinaryCrossEntropy(tuple(weights.tolist()), smoothing=0.1)(LOGITS, labels)
    assert torch.allclose(found, (torch.where(labels > 0, weights, 1.0) * smoothed).mean())


@pytest.mark.parametrize("kind", [CrossEntropy, BinaryCrossEntropy])
def test_labels_and_weights_keep_their_digits_with_short_logits(kind):
    loss, labels = kind((0.6667, 333.33)), torch.tensor([[0.899, 0.101]])
    logits = torch.tensor([[1.5, -0.25]])  # which bfloat16 has exactly
    assert loss(logits.bfloat16(), labels).item() == pytest.approx(loss(logits, labels).item(), rel=1e-6)


def test_pieces_of_a_batch_add_up_also_with_weights():
    loss = CrossEntropy((0.5, 2.0, 1.0, 3.0))
    pieces = sum(loss(LOGITS[part], LABELS[part]) * len(LABELS[part]) for part in (slice(0, 2), slice(2, 7)))
    assert torch.allclose(loss(LOGITS, LABELS), pieces / 7)


def test_the_loss_of_several_labels_is_that_of_transformers_and_linear_in_the_label():
    labels = (torch.rand(7, 4, generator=torch.Generator().manual_seed(1)) < 0.4).long()
    loss = BinaryCrossEntropy()
    assert torch.allclose(loss(LOGITS, labels), torch.nn.BCEWithLogitsLoss()(LOGITS, labels.double()))
    other = labels.flip(0)
    mixed = 0.3 * labels.double() + 0.7 * other
    assert torch.allclose(loss(LOGITS, mixed), 0.3 * loss(LOGITS, labels) + 0.7 * loss(LOGITS, other))
    smoothed = BinaryCrossEntropy(smoothing=0.2)(LOGITS, labels)
    by_hand = -sum(
        (0.8 * y + 0.1) * F.logsigmoid(z) + (1 - 0.8 * y - 0.1) * F.logsigmoid(-z)
        for z, y in zip(LOGITS.flatten(), labels.flatten().double(), strict=True)
    )
    assert torch.allclose(smoothed, by_hand / LOGITS.numel())


def test_the_weight_of_a_label_is_that_of_the_texts_that_have_it():
    labels = (torch.rand(7, 4, generator=torch.Generator().manual_seed(1)) < 0.4).long()
    weights = (0.5, 2.0, 1.0, 3.0)
    loss = BinaryCrossEntropy(weights)
    by_hand = -sum(
        weights[label] * F.logsigmoid(LOGITS[row, label]) if labels[row, label] else F.logsigmoid(-LOGITS[row, label])
        for row in range(7)
        for label in range(4)
    )
    assert torch.allclose(loss(LOGITS, labels), by_hand / 28)
    other = labels.flip(0)
    mixed = 0.3 * labels.double() + 0.7 * other
    assert torch.allclose(loss(LOGITS, mixed), 0.3 * loss(LOGITS, labels) + 0.7 * loss(LOGITS, other))


def test_the_loss_follows_from_the_model():
    model = families.build("bert", classes=4)
    assert loss_for(model, (1.0, 2.0, 1.0, 1.0)) == CrossEntropy((1.0, 2.0, 1.0, 1.0))
    model.config.problem_type = "multi_label_classification"
    assert loss_for(model, smoothing=0.1) == BinaryCrossEntropy(None, 0.1)
    assert loss_for(model, (1.0, 2.0, 1.0, 1.0)) == BinaryCrossEntropy((1.0, 2.0, 1.0, 1.0))
