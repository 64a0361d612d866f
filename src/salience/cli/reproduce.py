"""`salience reproduce`: the tables of the papers, with real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.errors import unknown
from salience.reproduce import TABLES


def reproduce(
    table: Annotated[str, Argument(help=", ".join(TABLES) + ".")],
    data_dir: Annotated[Path | None, Option(help="A folder of data sets; without it they come from the hub.")] = None,
    sets: Annotated[str | None, Option(help="Some of the table's data sets, between commas. [all]")] = None,
    seeds: Annotated[str, Option(help="Between commas.")] = "0",
    results: Annotated[Path | None, Option(help="Where runs are kept. [results/TABLE.jsonl]")] = None,
    part: Annotated[str, Option(help="K/N: the K-th of N parts of the runs, for N processes.")] = "1/1",
    pictures: Annotated[Path | None, Option(help="A folder for pictures of the table, where it has some.")] = None,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Run a table of a paper and print it beside the published one; runs that are kept are not run again."""
    from salience.reproduce.running import run_table

    if table not in TABLES:
        raise unknown("table", table, TABLES)
    if pictures is not None:
        from salience.files import whole_folder
        from salience.outputs import check_folder
        from salience.report.terminal import say
        from salience.reproduce.pictures import check_table, draw_table

        check_table(table)
        check_folder(pictures, overwrite=True)  # what is wrong with it is better known before hours of runs
    rows = run_table(table, data_dir, sets, seeds, results or Path("results") / f"{table}.jsonl", part)
    if pictures is not None:
        with whole_folder(pictures) as folder:
            names = draw_table(table, rows, folder)
        say(f"{pictures}: {', '.join(names)}, each as png and svg")
