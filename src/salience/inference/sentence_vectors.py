"""The vectors of texts that the last linear map of a classifier's head reads."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel

from salience.data.batching import in_order, like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating, forward, reading
from salience.models.precision import computing
from salience.models.problem import problem_of


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


@torch.no_grad()
def probabilities_and_vectors(
    model: PreTrainedModel, texts: Encoded, precision: str = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities (N, C) and the vectors (N, D) of N texts, both in float32, from one pass.

    Args:
        model: a classifier with a level "sentence", see `salience.stages`. Its mode is restored afterwards.
        texts: N encoded texts, in whose order the rows are.
        precision: "fp32", "bf16", or "auto"; see `salience.models.precision.resolve_precision`.
    """
    probabilities, vectors = [], []
    with evaluating(model), computing(model, precision):
        for rows, batch in like_length(model, texts):
            with reading(model, "sentence") as sentence:
                logits = forward(model, batch)
            probabilities.append((rows, problem_of(model).probabilities(logits.float()).cpu().numpy()))
            vectors.append((rows, sentence.value.float().cpu().numpy()))
    return in_order(probabilities), in_order(vectors)
