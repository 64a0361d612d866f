"""`salience analyse channels`: the channels of the embeddings that matter for each class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["text", "text_pair", "label", "encoding"], into="columns", unset=AS_IN_TRAINING)
@options_of(Recipe, names=["max_length", "device"], unset=AS_IN_TRAINING)
def channels(
    model: Model,
    data: Annotated[str, Argument(help="Labelled texts, usually the training texts.")],
    ratio: Annotated[float, Option(help="Fraction of the channels that is selected, lambda in DropMix.")] = 0.1,
    top: Annotated[int, Option(min=1, help="Number of channels of each class whose words are listed.")] = 3,
    sentence: Annotated[
        str | None, Option(help="Text whose patches are drawn, for the four window shapes of DropMix.")
    ] = None,
    most: Annotated[int | None, Option(help="Read only the first N texts.  [default: all]")] = None,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path, Option(help="Folder to write.")] = Path("channels"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing analysis in the folder.")] = False,
    debug: Debug = False,
) -> None:
    """How often each channel matters to each class, and the words it reacts to (DropMix, section 5.7)."""
    from salience.commands.analyse.channels import analyse_channels
    from salience.files import check_folder

    check_folder(output, overwrite)
    analyse_channels(
        model, data, ratio=ratio, top=top, sentence=sentence, most=most, columns=columns, output=output, **settings
    )
