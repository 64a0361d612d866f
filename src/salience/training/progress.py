"""Tells whoever watches this process how far a training is."""

from __future__ import annotations

from transformers import TrainerCallback

from salience.jobs.watching import watcher


class TellProgress(TrainerCallback):
    """Tells step, number of steps and the last logged loss after every step, if `salience.jobs.watching` is used."""

    def __init__(self) -> None:
        self.loss: float | None = None

    def on_log(self, args, state, control, logs, **_):
        """Called by the Trainer."""
        self.loss = logs.get("loss", self.loss)

    def on_step_end(self, args, state, control, **_):
        """Called by the Trainer."""
        if (progress := watcher()) is not None:
            progress(state.global_step, state.max_steps, self.loss)
