"""`salience predict`: labels and probabilities for any number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["text", "text_pair", "encoding", "max_length", "device"], unset=AS_IN_TRAINING)
def predict(
    model: Model,
    data: Annotated[str, Argument(help="Texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")],
    *,
    settings: Mapping[str, Any],
    output: Annotated[
        Path | None, Option(help="File to write: .csv, .jsonl or .parquet.  [default: csv to standard output]")
    ] = None,
    window: Annotated[int, Option(help="Number of rows held in memory at a time.")] = 8192,
    precision: Annotated[
        str, Option(help="Number format of the computation: fp32, bf16, or auto, which is bf16 on GPUs that have it.")
    ] = "auto",
    prefix: Annotated[str, Option(help="Prefix of the names of the added columns.")] = "",
    safe_csv: Annotated[
        bool, Option("--safe-csv", help="Put an apostrophe before csv cells that a spreadsheet would run as formulas.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing output file.")] = False,
    debug: Debug = False,
) -> None:
    """Predict a label for each row, in the order of the rows and in bounded memory."""
    from salience.commands.predict import predict_file

    predict_file(
        model, data, output, window=window, precision=precision, prefix=prefix, safe_csv=safe_csv,
        overwrite=overwrite, **settings,
    )  # fmt: skip
