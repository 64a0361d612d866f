"""Random scores: what every explanation has to be better than."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from salience.batch import Batch


def random(model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
    """Uniform scores (B, T) from the global random state; 0 on padding and special tokens.

    Sums over the tokens of words favour words of many; where words are compared with chance, see `random_words`.
    """
    drawn = torch.rand(batch.input_ids.shape).to(batch.input_ids.device)
    return drawn * (batch.segment > 0)


def random_words(counts: np.ndarray, generator: np.random.Generator) -> list[np.ndarray]:
    """Uniform scores of each text's words (W,): all orders are as likely, however many tokens a word has."""
    return [generator.random(count) for count in counts]
