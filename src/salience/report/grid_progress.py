"""Progress of several runs: how many are done, the step and the loss of those under way, and the time left."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from salience.errors import printable


class GridProgress:
    """A context in which the runs of a grid are shown: a bar for all of them and one for each that is under way.

    It is a `salience.jobs.Display`. Where the output is not a terminal, only notes are printed.
    """

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self.bars = Bars(
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"), TimeRemainingColumn(), console=self.console,
            disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip
        self.all: TaskID | None = None
        self.running: dict[str, TaskID] = {}

    def __enter__(self) -> GridProgress:
        return self

    def __exit__(self, *failure: object) -> None:
        self.bars.stop()

    def note(self, line: str) -> None:
        """Prints a line above the bars, without characters that control a terminal."""
        self.console.print(Text(printable(line)), soft_wrap=True)

    def begin(self, jobs: int) -> None:
        """Shows the bar of all runs."""
        self.all = self.bars.add_task("runs", total=jobs, loss="")
        self.bars.start()

    def progress(self, name: str, step: int, steps: int, loss: float | None) -> None:
        """Moves the bar of a run. A run that trains several models shows one after the other."""
        if name not in self.running:
            self.running[name] = self.bars.add_task(printable(name), loss="")
        shown = "" if loss is None else f"loss {loss:.3f}"
        self.bars.update(self.running[name], completed=step, total=steps, loss=shown)

    def end(self, name: str) -> None:
        """Removes the bar of a run and counts it."""
        if name in self.running:
            self.bars.remove_task(self.running.pop(name))
        if self.all is not None:
            self.bars.advance(self.all)
