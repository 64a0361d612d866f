"""Progress of a training run, as of `salience.report.progress`; apart, since it imports the Trainer."""

from __future__ import annotations

from time import monotonic

from rich.progress import TaskID
from transformers import TrainerCallback

from salience.errors import duration
from salience.processes import is_main_process
from salience.report.progress import INTERVAL, Shown


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
