"""`salience reproduce`: a paper's table in, its runs in a results file, the printed table and pictures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.errors import InputError, listed, unknown
from salience.files import check_folder, whole_folder
from salience.papers.tables import TABLES, Table
from salience.processes import part_of
from salience.settings import comma_separated, numbers


def reproduce(
    name: str,
    data_dir: Path | None = None,
    sets: str | None = None,
    seeds: str = "0",
    rows: str | None = None,
    model: str | None = None,
    results: Path | None = None,
    part: str | None = None,
    pictures: Path | None = None,
    precision: str = "auto",
    jobs: int = 1,
    ray: str | None = None,
    merge: Sequence[Path] = (),
) -> None:
    """Runs what the results file lacks of a table, prints the table beside the published one and draws its pictures.

    With `merge` nothing is run, and what the results file still lacks is listed.

    Args:
        name: A table of `TABLES`.
        data_dir: A folder of data sets; None reads them from the hub.
        sets: Data sets of the table, separated by commas; None for all.
        seeds: Numbers from 0, separated by commas.
        rows: Numbers of training rows, separated by commas, for a table that compares methods on drawn training sets;
            None for the table's own.
        model: The encoder, for a table that compares methods on one: "minilm", a folder, or a model of the hub; None
            for the table's own.
        results: The results file; None for results/NAME.jsonl.
        part: "K/N", to run the K-th of N parts of the cells; None for that of a Slurm array's task, else all cells.
        pictures: The folder for pictures; None draws none.
        precision: Number format in which transformers are trained: "auto", "fp32" or "bf16".
        jobs: Number of cells that are run at the same time.
        ray: Address of a Ray cluster; None for this machine.
        merge: Results files whose runs are added to the results file, where it lacks them.

    Raises:
        InputError: The table, a data set or an option is unknown, or the results or pictures cannot be written.
    """
    if name not in TABLES:
        raise unknown("table", name, TABLES)
    # These import torch, which a misspelt name should not wait for.
    from salience.papers.table import merge_results, run_table
    from salience.report.terminal import GridProgress, say

    table = asked_table(name, model, rows, pictures)
    file = results or Path("results") / f"{name}.jsonl"
    chosen = None if sets is None else comma_separated(sets)
    draws = numbers(seeds, ",", "--seeds 0,1,2")
    if merge:
        check_idle({"--data-dir": data_dir, "--part": part, "--ray": ray, "--jobs": None if jobs == 1 else jobs})
        runs = merge_results(table, chosen, draws, file, merge, say)
    else:
        with GridProgress() as progress:
            runs = run_table(
                table, data_dir, chosen, draws, file, part_of(part, progress.note),
                precision=precision, jobs=jobs, ray=ray, display=progress,
            )  # fmt: skip
    if pictures is not None and table.pictures is not None:
        with whole_folder(pictures) as folder:
            names = list(table.pictures(runs, folder))
        say(f"{pictures}: {', '.join(names)}, each as png and svg")


def asked_table(name: str, model: str | None, rows: str | None, pictures: Path | None) -> Table[Any]:
    """The table with the encoder and the numbers of rows that are asked for.

    What it cannot do is refused here, before hours of runs.

    Raises:
        InputError: the table does not take an option, or a value is invalid.
    """
    from salience.models.loading import load_configuration

    table = TABLES[name]()
    if model is not None:
        if table.of_model is None:
            raise InputError(f"--model: {name} has models of its own; these tables take another: {having('of_model')}")
        load_configuration(model)
        table = table.of_model(model)
    if rows is not None:
        if table.resized is None:
            raise InputError(f"--rows: {name} has one number of rows; these tables vary it: {having('resized')}")
        sizes = numbers(rows, ",", "--rows 200,500")
        if min(sizes) < 1:
            raise InputError(f"--rows {rows}: a training set has at least one row")
        table = table.resized(sizes)
    if pictures is not None:
        if table.pictures is None:
            raise InputError(f"--pictures: {name} has none; these tables have some: {having('pictures')}")
        check_folder(pictures, overwrite=True)
    return table


def check_idle(options: Mapping[str, object]) -> None:
    """Raises an `InputError` for an option that was given beside --merge; its value is None if it was not."""
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} has no effect with --merge, which runs nothing: leave out one of them")


def having(field: str) -> str:
    """The names of the tables that have an optional field."""
    return listed([name for name, load in TABLES.items() if getattr(load(), field) is not None])
