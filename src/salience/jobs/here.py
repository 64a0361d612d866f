"""One job at a time, in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from salience.jobs.job import Outcome, Watch, outcome_of
from salience.jobs.watching import watched


class Here:
    """A pool of one: the work is done in this process, when its outcome is asked for. It need not be picklable."""

    size = 1

    def __init__(self) -> None:
        self.submitted: tuple[str, Callable[[], Any]] | None = None

    def submit(self, name: str, work: Callable[[], Any]) -> None:
        """Keeps the work until `next` is called."""
        self.submitted = name, work

    def next(self, watch: Watch) -> Outcome:
        """Does the work."""
        assert self.submitted is not None
        name, work = self.submitted
        with watched(partial(watch, name)):
            return outcome_of(name, work)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *failure: object) -> None:
        self.submitted = None
