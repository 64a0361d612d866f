"""Losses against torch and loops; which pass a guide reads; kept rows of gradients; the contrastive loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
import torch
import torch.nn.functional as F

import families
from families import FAMILIES, batch
from salience import METHODS, AttentionMix, Batch, DropMix, EmbedMix, SenMixup, SSMix, TMix, mixed, plain
from salience.errors import InputError
from salience.explainers import CleanPassGuide, EachTextAlone, gradient
from salience.hooks.hooks import forward, reading
from salience.training import objective as objectives
from salience.training.objective import (
    BinaryCrossEntropy,
    Contrastive,
    CrossEntropy,
    contrastive_loss,
    cross_entropy,
    kept_by_rows,
    loss_for,
)
from salience.training.passes import passes_per_step
from salience.training.recipe import Recipe
from test_contract import rows_through_layers

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


LAYERS = 3


@dataclass
class InputNorm:
    """A user's guide that is called with the model: the length of each token's word embedding."""

    calls: list = field(default_factory=list)

    def __call__(self, model, batch: Batch, target=None) -> torch.Tensor:
        self.calls.append(len(batch))
        with torch.no_grad():
            return model.get_input_embeddings()(batch.input_ids).norm(dim=-1) * batch.attention_mask


@dataclass
class GradientAtLayer:
    """A user's guide that can be read from the clean pass: the length of the gradient at a layer."""

    level: str | int = 1
    read: list = field(default_factory=list)

    def __call__(self, model, batch: Batch, target=None) -> torch.Tensor:
        raise AssertionError("the clean pass is there to be read")

    def from_clean_pass(self, clean, batch: Batch) -> torch.Tensor:
        self.read.append((clean.value.detach(), clean.gradient))
        return clean.gradient.norm(dim=-1) * batch.attention_mask


def step(method, clean: float = 0.5):
    model, texts = FAMILIES["bert"](classes=3).train(), batch([5, 2, 9, 4])
    for loss in mixed(method, clean)(model, texts):
        loss.backward()


def test_which_guides_can_be_read_from_the_clean_pass():
    assert isinstance(gradient, CleanPassGuide)
    assert isinstance(DropMix().guide, CleanPassGuide)
    assert isinstance(GradientAtLayer(), CleanPassGuide)
    for guide in (InputNorm(), AttentionMix().guide, EachTextAlone(gradient), None):
        assert not isinstance(guide, CleanPassGuide)


@pytest.mark.parametrize("clean", [0.5, 0.0])
def test_a_guide_that_is_called_with_the_model(clean):
    guide = InputNorm()
    step(SSMix(guide=guide), clean)
    assert guide.calls == [4]


@pytest.mark.parametrize("level", ["embeddings", 1, 2])
def test_a_guide_that_reads_the_clean_pass(level):
    """It sees the representation at its level and the gradient of the clean loss, and costs no pass."""
    guide = GradientAtLayer(level)
    model, texts = FAMILIES["bert"](classes=3).train(), batch([5, 2, 9, 4])
    assert rows_through_layers(model, texts, mixed(SSMix(guide=guide))) == (2 * LAYERS, 2 * LAYERS)
    ((value, found),) = guide.read

    stage = model.bert.embeddings if level == "embeddings" else model.bert.encoder.layer[level - 1]
    outputs = []

    def keep(module, arguments, output):
        outputs.append(output[0] if isinstance(output, tuple) else output)

    handle = stage.register_forward_hook(keep)
    (loss,) = plain(model, texts)
    handle.remove()
    assert torch.equal(value, outputs[0])
    (expected,) = torch.autograd.grad(0.5 * loss, outputs[0])
    assert torch.allclose(found, expected, atol=1e-7)
    assert found.abs().max() > 0


def test_without_a_clean_loss_every_guide_is_called_with_the_model():
    with pytest.raises(AssertionError, match="the clean pass is there to be read"):
        step(SSMix(guide=GradientAtLayer()), clean=0.0)


@pytest.mark.parametrize("clean", [-0.1, 1, 1.5])
def test_the_clean_part_is_at_least_0_and_below_1(clean):
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        mixed(SSMix(), clean)


def test_texts_without_labels_are_refused():
    texts = batch([5, 2])
    unlabelled = Batch(texts.input_ids, texts.attention_mask, texts.segment)
    for objective in (plain, mixed(SSMix())):
        with pytest.raises(ValueError, match="no labels"):
            next(iter(objective(FAMILIES["bert"](), unlabelled)))


