"""The cards of the methods: Markdown files, which can be read without importing torch."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from salience.errors import InputError, unknown

WIDE = 200  # characters: more than any row needs
# A card begins with its name, a line on what the method does, and a table with one row.
HEAD = re.compile(
    r"# (?P<name>[\w-]+)\n\n(?P<line>[^\n]+)\.\n.*?^\|[-|]+\|\n\|(?P<cells>[^\n]*)\|$", re.MULTILINE | re.DOTALL
)
LEVELS = ("tokens", "words", "embeddings", "a layer", "last layer", "sentence")  # in the order of the model


class Entry(NamedTuple):
    """What the head of a card says of its method."""

    name: str
    line: str  # what the method does, in one line
    level: str  # where texts are mixed
    guide: str  # what says which parts matter
    cost: str  # of a training step with half of its loss on unmixed texts, in forward passes
    cost_mixed: str  # of a training step on mixed texts only


def cards_folder() -> Path:
    """The folder of the cards: `salience/cards` in an installed package, `docs/methods` in a checkout."""
    package = Path(__file__).parents[1]
    shipped = package / "cards"
    return shipped if shipped.is_dir() else package.parents[1] / "docs" / "methods"


def read_index() -> list[Entry]:
    """The heads of all cards, in the order of the levels at which the methods mix, and of their names."""
    entries = []
    for file in sorted(cards_folder().glob("*.md")):
        if file.name == "README.md":
            continue
        head = HEAD.match(file.read_text(encoding="utf-8"))
        if head is None or head["name"] != file.stem:
            raise ValueError(f"{file.name}: a card begins with its name, a line on the method, and a table with a row")
        line = head["line"][0].lower() + head["line"][1:]
        entries.append(Entry(file.stem, line, *(cell.strip() for cell in head["cells"].split("|"))))
    return sorted(entries, key=lambda entry: (LEVELS.index(entry.level), entry.name))


def read_card(name: str) -> str:
    """The Markdown of a method's card; an `InputError` names the nearest method if there is none of this name."""
    names = [entry.name for entry in read_index()]
    name = name.partition(":")[0]  # as `train --method` takes it, without fields
    if name == "plain":
        raise InputError("plain has no card: it trains on the texts as they are, without mixing")
    if name not in names:
        raise unknown("method", name, names)
    return (cards_folder() / f"{name}.md").read_text(encoding="utf-8")


def show_index(console: Console | None = None) -> None:
    """Prints a table with a row for each method. In a file or a pipe, each row is one line."""
    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    table = Table(box=None, pad_edge=False)
    for title in ("method", "what it does", "a step", "clean=0"):
        table.add_column(title, no_wrap=title == "method")
    for entry in read_index():
        table.add_row(*map(Text, (entry.name, entry.line, entry.cost, entry.cost_mixed)))
    console.print(table)
    console.print(
        "\nThe cost of a step is in F, forward passes of the batch; training without mixing costs 3 F.\n"
        "salience methods NAME explains a method, salience train --method NAME trains with it.",
        markup=False,
        soft_wrap=True,
    )


def show_card(name: str, console: Console | None = None) -> None:
    """Prints the card of a method: formatted in a terminal, as Markdown elsewhere."""
    console = console or Console(highlight=False)
    card = read_card(name)
    if console.is_terminal:
        console.print(Markdown(card))
    else:
        console.file.write(card)
