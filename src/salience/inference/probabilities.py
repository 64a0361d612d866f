"""Predicted probabilities of encoded texts, in batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.data.batching import like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating, forward
from salience.models.precision import computing
from salience.models.problem import problem_of
from salience.models.type_scalars import TypeScalars


@torch.inference_mode()
def predict_probabilities(model: PreTrainedModel, encoded: Encoded, precision: str = "auto") -> np.ndarray:
    """The class probabilities of texts, predicted in evaluation mode; the model's mode is restored afterwards.

    Args:
        model: the classifier.
        encoded: N encoded texts.
        precision: "fp32", "bf16", or "auto"; see `salience.models.precision.resolve_precision`.

    Returns:
        Probabilities (N, C) in float32, in the order of the texts.
    """
    classes = cast(int, model.config.num_labels)  # None stands for a configuration without labels
    probabilities = np.empty((len(encoded), classes), np.float32)
    problem = problem_of(model)
    with evaluating(model), computing(model, precision):
        logits_of: Callable[[Batch], Tensor] = partial(forward, model)
        # The scalars cost one pass over the vocabulary: worthwhile if the texts have more tokens than that.
        if TypeScalars.fits(model) and encoded.lengths.sum() > model.config.vocab_size:
            logits_of = TypeScalars(model).logits
        for rows, batch in like_length(model, encoded):
            probabilities[rows] = problem.probabilities(logits_of(batch).float()).cpu().numpy()
    return probabilities
