"""Progress in a terminal: of a training run, and of the runs of a grid; elsewhere a line for each evaluation."""

from __future__ import annotations

from time import monotonic
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text
from transformers import TrainerCallback

from salience.errors import duration, printable
from salience.processes import is_main_process

INTERVAL = 10  # seconds between two lines where the output is no terminal


class Shown:
    """A context in which notes are printed, with progress bars below them where the output is a terminal."""

    def __init__(self, quiet: bool = False):
        self.console = Console(quiet=quiet, highlight=False)
        self.bars = Bars(
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[score]}"), TimeRemainingColumn(), console=self.console,
            disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.bars.stop()

    def note(self, line: str) -> None:
        """Prints a line, without characters that control a terminal."""
        self.console.print(Text(printable(line)), soft_wrap=True)


class Progress(Shown):
    """The steps and evaluations of a run and its estimate together. With several processes, only the main one prints.

    `callback` is the callback for the Trainer, and `planned` is called with the number of all steps before the first.
    """

    def __init__(self):
        super().__init__(quiet=not is_main_process())
        self.callback = Report(self)

    def planned(self, steps: int) -> None:
        self.callback.all = steps


class Report(TrainerCallback):
    """A bar of all steps; where the output is no terminal, a line every `INTERVAL` seconds and for each evaluation."""

    def __init__(self, progress: Progress):
        self.progress, self.task = progress, TaskID(0)
        self.all = self.before = 0  # steps of all models, and of those that are trained
        self.begun = self.told = 0.0  # when the first step began, and the last line was printed
        self.skipped = 0  # steps that an interrupted run has made

    def on_train_begin(self, args, state, control, **_):
        bars, now = self.progress.bars, monotonic()
        self.all = max(self.all, self.before + state.max_steps)
        if not self.begun:
            self.begun = self.told = now
            self.skipped = state.global_step
            bars.start()
            self.task = bars.add_task("training", score="")
        bars.update(self.task, total=self.all, completed=self.before + state.global_step)

    def on_step_end(self, args, state, control, **_):
        done, now = self.before + state.global_step, monotonic()
        self.progress.bars.update(self.task, completed=done)
        if not self.progress.console.is_terminal and now - self.told >= INTERVAL and done < self.all:
            left = (self.all - done) * (now - self.begun) / (done - self.skipped)
            self.progress.note(f"step {done} of {self.all}, about {duration(left)} left")
            self.told = now

    def on_evaluate(self, args, state, control, metrics, **_):
        """Shows the validation accuracy, or ranking precision; outside a terminal as a line of its own."""
        name = "accuracy" if "eval_accuracy" in metrics else "ranking_precision"  # of several labels
        score = f"validation {name.replace('_', ' ')} {metrics[f'eval_{name}']:.3f}"
        self.progress.bars.update(self.task, score=score)
        if not self.progress.console.is_terminal:
            self.progress.note(f"step {state.global_step} of {state.max_steps}: {score}")

    def on_train_end(self, args, state, control, **_):
        self.before += state.max_steps  # also where it has stopped early
        if self.before >= self.all:
            self.progress.bars.stop()


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
