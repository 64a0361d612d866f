"""The training loss over the steps since it was last logged, which a resumed run continues."""

from __future__ import annotations

from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState


class MeanLoss(TrainerCallback, ExportableState):
    """The mean of the losses of the steps since it was last taken.

    The Trainer forgets these losses when a run is resumed, and would then log another mean than that of an undisturbed
    run. Here they are in the state that each checkpoint has.

    Args:
        sum: the sum of the losses, a scalar.
        steps: the number of steps.
    """

    def __init__(self, sum: Tensor | float = 0.0, steps: int = 0):
        self.sum, self.steps = sum, steps

    def add(self, loss: Tensor) -> None:
        """Adds the loss of a step, or of a part of it, a scalar. It counts as 0 if fp16 has to skip the step."""
        self.sum = self.sum + loss.nan_to_num(0.0, 0.0, 0.0)

    def on_step_end(self, args, state, control, **_):
        """Called by the Trainer."""
        self.steps += 1

    def take(self, accelerator: Accelerator) -> float:
        """The mean over the steps and processes. The next one begins after the current step."""
        self.share(accelerator)
        mean = float(self.sum) / max(self.steps, 1)
        self.sum, self.steps = 0.0, 0
        return mean

    def share(self, accelerator: Accelerator) -> None:
        """Takes the mean over the processes, because a checkpoint has the state of the main one alone."""
        if accelerator.num_processes > 1:
            own = torch.as_tensor(self.sum, device=accelerator.device)
            self.sum = accelerator.gather(own[None]).mean()

    def state(self) -> dict[str, Any]:
        """What the Trainer writes with a checkpoint, and gives to a new object when the run is resumed."""
        return {"args": {"sum": float(self.sum), "steps": self.steps}, "attributes": {}}
