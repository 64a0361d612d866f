"""`salience suggest`: which texts without labels to label next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, Precision, catalogue, options_of
from salience.training.recipe import Recipe


def strategies() -> list[tuple[str, str]]:
    """The names of the strategies and their papers, the default first."""
    from salience.suggestions import DEFAULT, STRATEGIES

    return [(name, strategy.reference + "  [default]" * (name == DEFAULT)) for name, strategy in STRATEGIES.items()]


@options_of(
    Recipe, names=["text", "text_pair", "encoding", "max_length", "seed", "device"],
    unset=AS_IN_TRAINING | {"seed": "0, of a strategy that draws"},
)  # fmt: skip
def suggest(
    model: Model,
    pool: Annotated[
        str, Argument(help="Texts without labels: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")
    ],
    *,
    settings: Mapping[str, Any],
    count: Annotated[int, Option(help="Number of texts to suggest.")] = 50,
    strategy: Annotated[
        str | None, Option(help="How texts are chosen; see --list-strategies.  [default: the best on average]")
    ] = None,
    list_strategies: Annotated[bool, catalogue("--list-strategies", "strategies", strategies)] = False,
    output: Annotated[
        Path | None,
        Option(help="File to write: .csv, .jsonl or .parquet.  [default: csv to standard output]"),
    ] = None,
    window: Annotated[int, Option(help="Number of rows read at a time.")] = 8192,
    precision: Precision = "auto",
    prefix: Annotated[str, Option(help="Prefix of the names of the added columns.")] = "",
    safe_csv: Annotated[
        bool, Option("--safe-csv", help="Put an apostrophe before csv cells that a spreadsheet would run as formulas.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing output file.")] = False,
    debug: Debug = False,
) -> None:
    """Choose the texts whose labels would help a trained classifier most, for a person to label."""
    from salience.commands.suggest import suggest_file

    suggest_file(
        model, pool, output, count=count, strategy=strategy, window=window, precision=precision, prefix=prefix,
        safe_csv=safe_csv, overwrite=overwrite, **settings,
    )  # fmt: skip
