"""VAT's compressor phase (Zhou et al., Findings of ACL 2021, Eq. 8): attention that lets through what the label needs.

The encoder is frozen, so its states are features that are computed once. Attention and compressor are trained on them;
the learner's head has no part in it, unless the two share one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice

import numpy as np
import torch
from torch import Tensor, nn

from salience.data.batching import LengthGrouped
from salience.errors import InputError
from salience.models.attention_classifier import AttentionClassifier
from salience.training.features import Features
from salience.training.loss import CrossEntropy, cross_entropy

LEARNING_RATE = 1e-3  # Adam's, as for the paper's LSTM; what is trained is as small here


def compression_loss(
    model: AttentionClassifier,
    states: Tensor,
    mask: Tensor,
    labels: Tensor,
    beta: float,
    loss: CrossEntropy = cross_entropy,
) -> Tensor:
    """The loss from one sample of z a text, and beta times the nats that z keeps of a text, in the mean.

    The negative lower bound of the paper's Eq. 8. It says that the expected log-likelihood is minimised, which is a
    slip of the sign.
    """
    assert model.compressor is not None  # of variational pooling
    pooled, _ = model.pooling(states, mask)
    compressed, kept = model.compressor(pooled)
    return loss(model.classify_compressed(compressed), labels) + beta * kept.mean()


def compress(
    model: AttentionClassifier,
    features: Features,
    steps: int,
    batch_size: int,
    beta: float,
    loss: CrossEntropy = cross_entropy,
    learning_rate: float = LEARNING_RATE,
) -> list[float]:
    """Trains attention and compressor on features for so many steps, and a head if they share the learner's; nothing
    else of the model changes.

    Returns:
        The loss of every step.

    Raises:
        InputError: the loss is not a number; says at which step.
    """
    assert model.compressor is not None  # of variational pooling
    losses: list[float] = []
    head = [model.head] if model.config.shared_head else []
    with training_only(model, model.pooling, model.compressor, *head) as weights:
        optimizer = torch.optim.Adam(weights, learning_rate, fused=True)
        for rows in batches(features.lengths, batch_size, steps):
            states, mask, labels = features.batch(rows)
            optimizer.zero_grad()
            found = compression_loss(model, states, mask, labels, beta, loss)
            losses.append(found.item())
            if not math.isfinite(losses[-1]):
                raise InputError(
                    f"the compressor's loss is not a number at its step {len(losses)} of {steps}: lower --beta, which "
                    f"is {beta:.2g}"
                )
            found.backward()
            optimizer.step()
    return losses


def batches(lengths: np.ndarray, size: int, steps: int) -> Iterator[list[int]]:
    """So many batches of row numbers, of texts of like length, shuffled anew in every epoch."""
    sampler = LengthGrouped(lengths.tolist(), size, seed=int(torch.randint(2**31, ())))
    for epoch in range(math.ceil(steps / sampler.batches)):
        sampler.set_epoch(epoch)
        rows = iter(sampler)
        for _ in range(min(sampler.batches, steps - epoch * sampler.batches)):
            yield list(islice(rows, sampler.batch_size))


@contextmanager
def training_only(model: nn.Module, *parts: nn.Module) -> Iterator[list[nn.Parameter]]:
    """Inside the `with`, only these parts of the model have gradients; their parameters are given."""
    before = {weight: weight.requires_grad for weight in model.parameters()}
    kept = list(chain.from_iterable(part.parameters() for part in parts))
    model.requires_grad_(False)
    for weight in kept:
        weight.requires_grad = before[weight]
    try:
        yield kept
    finally:
        for weight, own in before.items():
            weight.requires_grad = own


@contextmanager
def frozen(*parts: nn.Module) -> Iterator[None]:
    """Inside the `with`, these parts have no gradients; others are differentiated through them all the same."""
    weights = [weight for part in parts for weight in part.parameters()]
    before = [weight.requires_grad for weight in weights]
    for weight in weights:
        weight.requires_grad = False
    try:
        yield
    finally:
        for weight, own in zip(weights, before, strict=True):
            weight.requires_grad = own
