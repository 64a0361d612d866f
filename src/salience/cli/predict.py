"""`salience predict`: labels and probabilities for any number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, Part, Precision, Ray, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["text", "text_pair", "encoding", "max_length", "device"], unset=AS_IN_TRAINING)
def predict(
    model: Model,
    data: Annotated[str, Argument(help="Texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")],
    *,
    settings: Mapping[str, Any],
    output: Annotated[
        Path | None,
        Option(
            help="File to write: .csv, .jsonl or .parquet; of a part, OUTPUT-2-of-8.csv beside it.  "
            "[default: csv to standard output]",
        ),
    ] = None,
    window: Annotated[int, Option(help="Number of rows held in memory at a time.")] = 8192,
    precision: Precision = "auto",
    prefix: Annotated[str, Option(help="Prefix of the names of the added columns.")] = "",
    safe_csv: Annotated[
        bool, Option("--safe-csv", help="Put an apostrophe before csv cells that a spreadsheet would run as formulas.")
    ] = False,
    no_abstain: Annotated[
        bool, Option("--no-abstain", help="Decide every text, also if the run has thresholds (--target-precision).")
    ] = False,
    threshold: Annotated[
        float | None,
        Option(
            help="Abstain where the highest probability is not above this. Where a text can have several labels, "
            "predict those with at least this probability.  [default: the thresholds of the run]"
        ),
    ] = None,
    sets: Annotated[
        float | None,
        Option(
            metavar="LEVEL",
            help="Add sets of labels that hold the right one with this probability, such as 0.9; "
            "needs a run with an estimate.  [default: none]",
        ),
    ] = None,
    part: Part = None,
    ray: Ray = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing output file.")] = False,
    debug: Debug = False,
) -> None:
    """Predict a label for each row, in the order of the rows and in bounded memory."""
    from salience.commands.predict import predict_file

    predict_file(
        model, data, output, window=window, precision=precision, prefix=prefix, safe_csv=safe_csv,
        part=part, ray=ray, overwrite=overwrite, abstain=not no_abstain, threshold=threshold, sets=sets, **settings,
    )  # fmt: skip
