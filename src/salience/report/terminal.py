"""Tables, explanations and notes in a terminal. They are readable without colour."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from salience.errors import printable
from salience.explainers.explanation import Explanation
from salience.scores.labels import labels_in
from salience.work import hidden


def literal(text: str, style: str = "") -> Text:
    """A text that a `Table` or a `Console` of rich shows as it is.

    rich reads a `str` as markup: "[/b]" would be an error, "[red]" a colour, ":x:" an emoji. Labels, tags, words and
    file names come from the user and must not be read so. Control characters are replaced.
    """
    return Text(printable(text), style)


def titled(title: str, **settings: Any) -> Table:
    """An empty table whose title is shown as it is; `settings` are further arguments of `rich.table.Table`."""
    return Table(title=literal(title, "table.title"), title_justify="left", **settings)


def say(line: str) -> None:
    """Prints a line to standard output, without characters that control a terminal."""
    with hidden():
        print(printable(line))


def tell(line: str) -> None:
    """Prints a note to standard error; standard output may be data that another program reads."""
    print(printable(line), file=sys.stderr)


def cut_off(cut: int, of: int, longest: int, what: str = "text") -> str:
    """The note that `cut` of so many texts, or decisions about texts, are longer than `longest` tokens."""
    cases = "texts are cut: they are" if what == "text" else f"{what}s are about texts that are cut:"
    return f"{cut} of {of} {cases} longer than {longest} tokens"


def score_table(rows: str, models: Mapping[str, dict]) -> Table:
    """The scores of a training run, as of `salience.runs.sentences.judged_scores`, beside those of the baselines.

    `rows` are those that the scores are on, in words.
    """
    table = titled(rows)
    table.add_column("")
    shown = labels_in(next(iter(models.values()))).shown
    for title in shown.values():
        table.add_column(title, justify="right")
    for name, scores in models.items():
        table.add_row(literal(name), *(f"{scores[metric]:.3f}" for metric in shown))
    return table


def explanation_line(explanation: Explanation) -> Text:
    """`label (probability, right or wrong): text` with the decisive words of the first explainer marked."""
    line = Text("  ")
    for part, is_decisive in explanation.marked():
        line.append(part, style="bold yellow" if is_decisive else "")
    return line
