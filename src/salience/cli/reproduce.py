"""`salience reproduce`: the tables of the papers, run on their data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.reproduce import TABLES


def reproduce(
    table: Annotated[str, Argument(help=f"One of {', '.join(TABLES)}.")],
    data_dir: Annotated[Path | None, Option(help="Folder of data sets. [read from the hub]")] = None,
    sets: Annotated[str | None, Option(help="Data sets of the table, separated by commas. [all]")] = None,
    seeds: Annotated[str, Option(help="Seeds, separated by commas.")] = "0",
    results: Annotated[Path | None, Option(help="File that holds the runs. [results/TABLE.jsonl]")] = None,
    part: Annotated[str, Option(help="K/N runs the K-th of N parts of the table, for N processes.")] = "1/1",
    pictures: Annotated[Path | None, Option(help="Folder for the table's pictures. [none are drawn]")] = None,
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run a paper's table and print it beside the published one. Runs in the results file are not repeated."""
    from salience.commands.reproduce import reproduce as reproduce_table

    reproduce_table(table, data_dir, sets, seeds, results, part, pictures)
