"""The gradient of the word-embedding table between two losses of a step, kept by its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from salience.hooks.stages import unwrapped


@contextmanager
def kept_by_rows(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, the gradient of the word-embedding table takes memory only for the words that have one.

    The gradients of the first loss of a step are kept while the graph of the second is built. Half of those of a small
    encoder belong to the table, and nearly all of its rows are 0, because a batch has few different words. They are
    removed here, and added when the backward pass of the second loss has written its own. The sum is the same to the
    last bit. A gradient that is averaged over processes stays as it is, because its sum is exchanged.
    """
    table = None if unwrapped(model) is not model else getattr(model, "get_input_embeddings", lambda: None)()
    weight: Tensor | None = getattr(table, "weight", None)
    if weight is None or weight.grad is None or weight.grad.is_sparse:
        yield
        return
    largest = torch.linalg.vector_norm(weight.grad, torch.inf, 1)  # unlike `any`, it takes no memory for every number
    rows = largest.nonzero()[:, 0]
    values = weight.grad[rows]
    shape = weight.grad.shape
    weight.grad = None
    kept = [values]  # until they are added

    def add(weight: Tensor) -> None:
        if kept:
            assert weight.grad is not None  # it has just been written
            weight.grad.index_add_(0, rows, kept.pop())

    hook = weight.register_post_accumulate_grad_hook(add)
    try:
        yield
    finally:
        hook.remove()
        if kept:  # the second loss does not depend on the table, or there was an error
            weight.grad = values.new_zeros(shape).index_add_(0, rows, kept.pop())
