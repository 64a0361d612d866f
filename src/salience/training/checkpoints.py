"""Checkpoints: the one from which an interrupted run is resumed, and errors of writing one."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformers import TrainerState

STATE = "trainer_state.json"  # the last file of a checkpoint that the Trainer writes
# Parts of torch.save's messages about a failed write, which do not name the error of the operating system.
WRITE_FAILURES = ("PytorchStreamWriter failed", "inline_container", "iostream error")


def read_state(checkpoint: Path) -> TrainerState | None:
    """The Trainer's state in a checkpoint; None if the checkpoint is incomplete because the run was killed."""
    try:
        return TrainerState.load_from_json(str(checkpoint / STATE))
    except (OSError, ValueError):
        return None


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in `folder`; None if there is none. Newer, incomplete ones are removed."""
    checkpoints = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    for checkpoint in checkpoints:
        if read_state(checkpoint) is not None:
            return checkpoint
        shutil.rmtree(checkpoint, ignore_errors=True)  # another process may be removing it, too
    return None


@contextmanager
def using_files(folder: str | Path) -> Iterator[None]:
    """Inside the `with`, errors of torch, safetensors and tokenizers about a file are turned into an `OSError`.

    These libraries raise exceptions of their own, whose message names the error of the operating system. torch does
    not even name it if the disk is full.

    Raises:
        OSError: no permission, a read-only file system, a full disk or quota; `folder` is its file name.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        unnamed = any(words in str(error) for words in WRITE_FAILURES)
        for number in (errno.EACCES, errno.EROFS, errno.EDQUOT, errno.ENOSPC):
            if os.strerror(number) in str(error) or (unnamed and number == errno.ENOSPC):
                raise OSError(number, os.strerror(number), str(folder)) from error
        raise
