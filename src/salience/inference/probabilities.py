"""Probabilities for texts, fast: sorted by length inside a window, padded to the longest text of a batch."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import nn

from salience.data.batching import like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating, forward
from salience.models.type_scalars import TypeScalars


@torch.inference_mode()
def predict_probabilities(model: nn.Module, encoded: Encoded, precision: str = "auto") -> np.ndarray:
    """Class probabilities (N, C) in float32, in the order of the rows; the model's mode is left as it was.

    Args:
        precision: "fp32", "bf16", or "auto": bf16 where a GPU has it.
    """
    device = model.device
    half = device.type == "cuda" and torch.cuda.is_bf16_supported() if precision == "auto" else precision == "bf16"
    probabilities = np.empty((len(encoded), model.config.num_labels), np.float32)
    with evaluating(model):
        judge = partial(forward, model)
        if TypeScalars.fits(model) and encoded.lengths.sum() > model.config.vocab_size:
            judge = TypeScalars(model).logits
        for rows, batch in like_length(model, encoded):
            with torch.autocast(device.type, torch.bfloat16, enabled=half):
                logits = judge(batch)
            probabilities[rows] = logits.float().softmax(1).cpu().numpy()
    return probabilities
