"""Progress: bars in a terminal, elsewhere lines; of work that is counted, and of the runs of a grid."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, RLock, Thread
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from salience.errors import duration, printable
from salience.work import Work, shown

INTERVAL = 10  # seconds between two lines where the output is no terminal
DELAY = 1  # seconds after which work has a bar


class Count(MofNCompleteColumn):
    """How much is done of how much, where it can be counted."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


class Shown:
    """Progress bars where the output is a terminal. It is a `salience.work.Display` of what has no bar of its own.

    Inside its `with`, notes are printed above the bars, and work of this thread is shown. Where the output is no
    terminal, a line every `INTERVAL` seconds goes to standard error. Both also appear while a single step takes long.
    """

    def __init__(self, quiet: bool = False, stderr: bool = False):
        self.console = Console(quiet=quiet, highlight=False, stderr=stderr)
        self.bars = Bars(
            TextColumn("{task.description}", markup=False), BarColumn(), Count(), TextColumn("{task.fields[score]}"),
            TimeRemainingColumn(), console=self.console, disable=not self.console.is_terminal, transient=True,
            redirect_stdout=not stderr,
        )  # fmt: skip
        self.work: Work | None = None
        self.task = TaskID(0)  # of the work
        self.drawn = False  # whether the bars are there for the work alone
        self.lock, self.closing = RLock(), Event()
        self.clock: Thread | None = None
        self.inside = ExitStack()

    def __enter__(self) -> Self:
        self.inside.enter_context(shown(lambda: self))
        return self

    def __exit__(self, *failure: object) -> None:
        self.inside.close()
        self.close()

    def note(self, line: str) -> None:
        """Prints a line, without characters that control a terminal."""
        self.console.print(Text(printable(line)), soft_wrap=True)

    def began(self, work: Work) -> None:
        with self.lock:
            self.work, self.task = work, self.bars.add_task(work.name, total=work.total, score="")
        if self.clock is None and not self.console.quiet:
            self.clock = Thread(target=self.watch, daemon=True)
            self.clock.start()

    def moved(self, work: Work) -> None:
        self.bars.update(self.task, completed=work.done)
        self.bars.update(self.task, score=self.rate(work))

    def ended(self, work: Work) -> None:
        with self.lock:
            self.work = None
            self.erase()
            self.bars.remove_task(self.task)

    def close(self) -> None:
        self.closing.set()
        if self.clock is not None:
            self.clock.join()
        self.bars.stop()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        with self.lock:
            if sys.stdout.isatty():
                self.erase()
            yield

    def erase(self) -> None:
        """Removes the bar of the work, which is drawn again within a second if the work goes on."""
        if self.drawn:
            self.bars.stop()
        self.drawn = False

    def watch(self) -> None:
        """Draws the bar, or prints the lines; in a thread of its own, as the work may take long to move."""
        terminal = self.console.is_terminal
        while not self.closing.wait(DELAY if terminal else INTERVAL):
            with self.lock:
                if self.work is None:
                    continue
                if not terminal:
                    with suppress(OSError):  # nobody reads it
                        print(f"{printable(self.line(self.work))}\n", end="", file=sys.stderr, flush=True)
                elif not self.bars.live.is_started:
                    self.bars.start()
                    self.drawn = True

    def speed(self, work: Work) -> float:
        """Units a second: of the last half minute, or if nothing moved then, of all; 0 if nothing is done."""
        task = next(task for task in self.bars.tasks if task.id == self.task)
        return task.speed or work.done / max(task.elapsed or 0, 1e-9)

    def rate(self, work: Work) -> str:
        speed = self.speed(work)
        return f"{speed:,.0f} {work.unit}/s" if speed >= 10 else f"{speed:.2g} {work.unit}/s"

    def line(self, work: Work) -> str:
        """How far the work is: "predicting: 1,200 of 50,000 rows, 118 rows/s, about 7 min left"."""
        if work.total is None:
            return f"{work.name} ..."
        told = f"{work.name}: {work.done:,.0f} of {work.total:,.0f} {work.unit}"
        if not work.done:
            return told
        return f"{told}, {self.rate(work)}, about {duration((work.total - work.done) / self.speed(work))} left"


class GridProgress(Shown):
    """The runs of a grid, as a `salience.jobs.Display`: a bar for all of them and one for each that is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.all: TaskID | None = None
        self.running: dict[str, TaskID] = {}

    def begin(self, jobs: int) -> None:
        self.all = self.bars.add_task("runs", total=jobs, score="")
        self.bars.start()

    def progress(self, name: str, step: int, steps: int, loss: float | None) -> None:
        """Moves the bar of a run. A run that trains several models shows one after the other."""
        if name not in self.running:
            self.running[name] = self.bars.add_task(printable(name), score="")
        shown = "" if loss is None else f"loss {loss:.3f}"
        self.bars.update(self.running[name], completed=step, total=steps, score=shown)

    def end(self, name: str) -> None:
        """Removes the bar of a run and counts it."""
        if name in self.running:
            self.bars.remove_task(self.running.pop(name))
        if self.all is not None:
            self.bars.advance(self.all)
