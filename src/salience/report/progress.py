"""Progress: bars in a terminal, elsewhere lines; of work that is counted, a training run, and the runs of a grid."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, RLock, Thread
from time import monotonic
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text
from transformers import TrainerCallback

from salience.errors import duration, printable
from salience.processes import is_main_process
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


class Progress(Shown):
    """The steps and evaluations of a run and its estimate together. With several processes, only the main one prints.

    `callback` is the callback for the Trainer, and `planned` is called with the number of all steps before the first.
    """

    def __init__(self, stderr: bool = False):
        super().__init__(quiet=not is_main_process(), stderr=stderr)
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
