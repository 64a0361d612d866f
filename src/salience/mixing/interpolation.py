"""What the interpolating methods share: one weight for a whole batch, for the texts and their labels alike."""

from __future__ import annotations

import torch

from salience.batch import Batch
from salience.mixing.mix import Mix
from salience.mixing.pairing import Pairing


def interpolate(batch: Batch, level: str | int | float, pair: Pairing, weight: float) -> Mix:
    """`weight` of one's own text and label, the rest the partner's; at any level of the model."""
    device = batch.input_ids.device
    partner = pair(batch)
    keep = torch.tensor(weight, device=device)
    return Mix(level, partner, keep, share=keep.expand(len(batch)))


def draw_weight(alpha: float, largest: bool = False) -> float:
    """lambda ~ Beta(alpha, alpha); `largest` takes max(lambda, 1 - lambda), so that one's own text prevails."""
    weight = torch.distributions.Beta(alpha, alpha).sample().item()
    return max(weight, 1 - weight) if largest else weight