@pytest.fixture
def model():
    return families.build("bert", classes=3, dropout=0.1, vocabulary=5000)


def written_gradients(model, objective, seed: int = 0, passes: int = 1) -> dict[str, torch.Tensor]:
    model.zero_grad()
    torch.manual_seed(seed)
    for _ in range(passes):
        for loss in objective(model, families.batch([5, 9, 3, 7])):
            loss.backward()
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("passes", [1, 2])  # two: written_gradients are accumulated over two batches
@pytest.mark.parametrize("name", ["ssmix", "embedmix", "dropmix-c", "senmixup"])
def test_gradients_are_the_same_to_the_last_bit(name, passes, model, monkeypatch):
    objective = mixed(METHODS[name](), 0.5)
    found = written_gradients(model.train(), objective, passes=passes)
    assert not model.get_input_embeddings().weight._post_accumulate_grad_hooks
    monkeypatch.setattr(objectives, "kept_by_rows", lambda model: torch.enable_grad())  # does nothing
    expected = written_gradients(model, objective, passes=passes)
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)


def test_rows_are_given_back_where_there_is_no_second_pass(model):
    weight = model.get_input_embeddings().weight
    weight.grad = torch.zeros_like(weight)
    weight.grad[[3, 70]] = 2.5
    before = weight.grad.clone()
    with pytest.raises(KeyError), kept_by_rows(model):
        assert weight.grad is None
        raise KeyError
    assert torch.equal(weight.grad, before)


def test_a_first_loss_alone_leaves_its_gradient(model):
    """A caller that stops in the middle of a step."""
    losses = mixed(SSMix(), 0.5)(model.train(), families.batch([5, 9, 3, 7]))
    next(losses).backward()
    before = model.get_input_embeddings().weight.grad.clone()
    next(losses)
    losses.close()
    assert torch.equal(model.get_input_embeddings().weight.grad, before)
    assert not model.get_input_embeddings().weight._post_accumulate_grad_hooks


LENGTHS = [5, 2, 9, 4, 7, 3]
OF_TEXTS = torch.tensor([0, 1, 0, 2, 1, 0])  # one text is alone in its class


