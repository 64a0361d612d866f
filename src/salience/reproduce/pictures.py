"""Pictures of what `salience reproduce` has found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from salience.errors import InputError, listed
from salience.report.parts_of_speech import bars, named
from salience.report.pictures import save
from salience.reproduce.attentionmix.figures import TAGS
from salience.reproduce.table_rows import of_the_first_seed
from salience.reproduce.uaftc.pictures import accuracy_over_scales, dynamics, word_scores
from salience.reproduce.vat.pictures import words_deleted_and_kept


def check_table(table: str) -> None:
    """Raises:
    InputError: a table has no pictures.
    """
    if table not in PICTURES:
        raise InputError(f"--pictures: {table} has none; these tables have some: {listed(PICTURES)}")


def draw_table(table: str, rows: list[dict], folder: Path) -> list[str]:
    """Writes the pictures of a table, of the runs that there are, as PNG and SVG; gives their names."""
    return list(PICTURES[table](rows, folder))


def parts_of_speech(rows: list[dict], folder: Path):
    """Figures 5 to 7 of AttentionMix: the two heads of each set that agree most with the gradient, first seed."""
    for name, first in of_the_first_seed(rows).items():
        save(partial(draw_heads, row=first), folder / f"pos-{name}")
        yield f"pos-{name}"


def draw_heads(axes, row: dict) -> None:
    heads = {
        named((layer, head)): [row["relative"][layer][head].get(tag, np.nan) for tag in TAGS]
        for layer, head in row["agreeing"]
    }
    bars(axes, TAGS, heads, f"{row['set']}: attention by part of speech")


PICTURES: dict[str, Callable] = {
    "uaftc-table2": accuracy_over_scales,
    "uaftc-figures": word_scores,
    "uaftc-synthetic": dynamics,
    "vat": words_deleted_and_kept,
    "attentionmix-figures": parts_of_speech,
}
