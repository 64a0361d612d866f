"""Random scores, the baseline of every comparison of explainers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from salience.batch import Batch


def random(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Uniform scores in [0, 1) (B, T) from torch's global generator; 0 on padding and special tokens.

    Summed over the tokens of a word, they favour words of many tokens; `random_words` does not.
    """
    drawn = torch.rand(batch.input_ids.shape).to(batch.input_ids.device)
    return drawn * (batch.segment > 0)


def random_words(counts: np.ndarray, generator: np.random.Generator) -> list[np.ndarray]:
    """Uniform scores in [0, 1) for the `counts` (N,) words of N texts: all orders of words are equally likely."""
    return [generator.random(count) for count in counts]
