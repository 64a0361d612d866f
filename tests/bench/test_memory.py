"""The counted peak of calls whose allocations are known to the byte."""

import pytest
import torch

import families
from labelled import WORDS
from memory import bytes_of, highest, peak_of
from salience.batch import Batch
from salience.classify import load
from salience.data.batching import Collator
from salience.data.texts import Texts
from salience.hooks import dropped_attention
from salience.hooks.attention import differentiating
from salience.hooks.hooks import forward
from salience.training.prepare import try_longest

TENSOR = 400_000  # bytes of `floats()`
LITTLE = 20_000  # bytes that scalars and a kernel's small buffers may take beside the tensors


def floats() -> torch.Tensor:
    return torch.zeros(TENSOR // 4)


def is_tensors(size: int, count: int) -> bool:
    return count * TENSOR <= size < count * TENSOR + LITTLE


def test_what_is_released_makes_room():
    def call():
        first = floats()
        second = first.neg()  # two at once
        del first
        third = second.neg()  # two again
        del second, third

    assert peak_of(call) == 2 * TENSOR


def test_what_lay_there_before_is_not_counted_nor_is_its_release():
    old = [floats(), floats(), floats()]

    def call():
        first = floats()
        old.clear()
        return first, floats()

    assert peak_of(call) == 2 * TENSOR


def test_what_outlives_the_call_counts_in_it_and_in_no_later_one():
    kept = []
    assert peak_of(lambda: kept.extend([floats(), floats()])) == 2 * TENSOR
    assert peak_of(lambda: (kept.clear(), floats())) == TENSOR


def test_what_a_kernel_needs_for_itself_counts():
    turned = floats().view(-1, 100).t()
    # The kernel works on a contiguous copy: beside the result a second tensor, which no operation returns.
    assert is_tensors(peak_of(lambda: turned.softmax(1)), 2)


def test_activations_count_while_the_backward_pass_keeps_them():
    weight = floats().requires_grad_()

    def forward():
        value = weight
        for _ in range(5):
            value = value.exp()  # its result is kept
        return value.sum()

    assert is_tensors(peak_of(forward), 5)
    # The backward pass begins with five results and a scalar. Its first step adds a gradient; every step after it
    # adds another, but a result has been released.
    assert is_tensors(peak_of(lambda: forward().backward()), 6)
    with torch.no_grad():
        assert is_tensors(peak_of(forward), 2)


def test_two_passes_one_after_the_other_hold_one_graph_and_the_gradient():
    weight = floats().requires_grad_()

    def passes(count: int):
        for _ in range(count):
            weight.exp().exp().exp().exp().sum().backward()

    one = peak_of(lambda: passes(1))
    weight.grad = None
    assert is_tensors(peak_of(lambda: passes(2)) - one, 1)


def test_the_count_follows_allocations_and_releases():
    assert highest([]) == 0
    assert highest([(1, 10), (2, 20), (1, -10), (3, 5), (2, -20), (3, -5)]) == 30
    assert highest([(7, -100), (1, 10)]) == 10  # 7 lay there before
    assert highest([(1, 10), (1, -10), (1, 10), (1, -10)]) == 10  # an address is used again


def test_shared_storages_are_counted_once():
    matrix = torch.zeros(10, 10)
    assert bytes_of([matrix, matrix.t(), matrix[0], torch.zeros(5)]) == 4 * 105


@pytest.mark.parametrize("length", [12, 60, 200])
def test_what_training_says_it_keeps_is_what_is_allocated(length, tmp_path, monkeypatch):
    """By the tensors that torch keeps for the backward pass, and by all that a forward pass has allocated.

    The longest have the attention of `salience.hooks.dropped_attention`, which computes a head at a time here.
    """
    monkeypatch.setattr(dropped_attention, "BLOCK", 1)
    text = " ".join([*WORDS.values()])
    families.save_tiny_model(tmp_path, [text], dropout=0.1, longest=200)
    texts = Texts([" ".join(text.split() * 30)] * 8)
    classifier = load(tmp_path, max_length=length, device="cpu", precision="fp32")
    encoded = classifier.read(texts)
    batch = Batch(**Collator.of(classifier.tokenizer)([encoded[row] for row in range(8)]))
    classifier.model.train()
    with differentiating(classifier.model):
        peak = peak_of(lambda: forward(classifier.model, batch).sum()) / 8
    assert try_longest("tiny", classifier, [encoded]) == pytest.approx(peak, rel=0.2)
