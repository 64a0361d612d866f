"""Which checkpoint an interrupted run goes on from."""

from __future__ import annotations

import shutil
from pathlib import Path

from transformers import TrainerState

STATE = "trainer_state.json"  # the Trainer writes it last


def read_state(checkpoint: Path) -> TrainerState | None:
    """The Trainer's state in a checkpoint; None if the run was killed while it was being written."""
    try:
        return TrainerState.load_from_json(str(checkpoint / STATE))
    except (OSError, ValueError):
        return None


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint in `folder`; unfinished ones are removed."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    for checkpoint in found:
        if read_state(checkpoint) is not None:
            return checkpoint
        shutil.rmtree(checkpoint, ignore_errors=True)  # another process may be at it too
    return None


def is_finished(checkpoint: Path, patience: int) -> bool:
    """Whether training had reached its last step, or had stopped early, when this checkpoint was written."""
    state = read_state(checkpoint)
    stopping = state.stateful_callbacks.get("EarlyStoppingCallback", {}).get("attributes", {})
    waited = stopping.get("early_stopping_patience_counter", 0)
    return state.global_step >= state.max_steps or waited >= patience
