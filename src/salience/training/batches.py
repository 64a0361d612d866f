"""Encoded rows as batches, before anything is trained: what methods are resolved on and tried with."""

from __future__ import annotations

from collections.abc import Iterator

from salience.batch import Batch
from salience.data.batching import Collator
from salience.data.encoding import Encoded

RESOLVING_ROWS = 256  # training rows on which a method chooses what it leaves open


def first_batches(tokenizer, encoded: Encoded) -> Iterator[Batch]:
    """Batches of 32 of the first rows, in their order, on the CPU."""
    return (as_batch(tokenizer, encoded, start) for start in range(0, min(RESOLVING_ROWS, len(encoded)), 32))


def as_batch(tokenizer, encoded: Encoded, start: int, size: int = 32) -> Batch:
    """Rows from `start` on as a batch, on the CPU."""
    return Batch(**Collator.of(tokenizer)([encoded[row] for row in range(start, min(start + size, len(encoded)))]))
