"""`salience analyse pos`: attention by part of speech."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["text", "encoding"], into="columns")
@options_of(Recipe, names=["max_length", "seed", "device"], unset=AS_IN_TRAINING)
def pos(
    model: Annotated[str, Argument(help="Trained classifier with a transformer encoder.")],
    data: Annotated[str, Argument(help="Texts, as for `salience predict`.")],
    heads: Annotated[
        str,
        Option(help="Heads as LAYER:HEAD, separated by commas, counted from 0; LAYER alone is the mean of its heads."),
    ] = "0",
    tagger: Annotated[
        str | None,
        Option(help="spaCy pipeline, or a Python function as module:function.  [default: en_core_web_sm]"),
    ] = None,
    tags: Annotated[
        str | None, Option(help="Column with a tag for each word, separated by spaces, in place of a tagger.")
    ] = None,
    words: Annotated[bool, Option("--words", help="Sum the attention of the tokens of each word first.")] = False,
    sums: Annotated[
        bool, Option("--sums", help="Multiply attention by the length of the text, so that long texts weigh as much.")
    ] = False,
    most: Annotated[int | None, Option(help="Read only the first N texts.  [default: all]")] = None,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path, Option(help="Folder to write.")] = Path("pos"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing analysis in the folder.")] = False,
    debug: Debug = False,
) -> None:
    """Parts of speech that attention heads attend to (AttentionMix, section 6.5), also in mixtures of two texts."""
    from salience.commands.analyse.parts_of_speech import analyse_parts_of_speech
    from salience.files import check_folder

    check_folder(output, overwrite)
    analyse_parts_of_speech(
        model, data, heads=heads, tagger=tagger, tags=tags, words=words, sums=sums, most=most, columns=columns,
        output=output, **settings,
    )  # fmt: skip
