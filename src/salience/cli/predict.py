"""`salience predict`: labels and probabilities for any number of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def predict(
    model: Annotated[str, Argument(help="A folder that `salience train` wrote, or any trained classifier.")],
    data: Annotated[str, Argument(help="Texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")],
    output: Annotated[Path | None, Option(help="A csv, jsonl or parquet file. [csv to standard output]")] = None,
    text: Annotated[str | None, Option(help="Column of the text. [as in training, or guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [as in training, or guessed]")] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    max_length: Annotated[int | None, Option(help="Tokens read of a text. [what the model was trained on]")] = None,
    window: Annotated[int, Option(help="Rows held in memory and sorted by length together.")] = 8192,
    precision: Annotated[str, Option(help="fp32, bf16, or auto: bf16 where a GPU has it.")] = "auto",
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    prefix: Annotated[str, Option(help="Put before the names of the columns that are added.")] = "",
    safe_csv: Annotated[
        bool,
        Option("--safe-csv", help="Put an apostrophe before csv cells that spreadsheets would run."),
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the output file.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Predict the label of every row, in the rows' order and in bounded memory."""
    from salience.commands.predict import predict_file

    predict_file(
        model, data, output, text=text, text_pair=text_pair, encoding=encoding, max_length=max_length,
        window=window, precision=precision, device=device, overwrite=overwrite, prefix=prefix,
        safe_csv=safe_csv,
    )  # fmt: skip
