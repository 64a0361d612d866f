"""Which texts without labels a training step reads: a function of the step's number, so that a resumed run goes on."""

from __future__ import annotations

import numpy as np
from transformers import TrainerCallback

from salience.data.batching import LengthGrouped


class UnlabelledRows(TrainerCallback):
    """The rows of texts without labels for every step, shuffled anew in every epoch, of similar length in a step.

    It is a callback of the Trainer, which tells it the number of the step. A step of several parts, to save memory,
    has the same rows as a step of one.

    Args:
        lengths: (N,) number of tokens of each text.
        size: number of texts in a step; all N if there are fewer.
        seed: of the order.
        parts: number of parts that a step is split into.
    """

    def __init__(self, lengths: np.ndarray, size: int, seed: int, parts: int = 1):
        self.sampler = LengthGrouped(lengths, size, seed)
        self.parts = parts
        self.step = self.part = 0
        self.orders: dict[int, np.ndarray] = {}  # of the last epoch that was asked for

    @property
    def size(self) -> int:
        """The number of texts in a step."""
        return self.sampler.batch_size

    def on_step_begin(self, args, state, control, **_):
        """Called by the Trainer."""
        self.step, self.part = state.global_step, 0

    def next(self) -> np.ndarray:
        """The rows of the next part of the step; the parts of a step divide its rows."""
        rows = np.array_split(self.of_step(self.step), self.parts)[self.part]
        self.part += 1
        return rows

    def of_step(self, step: int) -> np.ndarray:
        """The rows (`size`,) of a step, counted from 0."""
        epoch, batch = divmod(step, self.sampler.batches)
        if epoch not in self.orders:
            self.sampler.set_epoch(epoch)
            self.orders = {epoch: np.fromiter(self.sampler, int).reshape(-1, self.size)}
        return self.orders[epoch][batch]
