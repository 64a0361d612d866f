"""Results and explanations in a terminal, legible without colour."""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from salience.errors import printable
from salience.explainers.explanations import Explanation, explain_texts
from salience.explainers.explanations import Text as Words
from salience.explainers.gradient import gradient
from salience.training.run import Run

EXAMPLES = 3
DECISIVE = 3  # words marked in a text


def show_run(run: Run, console: Console | None = None) -> None:
    """The scores beside the baselines', where the run lies, and some test texts with the words that decided."""
    console = console or Console(highlight=False)
    judge = run.metrics.get("judged_on")
    if judge:
        console.print(score_table(run.metrics))
    if judge == "test":
        show_decisions(run, console)
    console.print(literal(f"saved: {run.folder}"), soft_wrap=True)


def literal(text: str, style: str = "") -> Text:
    """A text for a `Table` or a `Console` that shows it as it is.

    rich reads a `str` as markup: "[/b]" would be an error, "[red]" a colour, ":x:" an emoji. Labels, tags, words and
    file names are not ours to be read so.
    """
    return Text(printable(text), style)


def titled(title: str, **settings) -> Table:
    """A table whose title is shown as it is."""
    return Table(title=literal(title, "table.title"), title_justify="left", **settings)


def say(line: str) -> None:
    """A line to standard output, without characters that steer a terminal."""
    print(printable(line))


def cut_off(cut: int, seen: int, longest: int) -> str:
    return f"{cut} of {seen} texts are longer than the {longest} tokens read of each; the rest was cut off"


def tell(line: str) -> None:
    """Notes go to standard error: standard output may be the csv."""
    print(printable(line), file=sys.stderr)


def score_table(metrics: dict) -> Table:
    judge = metrics["judged_on"]
    flattered = ", on which the checkpoint was chosen" if judge == "validation" else ""
    table = titled(f"{metrics['rows'][judge]} {judge} rows{flattered}")
    table.add_column("")
    for name in ("accuracy", "macro-F1", "calibration error"):
        table.add_column(name, justify="right")
    for name, found in ({"this model": metrics[judge]} | metrics["baselines"]).items():
        table.add_row(
            literal(name), *(f"{found[score]:.3f}" for score in ("accuracy", "macro_f1", "calibration_error"))
        )
    return table


def show_decisions(run: Run, console: Console) -> None:
    """Three test texts: the surest right one, the surest wrong one, and the least sure."""
    chosen = telling_rows(run.probabilities, run.task.test.labels)
    examples, numbers = run.task.test.examples.take(chosen), run.task.test.labels[chosen]
    pairs = examples.pairs or [None] * len(chosen)
    texts = [Words(*both, int(gold)) for *both, gold in zip(examples.texts, pairs, numbers, strict=True)]
    console.print("three test texts; the words that decided most are marked *so*:", soft_wrap=True)
    for explanation in explain_texts(run.classifier, texts, {"gradient": gradient}):
        console.print(explanation_line(explanation), soft_wrap=True)


def telling_rows(probabilities: np.ndarray, labels: np.ndarray) -> list[int]:
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == labels
    by_confidence = np.argsort(-confidence, kind="stable")
    first = [rows[:1] for rows in (by_confidence[right[by_confidence]], by_confidence[~right[by_confidence]])]
    order = np.concatenate([*first, by_confidence[::-1]])
    return list(dict.fromkeys(order.tolist()))[:EXAMPLES]


def explanation_line(explanation: Explanation) -> Text:
    """`label (probability, right or wrong): text` with the decisive words marked."""
    label = printable(explanation.labels[explanation.predicted])
    line = Text(f"  {label} ({explanation.probabilities.max():.2f}{verdict(explanation)}): ")
    if explanation.target != explanation.predicted:
        line.append(f"[for {printable(explanation.labels[explanation.target])}] ")
    scores = next(iter(explanation.scores.values()))
    # The highest ones, unless they speak against the class.
    strongest = {place for place in np.argsort(-scores, kind="stable")[:DECISIVE].tolist() if scores[place] > 0}
    for index, word in enumerate(map(printable, explanation.words)):
        if index == explanation.second:
            line.append("| ")
        line.append(f"*{word}*" if index in strongest else word, style="bold yellow" if index in strongest else "")
        line.append(" ")
    return line


def verdict(explanation: Explanation) -> str:
    if explanation.gold is None:
        return ""
    right = explanation.gold == explanation.predicted
    return ", right" if right else f", wrong, it is {printable(explanation.labels[explanation.gold])}"
