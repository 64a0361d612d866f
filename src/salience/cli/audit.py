"""`salience audit`: finds what may be wrong with labelled texts, and applies what a person decides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import Debug, options_of
from salience.training.recipe import Recipe

NAMES = ["text", "text_pair", "label", "label_separator", "group", "encoding", "bad_rows", "model", "max_length",
         "precision", "seed", "device"]  # fmt: skip


@options_of(Recipe, names=NAMES, into="given", only_given=True)
def audit(
    data: Annotated[
        str, Argument(help="Labelled texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")
    ],
    *,
    given: Mapping[str, Any],
    test: Annotated[
        str | None, Option(help="Test rows, which are searched for near-duplicates of the data.  [default: none]")
    ] = None,
    run: Annotated[
        str | None,
        Option(help="Run on the same data, whose estimate says which labels are wrong.  [default: a regression on the "
               "vectors of the frozen encoder]"),
    ] = None,
    fine_tune: Annotated[
        bool, Option("--fine-tune", help="Train a model for each fold by the default recipe; it takes longer.")
    ] = False,
    folds: Annotated[
        int | None, Option(help="Number of folds of the regression or the training.  [default: 5]")
    ] = None,
    similarity: Annotated[
        float | None, Option(help="Cosine from which on texts are near-duplicates.  [default: 0.95]")
    ] = None,
    explain: Annotated[
        bool,
        Option("--explain", help="Also list the words by which a classifier decides: the model of --run, or the "
               "regression on the vectors of the encoder."),
    ] = False,
    apply: Annotated[
        str | None,
        Option(metavar="DECISIONS", help="Write a corrected copy of the data by this file, decisions.csv with its "
               "column decision filled in: relabel, delete or keep.  [default: none]"),
    ] = None,
    output: Annotated[
        Path | None,
        Option(help="Folder to write; with --apply, the corrected copy.  [default: runs/DATA-audit]"),
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace an existing audit or copy.")
    ] = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Find likely wrong labels, near-duplicates, outliers, classes that are alike, and words that give labels away."""
    from salience.commands.apply_decisions import apply_decisions
    from salience.commands.audit import audit_file

    if apply is not None:
        others = {"--test": test, "--run": run, "--fine-tune": fine_tune or None, "--folds": folds,
                  "--similarity": similarity, "--explain": explain or None}  # fmt: skip
        apply_decisions(data, apply, output, overwrite, given, [name for name, value in others.items() if value])
        return
    audit_file(
        data, output, overwrite, given, test=test, run=run, fine_tune=fine_tune, folds=folds, similarity=similarity,
        explain=explain,
    )  # fmt: skip
