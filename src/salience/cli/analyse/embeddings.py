"""`salience analyse embeddings`: how well a model's vectors of texts separate the classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["text", "text_pair", "label", "encoding"], into="columns", unset=AS_IN_TRAINING)
@options_of(Recipe, names=["max_length", "seed", "device"], unset=AS_IN_TRAINING)
def embeddings(
    model: Model,
    data: Annotated[str, Argument(help="Labelled texts that the classifier was not trained on.")],
    beside: Annotated[
        list[str] | None, Option(help="Another trained classifier, to compare with the first; repeatable.")
    ] = None,
    most: Annotated[int, Option(help="Number of texts, drawn at random, at most.")] = 1000,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path, Option(help="Folder to write.")] = Path("embeddings"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing analysis in the folder.")] = False,
    debug: Debug = False,
) -> None:
    """t-SNE maps of texts, and the silhouette of the classes before the projection (VAT, Figures 3 and 6)."""
    from salience.commands.analyse.embeddings import analyse_embeddings
    from salience.files import check_folder

    check_folder(output, overwrite)
    analyse_embeddings([model, *(beside or [])], data, most=most, columns=columns, output=output, **settings)
