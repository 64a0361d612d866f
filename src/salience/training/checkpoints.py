"""Checkpoints: which one an interrupted run goes on from, and what it means that one could not be written."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformers import TrainerState

STATE = "trainer_state.json"  # the Trainer writes it last
# What torch.save says of a write that failed: it does not name the system's error.
UNWRITTEN = ("PytorchStreamWriter failed", "inline_container", "iostream error")


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
    assert state is not None, checkpoint  # `last_checkpoint` returns whole checkpoints only
    stopping = state.stateful_callbacks.get("EarlyStoppingCallback", {}).get("attributes", {})
    waited = stopping.get("early_stopping_patience_counter", 0)
    return state.global_step >= state.max_steps or waited >= patience


@contextmanager
def using_files(folder: str | Path) -> Iterator[None]:
    """Inside the `with`, what torch, safetensors and tokenizers raise for a refused file is the system's error.

    They give it as a text, or, as torch for a full disk, not at all.

    Raises:
        OSError: with `folder` as its file name.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        hidden = any(words in str(error) for words in UNWRITTEN)
        for number in (errno.EACCES, errno.EROFS, errno.EDQUOT, errno.ENOSPC):
            if os.strerror(number) in str(error) or (hidden and number == errno.ENOSPC):
                raise OSError(number, os.strerror(number), str(folder)) from error
        raise