def drawn(texts=6, width=4):
    return torch.randn(texts, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def equation_3(vectors, labels, temperature) -> float:
    """The sum over texts, pair by pair."""
    rows = [[value / math.sqrt(sum(each**2 for each in row)) for value in row] for row in vectors.tolist()]

    def similarity(i, j):
        return math.exp(sum(one * other for one, other in zip(rows[i], rows[j], strict=True)) / temperature)

    texts, total = range(len(rows)), 0.0
    for i in texts:
        of_class = [j for j in texts if labels[j] == labels[i]]
        others = sum(similarity(i, k) for k in texts if k != i)
        if len(of_class) > 1:
            total -= sum(math.log(similarity(i, j) / others) for j in of_class if j != i) / (len(of_class) - 1)
    return total


@pytest.mark.parametrize("temperature", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("labels", [OF_TEXTS, torch.zeros(6, dtype=torch.long), torch.arange(6)], ids=str)
def test_the_loss_is_equation_3_for_each_text(labels, temperature):
    found = contrastive_loss(drawn(), labels, temperature)
    assert found.item() == pytest.approx(equation_3(drawn(), labels, temperature) / 6, rel=1e-9)


def test_its_gradient_is_that_of_finite_differences():
    vectors = drawn().requires_grad_()
    assert torch.autograd.gradcheck(lambda each: contrastive_loss(each, OF_TEXTS, 0.3), vectors)


def test_the_length_of_a_vector_does_not_count():
    scales = torch.tensor([[0.01], [1.0], [3.0], [100.0], [1.0], [7.0]], dtype=torch.float64)
    assert torch.allclose(contrastive_loss(drawn() * scales, OF_TEXTS, 0.3), contrastive_loss(drawn(), OF_TEXTS, 0.3))


def test_a_text_alone_has_no_loss_and_a_gradient_of_0():
    vectors = drawn(1).requires_grad_()
    loss = contrastive_loss(vectors, OF_TEXTS[:1], 0.3)
    loss.backward()
    assert loss.item() == 0 and vectors.grad.abs().max() == 0


def test_half_precision_is_compared_in_float32():
    vectors = drawn().to(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found = contrastive_loss(vectors, OF_TEXTS, 0.1)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(equation_3(vectors.double(), OF_TEXTS, 0.1) / 6, rel=1e-5)


@pytest.mark.parametrize("model", [families.build("bert"), families.with_mean("bert")], ids=["cls", "mean"])
def test_a_step_has_both_losses_on_what_the_head_reads(model):
    model, own = model.train(), families.batch(LENGTHS)
    usual = CrossEntropy((0.5, 1.0, 1.5), 0.1)
    (loss,) = Contrastive(0.3, 0.5)(model, own, usual)
    linear, read = model.classifier, []
    handle = linear.register_forward_pre_hook(lambda module, arguments: read.append(arguments[0].detach()))
    logits = forward(model, own)
    handle.remove()
    expected = 0.7 * usual(logits, own.labels).item() + 0.3 * equation_3(read[0], own.labels, 0.5) / len(own)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_encoder_learns_from_both_losses_and_the_head_from_one():
    model, own = families.build("bert").double().train(), families.batch(LENGTHS)
    weights = [model.classifier.weight, model.bert.encoder.layer[0].output.dense.weight]
    (loss,) = Contrastive(0.3, 0.5)(model, own)
    both = torch.autograd.grad(loss, weights)
    usual = torch.autograd.grad(next(plain(model, own)), weights)
    with reading(model, "sentence") as seen:
        forward(model, own)
    contrast = torch.autograd.grad(contrastive_loss(seen.value, own.labels, 0.5), weights[1])
    assert torch.allclose(both[0], 0.7 * usual[0], atol=1e-8)
    assert torch.allclose(both[1], 0.7 * usual[1] + 0.3 * contrast[0], atol=1e-8)


def contrast(model, batch):
    with reading(model, "sentence") as seen:
        forward(model, batch)
    yield contrastive_loss(seen.value, batch.labels, 0.5)


def gradients(objective, model, own) -> list[torch.Tensor]:
    """The gradients of the sum of an objective's losses, of all weights."""
    torch.manual_seed(0)  # of the mixtures
    model.zero_grad()
    for loss in objective(model, own):
        loss.backward()
    return [torch.zeros_like(each) if each.grad is None else each.grad.clone() for each in model.parameters()]


@pytest.mark.parametrize("shared_trunk", [True, False])
@pytest.mark.parametrize("method", [SenMixup, TMix, EmbedMix])
def test_mixtures_have_the_rest_of_its_weight(method, shared_trunk):
    """0.4 * 0.7 of the loss on unmixed texts, 0.6 * 0.7 of that on mixtures, and 0.3 of the contrast of the former."""
    model, own = families.with_mean("bert").double().train(), families.batch(LENGTHS)
    both = gradients(
        mixed(method(ratio=0.3), 0.4, shared_trunk=shared_trunk, beside=Contrastive(0.3, 0.5)), model, own
    )
    without, compared = gradients(mixed(method(ratio=0.3), 0.4), model, own), gradients(contrast, model, own)
    for found, usual, other in zip(both, without, compared, strict=True):
        assert torch.allclose(found, 0.7 * usual + 0.3 * other, rtol=1e-6, atol=1e-9)


def test_mixtures_alone_have_no_unmixed_texts_to_compare():
    with pytest.raises(ValueError, match="needs clean above 0"):
        mixed(SenMixup(), 0.0, beside=Contrastive(0.3, 0.5))
    with pytest.raises(InputError, match="contrastive compares unmixed texts: use it with clean above 0"):
        Recipe("x", method="senmixup", clean=0.0, contrastive=0.3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contrastive": 0.1, "accumulation": 2}, "use it with accumulation=1, in one process"),
        ({"contrastive": 0, "contrastive_temperature": 0.2}, "--set contrastive_temperature has no effect"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Recipe("x", **settings)


def test_several_processes_have_no_contrastive_loss(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="in one process"):
        Recipe("x", contrastive=0.1)


def test_a_step_costs_one_pass():
    model, own = families.build("bert").train(), families.batch(LENGTHS)
    forwards, backwards = rows_through_layers(model, own, Contrastive(0.3, 0.3))
    assert (forwards + 2 * backwards) / 3 / families.LAYERS == 1
    assert passes_per_step(None, 0.5, model) == 1
