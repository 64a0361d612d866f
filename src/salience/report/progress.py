"""Progress in a terminal: of a training run, and of the runs of a grid; elsewhere a line for each evaluation."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text
from transformers import TrainerCallback

from salience.errors import printable
from salience.processes import is_main_process


class Progress:
    """A context in which a run prints notes, with a progress bar below them.

    `callback` is the callback for the Trainer. With several processes, only the main one prints.
    """

    def __init__(self):
        self.console = Console(quiet=not is_main_process(), highlight=False)
        self.bar = Bar(
            TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[score]}"),
            TimeRemainingColumn(), console=self.console, disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip
        self.callback = Report(self)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *failure) -> None:
        self.bar.stop()

    def note(self, line: str) -> None:
        """Prints a line, without characters that control a terminal."""
        self.console.print(Text(printable(line)), soft_wrap=True)


class Report(TrainerCallback):
    """Shows the Trainer's steps and evaluations in a `Progress`."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.task = None

    def on_train_begin(self, args, state, control, **_):
        """Starts the bar."""
        self.progress.bar.start()
        self.task = self.progress.bar.add_task(
            "training", total=state.max_steps, completed=state.global_step, score=""
        )

    def on_step_end(self, args, state, control, **_):
        """Moves the bar."""
        self.progress.bar.update(self.task, completed=state.global_step)

    def on_evaluate(self, args, state, control, metrics, **_):
        """Shows the validation accuracy, or ranking precision; outside a terminal as a line of its own."""
        name = "accuracy" if "eval_accuracy" in metrics else "ranking_precision"  # of several labels
        score = f"validation {name.replace('_', ' ')} {metrics[f'eval_{name}']:.3f}"
        self.progress.bar.update(self.task, score=score)
        if not self.progress.console.is_terminal:
            self.progress.note(f"step {state.global_step} of {state.max_steps}: {score}")

    def on_train_end(self, args, state, control, **_):
        """Removes the bar."""
        self.progress.bar.stop()


class GridProgress:
    """A context in which the runs of a grid are shown: a bar for all of them and one for each that is under way.

    It is a `salience.jobs.Display`. Where the output is not a terminal, only notes are printed.
    """

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self.bars = Bar(
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
