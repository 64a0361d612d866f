"""Running the cells of a paper's table, one line of results each, and printing the table."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path

import torch
import transformers

from salience._version import __version__
from salience.errors import InputError, unknown
from salience.outputs import check_writable
from salience.reproduce import TABLES
from salience.reproduce.results import Results


def run_table(
    name: str,
    data_dir: Path | None,
    sets: str | None,
    seeds: str,
    file: Path,
    part: str = "1/1",
    say: Callable[[str], None] = print,
) -> list[dict]:
    """Runs what the file does not hold yet, then prints the table from all that it holds, which it returns.

    Raises:
        InputError: a data set that the table does not have, or numbers that are none.
    """
    table = import_module(TABLES[name])
    known = list(table.PUBLISHED)
    chosen = known if sets is None else sets.split(",")
    for own in chosen:
        if own not in known:
            raise unknown(f"data set of {name}:", own, known)
    wanted = numbers(seeds, ",", "--seeds 0,1,2")
    if min(wanted) < 0:
        raise InputError(f"--seeds {seeds}: seeds begin at 0")
    turn, parts = share_of(part)
    cells = table.cells(chosen, wanted)
    results = Results(file, key=[field.name for cell in cells[:1] for field in fields(cell)])
    results.rows()  # what is wrong with the file is better known before hours of runs
    check_writable(file)
    for index, cell in enumerate(cells):
        if index % parts != turn - 1 or results.has(**asdict(cell)):
            continue
        row = asdict(cell) | table.run(cell, data_dir) | machine()
        results.add(row)
        say(", ".join(f"{key} {value}" for key, value in asdict(cell).items()) + f": {100 * row['accuracy']:.1f}")
    rows = results.rows()
    say(table.report(rows))
    return rows


def share_of(part: str) -> tuple[int, int]:
    """K and N of "K/N".

    Raises:
        InputError: it is something else.
    """
    found = numbers(part, "/", "--part 1/2")
    if len(found) != 2 or not 1 <= found[0] <= found[1]:
        raise InputError(f"--part {part}: write K/N with K from 1 to N, as in --part 1/2")
    return found[0], found[1]


def numbers(text: str, between: str, example: str, kind: type = int) -> list:
    """The numbers in a text, `between` which a sign stands.

    Raises:
        InputError: there is something else; shows the example.
    """
    try:
        return [kind(number) for number in text.split(between)]
    except ValueError:
        raise InputError(f"{text!r} are no numbers; write {example}") from None


def machine() -> dict:
    """What a result was found with."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "versions": f"salience {__version__}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"Python {platform.python_version()}",
    }
