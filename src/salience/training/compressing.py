"""The compressor phase of VAT: attention and compressor are trained to keep only the information the label needs.

The encoder is frozen, so its states are computed once and used as features. The head of the learner is trained only if
the compressor shares it.

Zhou et al. (Findings of ACL-IJCNLP 2021), "Attending via both Fine-tuning and Compressing", section 3.3, Eq. 8.
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
from salience.training.loss import Loss, cross_entropy

LEARNING_RATE = 1e-3  # of Adam, as the paper gives for its LSTM; the modules trained here are as small


def compression_loss(
    model: AttentionClassifier,
    states: Tensor,
    mask: Tensor,
    labels: Tensor,
    beta: float,
    loss: Loss = cross_entropy,
) -> Tensor:
    """The classification loss of one sample of z per text, plus beta times the mean KL term: a scalar.

    This is the negative of the lower bound in Eq. 8. The text of the paper says that the expected log-likelihood is
    minimised, which is an error of sign.

    Args:
        states: (B, T, D), the encoder's states.
        mask: (B, T) bool, the tokens that the pooling may read.
        labels: (B,) long.
        beta: weight of the KL term, the mean over texts of the nats that z keeps.
        loss: maps logits (B, C) and labels (B,) to a scalar.
    """
    pooled, _ = model.pooling(states, mask)
    assert model.compressor is not None  # only models of VAT are trained with this loss
    compressed, divergence = model.compressor(pooled)
    return loss(model.classify_compressed(compressed), labels) + beta * divergence.mean()


def compress(
    model: AttentionClassifier,
    features: Features,
    steps: int,
    batch_size: int,
    beta: float,
    loss: Loss = cross_entropy,
    learning_rate: float = LEARNING_RATE,
) -> list[float]:
    """Trains attention and compressor on features, and the head if the compressor shares it. Nothing else changes.

    Args:
        features: the encoder's states of the training texts.
        steps: number of training steps.
        batch_size: texts in a step.
        beta: weight of the KL term.
        loss: maps logits (B, C) and labels (B,) to a scalar.
        learning_rate: of Adam.

    Returns:
        The loss of every step.

    Raises:
        InputError: the loss is not finite; names the step.
    """
    losses: list[float] = []
    assert model.compressor is not None  # only models of VAT are trained by turns
    head = [model.head] if model.config.shared_head else []
    with training_only(model, model.pooling, model.compressor, *head) as weights:
        optimizer = torch.optim.Adam(weights, learning_rate, fused=True)
        for rows in batches(features.lengths, batch_size, steps):
            states, mask, labels = features.batch(rows)
            for weight in weights:
                weight.grad = None  # as `optimizer.zero_grad`, whose bookkeeping takes a thirtieth of a step
            step_loss = compression_loss(model, states, mask, labels, beta, loss)
            losses.append(step_loss.item())
            if not math.isfinite(losses[-1]):
                raise InputError(
                    f"the compressor's loss is not finite at its step {len(losses)} of {steps}: lower --beta, which "
                    f"is {beta:.2g}"
                )
            step_loss.backward()
            optimizer.step()
    return losses


def batches(lengths: np.ndarray, size: int, steps: int) -> Iterator[list[int]]:
    """Batches of row numbers of texts of similar length, shuffled in every epoch, for a number of steps."""
    sampler = LengthGrouped(lengths, size, seed=int(torch.randint(2**31, ())))
    for epoch in range(math.ceil(steps / sampler.batches)):
        sampler.set_epoch(epoch)
        rows = iter(sampler)
        for _ in range(min(sampler.batches, steps - epoch * sampler.batches)):
            yield list(islice(rows, sampler.batch_size))


@contextmanager
def training_only(model: nn.Module, *parts: nn.Module) -> Iterator[list[nn.Parameter]]:
    """Inside the `with`, only these parts of the model are trained. Gives their parameters."""
    before = {weight: weight.requires_grad for weight in model.parameters()}
    trained = list(chain.from_iterable(part.parameters() for part in parts))
    model.requires_grad_(False)
    for weight in trained:
        weight.requires_grad = before[weight]
    try:
        yield trained
    finally:
        for weight, requires_grad in before.items():
            weight.requires_grad = requires_grad


@contextmanager
def frozen(*parts: nn.Module) -> Iterator[None]:
    """Inside the `with`, these parts are not trained. Gradients still flow through them to other parts."""
    weights = [weight for part in parts for weight in part.parameters()]
    before = [weight.requires_grad for weight in weights]
    for weight in weights:
        weight.requires_grad = False
    try:
        yield
    finally:
        for weight, requires_grad in zip(weights, before, strict=True):
            weight.requires_grad = requires_grad
