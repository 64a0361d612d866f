"""Batches of texts of similar length: the limits of tokens and of padding."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from salience.data.batching import Collator, length_batches, padded
from salience.data.encoding import Encoded


def test_a_worked_example():
    """Lengths 2, 2, 3, 9: with 3 tokens of padding, 2 + 2 + 3 share a batch (9 - 7 = 2), 9 does not."""
    lengths = np.array([9, 2, 3, 2])
    assert [batch.tolist() for batch in length_batches(lengths, 100)] == [[1, 3, 2, 0]]
    assert [batch.tolist() for batch in length_batches(lengths, 100, 3)] == [[1, 3, 2], [0]]
    assert [batch.tolist() for batch in length_batches(lengths, 100, 1)] == [[1, 3], [2], [0]]
    assert [batch.tolist() for batch in length_batches(lengths, 5)] == [[1, 3], [2], [0]]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200), st.integers(0, 30) | st.just(np.inf))
def test_every_row_once_within_the_limits_and_no_batch_could_take_the_next_row(lengths, tokens, padding):
    lengths = np.array(lengths, int)
    batches = [batch.tolist() for batch in length_batches(lengths, tokens, padding)]
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))

    def fits(rows) -> bool:
        padded = max(lengths[rows]) * len(rows)
        return len(rows) == 1 or (padded <= tokens and padded - sum(lengths[rows]) <= padding)

    assert all(fits(batch) for batch in batches)
    for batch, following in pairwise(batches):
        assert not fits([*batch, following[0]])


@pytest.mark.parametrize("padding", [0, 64])
def test_few_texts_of_different_lengths_are_split(padding):
    lengths = np.arange(8, 58)  # fifty texts
    padded = sum(lengths[batch].max() * len(batch) for batch in length_batches(lengths, 2048, padding))
    batches = len(list(length_batches(lengths, 2048, padding)))
    assert padded - lengths.sum() <= padding * batches
    assert sum(lengths[batch].max() * len(batch) for batch in length_batches(lengths, 2048)) > 1.3 * lengths.sum()


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=8), data=st.data())
def test_a_batch_copied_at_once_is_the_collators(lengths, data):
    """Texts without tokens too, and one text alone."""
    lengths = np.array(lengths)
    count = int(lengths.sum())
    texts = Encoded(np.arange(1, count + 1, dtype=np.int32), np.arange(count, dtype=np.int8) % 3, lengths, lengths + 5)
    rows = np.array(data.draw(st.permutations(range(len(lengths)))))[: data.draw(st.integers(1, len(lengths)))]
    found = padded(texts, rows, padding=77, labelled=True)
    expected = Collator(padding=77)([texts[row] for row in rows])
    for field, values in expected.items():
        assert torch.equal(getattr(found, field), values) and getattr(found, field).dtype == values.dtype
    assert padded(texts, rows).labels is None
