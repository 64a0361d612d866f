"""`salience describe`: a classifier from descriptions of its labels, without labelled texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import Debug, options_of
from salience.training.recipe import Recipe


@options_of(
    Recipe, names=["text", "label", "encoding"], into="columns", unset=dict.fromkeys(("text", "label"), "guessed")
)
@options_of(Recipe, names=["max_length", "device"])
def describe(
    labels: Annotated[str, Argument(help="Yaml file with a text or a list of texts for each label.")],
    model: Annotated[
        str, Option(help="Encoder that was trained for sentence vectors: minilm, a folder, or a name on the hub.")
    ] = "minilm",
    test: Annotated[str | None, Option(help="Labelled texts, to measure the classifier.  [default: none]")] = None,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path | None, Option(help="Folder to write.  [default: runs/LABELS-described]")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier classifier of this command.")] = False,
    debug: Debug = False,
) -> None:
    """Make a classifier from descriptions of its labels, without labelled texts, and write a plain checkpoint."""
    from salience.commands.describe import describe_labels

    describe_labels(labels, model, test, output, overwrite=overwrite, columns=columns, **settings)
