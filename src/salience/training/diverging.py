"""The error for training that has diverged."""

from __future__ import annotations

from transformers import Trainer

from salience.errors import InputError


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
