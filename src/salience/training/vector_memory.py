"""A memory of the latest texts' vectors, with which the contrastive loss compares those of a batch.

In a batch, few texts are of one class if there are many classes, and then there is little to compare. While a model is
fine-tuned, its vectors change slowly, so those of the last steps stand for what they would be now: Xun Wang, Haozhi
Zhang, Weilin Huang and Matthew R. Scott (CVPR 2020), "Cross-Batch Memory for Embedding Learning", arXiv:1912.06798.
They are constants: no gradient passes through them.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import TrainerControl, TrainerState, TrainingArguments

from salience.training.beside_checkpoints import BesideCheckpoints


class VectorMemory(BesideCheckpoints):
    """Directions and labels of the latest texts. It is empty when a training begins.

    As a callback of the training it is written beside checkpoints, so that a resumed run continues with it.

    Args:
        size: the largest number of texts.

    Attributes:
        directions: (M, D), vectors of length 1, the latest ones last; None as long as there are none.
        labels: (M,) long; None as long as there are none.
    """

    name, what = "memory", "the vectors of the latest texts"

    def __init__(self, size: int):
        self.size = size
        self.directions: Tensor | None = None
        self.labels: Tensor | None = None

    def with_earlier(self, directions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The directions (B + M, D) and labels (B + M,) of a batch and, after them, of the memory."""
        if self.directions is None or self.labels is None:
            return directions, labels
        earlier = self.directions.to(directions), self.labels.to(labels)
        return torch.cat([directions, earlier[0]]), torch.cat([labels, earlier[1]])

    def add(self, directions: Tensor, labels: Tensor) -> None:
        """Remembers a batch, (B, D) and (B,), and forgets the oldest texts beyond `size`.

        Directions that are not finite, as of a step that fp16 skips, would make the loss of later steps infinite.
        """
        finite = directions.isfinite().all(1)
        directions, labels = directions.detach()[finite], labels.detach()[finite]
        if self.directions is not None and self.labels is not None:
            directions = torch.cat([self.directions.to(directions), directions])
            labels = torch.cat([self.labels.to(labels), labels])
        self.directions, self.labels = directions[-self.size :].clone(), labels[-self.size :].clone()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer, which has loaded weights and state of the checkpoint if a run is resumed."""
        self.directions = self.labels = None
        if state.global_step:
            tensors = self.read(args, state)
            self.directions, self.labels = tensors["directions"], tensors["labels"]

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_):
        """Called by the Trainer."""
        if self.directions is not None and self.labels is not None:
            self.write({"directions": self.directions, "labels": self.labels}, args, state, control)
