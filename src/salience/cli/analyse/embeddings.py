"""`salience analyse embeddings`: how a model's vectors of texts fall into classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def embeddings(
    model: Annotated[str, Argument(help="A trained classifier.")],
    data: Annotated[str, Argument(help="Labelled texts that it was not trained on.")],
    beside: Annotated[list[str] | None, Option(help="Another classifier to compare with; repeatable.")] = None,
    most: Annotated[int, Option(help="So many texts, drawn at random.")] = 1000,
    text: Annotated[str | None, Option(help="Column of the text. [as in training, or guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [as in training, or guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [as in training, or guessed]")] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    max_length: Annotated[int | None, Option(min=1, help="Tokens read of a text.")] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    seed: Annotated[int, Option(min=0, help="Of the texts that are drawn, and of the maps.")] = 0,
    output: Annotated[Path, Option(help="Folder to write.")] = Path("embeddings"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier analysis there.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """t-SNE maps of texts, and the silhouette of the classes before they are projected (VAT, Figures 3 and 6)."""
    from salience.commands.analyse.embeddings import analyse_embeddings
    from salience.outputs import check_folder

    check_folder(output, overwrite)
    analyse_embeddings(
        [model, *(beside or [])], data, most=most, max_length=max_length, device=device, seed=seed,
        columns={"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}, output=output,
    )  # fmt: skip
