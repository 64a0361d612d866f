"""The settings of a recipe that follow from the data and the model, where they are left open."""

from __future__ import annotations

import math
from typing import Any

CONTRAST = 0.6  # weight of the contrastive loss where the head reads a mean; docs/recipe.md has the measurement


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


def default_method(mean: bool) -> tuple[str, dict[str, Any]]:
    """The mixing method and its options: mixtures of sentence vectors for an encoder whose mean the head reads.

    `docs/recipe.md` has the measurement. Other heads were not measured, and have none.
    """
    return ("senmixup", {"alpha": 1.0}) if mean else ("plain", {})


def default_rates(width: int | None, mean: bool = False) -> tuple[float, float]:
    """The learning rate, and the multiple of it by which the head learns.

    5e-5 for an encoder of width 768, as BERT's authors advise, and for its head. Narrower models need larger steps.
    Models over words are trained from scratch and have no width here; their rate is that of a width of 100.

    An encoder whose mean the head reads learns at a quarter of the rate, and the head at ten times that: the means are
    sentence vectors that many texts have made, and few labels spoil them. `docs/recipe.md` has the measurement.
    """
    rate = 5e-5 * (768 / (100 if width is None else width)) ** 2
    return (rate / 4, 10.0) if mean else (rate, 1.0)
