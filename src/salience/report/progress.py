"""Progress of a training run: a bar on a terminal, a line an evaluation elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text
from transformers import TrainerCallback

from salience.errors import printable
from salience.processes import is_main_process


class Progress:
    """A context in which a run may talk: notes above the bar, the bar below."""

    def __init__(self):
        # Several processes train together; one of them speaks.
        self.console = Console(quiet=not is_main_process(), highlight=False)
        self.bar = Bar(
            TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[found]}"),
            TimeRemainingColumn(), console=self.console, disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip
        self.callback = Report(self)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *failure) -> None:
        self.bar.stop()

    def note(self, line: str) -> None:
        self.console.print(Text(printable(line)), soft_wrap=True)


class Report(TrainerCallback):
    """Tells what the Trainer has done."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.task = None

    def on_train_begin(self, args, state, control, **_):
        self.progress.bar.start()
        self.task = self.progress.bar.add_task(
            "training", total=state.max_steps, completed=state.global_step, found=""
        )

    def on_step_end(self, args, state, control, **_):
        self.progress.bar.update(self.task, completed=state.global_step)

    def on_evaluate(self, args, state, control, metrics, **_):
        found = f"validation accuracy {metrics['eval_accuracy']:.3f}"
        self.progress.bar.update(self.task, found=found)
        if not self.progress.console.is_terminal:
            self.progress.note(f"step {state.global_step} of {state.max_steps}: {found}")

    def on_train_end(self, args, state, control, **_):
        self.progress.bar.stop()
