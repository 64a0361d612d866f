"""Training that has diverged: how it is noticed, and its error."""

from __future__ import annotations

from torch import Tensor
from transformers import Trainer

from salience.errors import InputError

OVERFLOWS = 20  # largest number of consecutive steps that fp16 may skip


def diverged(trainer: Trainer, what: str) -> InputError:
    """The error for training that has diverged.

    Args:
        what: what is not finite, such as "loss".
    """
    # `global_step` counts finished steps; after the last one there is no next one.
    step = min(trainer.state.global_step + 1, trainer.state.max_steps)
    precision = "" if not (trainer.args.bf16 or trainer.args.fp16) else ", or use --precision fp32"
    return InputError(
        f"the {what} is not finite at step {step} of {trainer.state.max_steps}: lower --learning-rate, which is "
        f"{trainer.args.learning_rate:.2g}{precision}"
    )


class FiniteLosses:
    """Stops training if losses are not finite, before the weights are updated.

    Args:
        admitted: number of consecutive losses that may be infinite or NaN. With fp16, single steps overflow and the
            gradient scaler skips them.
    """

    def __init__(self, admitted: int):
        self.admitted = admitted
        self.consecutive = 0

    def check(self, loss: Tensor, trainer: Trainer) -> None:
        """Looks at the loss of a step, a scalar.

        Raises:
            InputError: too many losses were not finite; it names the step, and what to change.
        """
        self.consecutive = 0 if loss.isfinite() else self.consecutive + 1
        if self.consecutive > self.admitted:
            raise diverged(trainer, "loss")
