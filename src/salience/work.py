"""Work that is counted where it is done: a loop says how far it is, and a display, if there is one, shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")


@dataclass(eq=False)
class Work:
    """Some work that is under way."""

    name: str  # what is done, such as "predicting"
    total: float | None  # how many units there are; None if they cannot be counted
    unit: str = ""  # in the plural, such as "texts"
    done: float = 0.0  # units
    begin: float = 0.0  # units before the part that is counted now
    part: float = 0.0  # units in this part


class Display(Protocol):
    """Shows one work at a time."""

    def began(self, work: Work) -> None: ...

    def moved(self, work: Work) -> None: ...

    def ended(self, work: Work) -> None: ...

    def hidden(self) -> AbstractContextManager[None]:
        """A context in which nothing is shown, for what is printed to the same terminal."""

    def close(self) -> None: ...


class Watch:
    """A display, which is made when there is work, and the work that it shows."""

    def __init__(self, make: Callable[[], Display]) -> None:
        self.make = make
        self.display: Display | None = None
        self.work: Work | None = None

    @contextmanager
    def showing(self, work: Work) -> Iterator[Display]:
        if self.display is None:
            self.display = self.make()
        self.work = work
        self.display.began(work)
        try:
            yield self.display
        finally:
            self.work = None
            self.display.ended(work)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def shown(make: Callable[[], Display]) -> Iterator[None]:
    """Inside the `with`, a display that `make` gives shows the work of this thread."""
    watch = Watch(make)
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)
        if watch.display is not None:
            watch.display.close()


def tracked(
    items: Iterable[Item], total: float, name: str, unit: str = "texts", size: Callable[[Item], float] = lambda item: 1
) -> Iterator[Item]:
    """The items, each of which is done when the next one is asked for.

    Of work inside of other work, the outer one is shown. The inner one is a part of it if it has the same name: it
    moves the outer one through the item that is under way.

    Args:
        total: the sum of the sizes, in the unit.
    """
    watch = _watch.get()
    if watch is None or (watch.work is not None and watch.work.name != name):
        yield from items
    elif watch.work is None:
        work = Work(name, total, unit, part=total)
        with watch.showing(work) as display:
            yield from _moving(items, total, size, work, display)
    else:
        assert watch.display is not None
        yield from _moving(items, total, size, watch.work, watch.display)


def _moving(
    items: Iterable[Item], total: float, size: Callable[[Item], float], work: Work, display: Display
) -> Iterator[Item]:
    begin, part = work.begin, work.part
    try:
        for item in items:
            work.part = part * size(item) / total
            yield item
            work.begin += work.part
            work.done = max(work.done, work.begin)
            display.moved(work)
    finally:
        work.begin, work.part = begin, part


@contextmanager
def doing(name: str) -> Iterator[None]:
    """Inside the `with`, something is done whose parts cannot be counted."""
    watch = _watch.get()
    if watch is None or watch.work is not None:
        yield
        return
    with watch.showing(Work(name, None)):
        yield


def hidden() -> AbstractContextManager[None]:
    """A context in which no work is shown, for what is printed to standard output in the middle of it."""
    watch = _watch.get()
    return nullcontext() if watch is None or watch.display is None else watch.display.hidden()
