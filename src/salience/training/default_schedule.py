"""The schedule that follows from the data and the model: batch size, number of steps, learning rate."""

from __future__ import annotations

import math


def default_batch_size(rows: int) -> int:
    """Small data sets need many small steps, large ones fewer large ones."""
    return 16 if rows < 2000 else 32


def default_steps(rows: int, classes: int, batch_size: int) -> int:
    """The number of steps follows the data: 100 / sqrt(rows of a class) epochs, at least 3 and at most 60.

    Few rows a class need to be seen often, and 77 classes need more steps than 6. `docs/recipe.md` shows what twice
    as many steps bring.
    """
    epochs = min(max(100 / math.sqrt(rows / classes), 3), 60)
    return max(1, round(epochs * rows / batch_size))


def default_learning_rate(width: int | None) -> float:
    """5e-5 for a model of width 768, as BERT's authors advise. Narrower models need larger steps.

    Models over words are trained from scratch and have no width here; their rate is that of a width of 100.
    """
    return 5e-5 * (768 / (100 if width is None else width)) ** 2
