"""Tables, explanations and notes in a terminal. They are readable without colour."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text
from transformers import TrainerCallback

from salience.errors import printable
from salience.explainers.explanation import Explanation
from salience.processes import is_main_process
from salience.scores.labels import labels_in

DECISIVE = 3  # words marked in a text


def literal(text: str, style: str = "") -> Text:
    """A text that a `Table` or a `Console` of rich shows as it is.

    rich reads a `str` as markup: "[/b]" would be an error, "[red]" a colour, ":x:" an emoji. Labels, tags, words and
    file names come from the user and must not be read so. Control characters are replaced.
    """
    return Text(printable(text), style)


def titled(title: str, **settings: Any) -> Table:
    """An empty table whose title is shown as it is.

    Args:
        settings: further arguments of `rich.table.Table`.
    """
    return Table(title=literal(title, "table.title"), title_justify="left", **settings)


def say(line: str) -> None:
    """Prints a line to standard output, without characters that control a terminal."""
    print(printable(line))


def tell(line: str) -> None:
    """Prints a note to standard error; standard output may be data that another program reads."""
    print(printable(line), file=sys.stderr)


def cut_off(cut: int, of: int, longest: int, what: str = "text") -> str:
    """The note that `cut` of so many texts are longer than `longest` tokens.

    Args:
        what: is counted: "text", or "decision", of which a text can have several.
    """
    cases = "texts are" if what == "text" else f"{what}s are about texts that are"
    return f"{cut} of {of} {cases} longer than the {longest} tokens read of each; the rest was cut off"


def score_table(rows: str, models: Mapping[str, dict]) -> Table:
    """The scores of a training run beside those of the baselines.

    Args:
        rows: on which the scores are, in words.
        models: name to scores, as `salience.runs.sentences.judged_scores` gives them.
    """
    table = titled(rows)
    table.add_column("")
    shown = labels_in(next(iter(models.values()))).shown
    for title in shown.values():
        table.add_column(title, justify="right")
    for name, scores in models.items():
        cells = (f"{scores[metric]:.3f}" for metric in shown)
        table.add_row(literal(name), *cells)
    return table


def explanation_line(explanation: Explanation) -> Text:
    """`label (probability, right or wrong): text` with the decisive words marked.

    Shown are the scores of the first explainer. Marked are the words with the highest scores above 0.
    """
    predicted = explanation.predicted
    label = ("" if explanation.is_predicted else "not ") + printable(explanation.labels[predicted])
    line = Text(f"  {label} ({explanation.probabilities[predicted]:.2f}{verdict(explanation)}): ")
    if explanation.target != explanation.predicted:
        line.append(f"[for {printable(explanation.labels[explanation.target])}] ")
    scores = next(iter(explanation.scores.values()))
    decisive = {index for index in np.argsort(-scores, kind="stable")[:DECISIVE].tolist() if scores[index] > 0}
    for index, word in enumerate(map(printable, explanation.words)):
        if index == explanation.second:
            line.append("| ")
        line.append(f"*{word}*" if index in decisive else word, style="bold yellow" if index in decisive else "")
        line.append(" ")
    return line


def verdict(explanation: Explanation) -> str:
    """Whether the prediction is right; empty if the label is not known."""
    if explanation.right is None:
        return ""
    if explanation.right or explanation.gold is None:
        return ", right" if explanation.right else ", wrong"
    return f", wrong, it is {printable(explanation.labels[explanation.gold])}"


# Progress of a training run: a bar on a terminal, elsewhere a line for each evaluation.


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


# Progress of several runs: how many are done, the step and the loss of those under way, and the time left.


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
