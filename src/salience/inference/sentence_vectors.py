"""The vectors of texts that the last linear map of a classifier's head reads."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from salience.data.batching import in_order, like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating, forward, reading


@torch.no_grad()
def sentence_vectors(model: nn.Module, texts: Encoded) -> np.ndarray:
    """The vectors (N, D) of N texts in float32, in the order of the texts.

    Args:
        model: a classifier with a level "sentence", see `salience.stages`. Its mode is restored afterwards.
    """
    vectors = []
    with evaluating(model):
        for rows, batch in like_length(model, texts):
            with reading(model, "sentence") as sentence:
                forward(model, batch)
            vectors.append((rows, sentence.value.float().cpu().numpy()))
    return in_order(vectors)
