"""`salience reproduce`: a paper's table in, its runs in a results file, the printed table and pictures out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import catalogue
from salience.errors import InputError, listed, unknown
from salience.settings import comma_separated, numbers

if TYPE_CHECKING:
    from salience.papers.table import Table


def table_rows() -> list[tuple[str, str]]:
    """The names of the tables."""
    from salience.papers.tables import TABLES

    return [(name, "") for name in TABLES]


def reproduce(
    table: Annotated[str, Argument(help="Name of a table of --list-tables.")],
    list_tables: Annotated[bool, catalogue("--list-tables", "tables", table_rows)] = False,
    data_dir: Annotated[Path | None, Option(help="Folder of the data sets.  [default: the hub]")] = None,
    sets: Annotated[str | None, Option(help="Data sets, separated by commas.  [default: all]")] = None,
    seeds: Annotated[str, Option(help="Seeds, separated by commas.")] = "0",
    rows: Annotated[str | None, Option(help="Training rows, by commas, of tables that vary them.")] = None,
    model: Annotated[str | None, Option(help="Encoder, of tables that take another.")] = None,
    method: Annotated[str | None, Option(help="Mixing method, of tables that take one.")] = None,
    results: Annotated[Path | None, Option(help="File of the runs.  [default: results/TABLE.jsonl]")] = None,
    merge: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Add its runs, and run nothing; repeatable.")
    ] = None,
    precision: options.Precision = "auto",
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
    part: options.Part = None,
    pictures: Annotated[Path | None, Option(help="Folder for the pictures.  [default: none]")] = None,
) -> None:  # fmt: skip
    """Run a table of a paper and print it beside the published values. Runs in the results file are not repeated."""
    from salience.papers.tables import TABLES

    if table not in TABLES:
        raise unknown("table", table, TABLES)

    from salience.processes import importing, part_of

    with importing():
        from salience.files import whole_folder
        from salience.papers.table import merge_results, run_table
        from salience.report.progress import GridProgress
        from salience.report.terminal import say

    asked = asked_table(table, model, rows, method, pictures)
    file = results or Path("results") / f"{table}.jsonl"
    chosen = None if sets is None else comma_separated(sets)
    draws = numbers(seeds, ",", "--seeds 0,1,2")
    if merge or (asked.counting is not None and data_dir is None):
        idle = {"--data-dir": data_dir, "--part": part, "--ray": ray, "--jobs": None if jobs == 1 else jobs}
        for option, value in idle.items():
            if value is not None and merge:
                raise InputError(f"{option} has no effect with --merge, which runs nothing: leave out one of them")
            if value is not None:
                raise InputError(f"{option} has no effect without --data-dir, as {table} then runs nothing: add it")
        runs = merge_results(asked, chosen, draws, file, merge or [], say)
    else:
        with GridProgress() as progress:
            runs = run_table(
                asked, data_dir, chosen, draws, file, part_of(part, progress.note),
                precision=precision, jobs=jobs, ray=ray, display=progress,
            )  # fmt: skip
    if pictures is not None and asked.pictures is not None:
        with whole_folder(pictures) as folder:
            names = list(asked.pictures(runs, folder))
        say(f"{pictures}: {', '.join(names)}, each as png and svg")


def asked_table(
    name: str, model: str | None, rows: str | None, method: str | None, pictures: Path | None
) -> Table[Any]:
    """The table with the encoder, rows and method that are asked for; checked before hours of runs."""
    from salience.files import check_folder
    from salience.models.loading import load_configuration
    from salience.papers.tables import TABLES

    table = TABLES[name]()
    asked = {
        "of_model": ("--model", model), "resized": ("--rows", rows), "of_method": ("--method", method),
        "pictures": ("--pictures", pictures),
    }  # fmt: skip
    for field, (option, value) in asked.items():
        if value is not None and getattr(table, field) is None:
            able = [other for other, load in TABLES.items() if getattr(load(), field) is not None]
            raise InputError(f"{option}: {name} does not take it; these tables do: {listed(able)}")
    if model is not None:
        load_configuration(model)
        table = table.of_model(model)
    if rows is not None:
        sizes = numbers(rows, ",", "--rows 200,500")
        if min(sizes) < 1:
            raise InputError(f"--rows {rows}: a training set has at least one row")
        table = table.resized(sizes)
    if method is not None:
        table = table.of_method(method)
    if pictures is not None:
        check_folder(pictures, overwrite=True)
    return table
