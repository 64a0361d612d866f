"""How a run that is under way tells its step and its loss, wherever in the code it is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int, float | None], None]  # step, number of steps, loss

_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Inside the `with`, every training of this process tells `progress` its step and its loss."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def watcher() -> Progress | None:
    """What a training is to tell its progress; None if nobody watches."""
    return _progress.get()
