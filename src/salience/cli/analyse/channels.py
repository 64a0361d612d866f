"""`salience analyse channels`: which channels of the embeddings matter for which class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def channels(
    model: Annotated[str, Argument(help="A trained classifier.")],
    data: Annotated[str, Argument(help="Labelled texts, usually those it was trained on.")],
    ratio: Annotated[float, Option(help="The part of the channels that is selected, DropMix's lambda.")] = 0.1,
    top: Annotated[int, Option(min=1, help="Channels of a class whose words are listed.")] = 3,
    sentence: Annotated[str | None, Option(help="A text whose patches are drawn, in four shapes.")] = None,
    most: Annotated[int | None, Option(help="Only so many texts, the first ones. [all]")] = None,
    text: Annotated[str | None, Option(help="Column of the text. [as in training, or guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [as in training, or guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [as in training, or guessed]")] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    max_length: Annotated[int | None, Option(min=1, help="Tokens read of a text.")] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    output: Annotated[Path, Option(help="Folder to write.")] = Path("channels"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier analysis there.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """How often each channel matters to each class, and the words it reacts to (DropMix, section 5.7)."""
    from salience.commands.analyse.channels import analyse_channels
    from salience.outputs import check_folder

    check_folder(output, overwrite)
    analyse_channels(
        model, data, ratio=ratio, top=top, sentence=sentence, most=most, max_length=max_length, device=device,
        columns={"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}, output=output,
    )  # fmt: skip
