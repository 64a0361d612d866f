"""`salience reproduce`: the tables of the papers, from runs on their data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli.options import Debug, Jobs, Part, Precision, Ray
from salience.papers.tables import TABLES


def reproduce(
    table: Annotated[str, Argument(help=f"Name of the table: {', '.join(TABLES)}.")],
    data_dir: Annotated[Path | None, Option(help="Folder of the data sets.  [default: read from the hub]")] = None,
    sets: Annotated[str | None, Option(help="Data sets of the table, separated by commas.  [default: all]")] = None,
    seeds: Annotated[str, Option(help="Seeds, separated by commas.")] = "0",
    rows: Annotated[
        str | None, Option(help="Training rows, for tables of mixing methods; several numbers separated by commas.")
    ] = None,
    model: Annotated[
        str | None,
        Option(
            help="Encoder, for tables of mixing methods: minilm, a folder, or a model of the hub.  [default: minilm; "
            "of dropmix-table4 roberta-base]"
        ),
    ] = None,
    results: Annotated[Path | None, Option(help="File of the runs.  [default: results/TABLE.jsonl]")] = None,
    merge: Annotated[
        list[Path] | None,
        Option(help="Results file of another machine whose runs are added; nothing is run. Can be repeated."),
    ] = None,
    precision: Precision = "auto",
    jobs: Jobs = 1,
    ray: Ray = None,
    part: Part = None,
    pictures: Annotated[Path | None, Option(help="Folder for the table's pictures.  [default: no pictures]")] = None,
    debug: Debug = False,
) -> None:
    """Run a table of a paper and print it beside the published values. Runs in the results file are not repeated."""
    from salience.commands.reproduce import reproduce as reproduce_table

    reproduce_table(
        table, data_dir, sets, seeds, rows=rows, model=model, results=results, part=part, pictures=pictures,
        precision=precision, jobs=jobs, ray=ray, merge=merge or (),
    )  # fmt: skip
