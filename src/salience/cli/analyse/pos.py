"""`salience analyse pos`: attention by part of speech."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def pos(
    model: Annotated[str, Argument(help="A trained classifier with a transformer inside.")],
    data: Annotated[str, Argument(help="Texts, as for `salience predict`.")],
    heads: Annotated[str, Option(help="LAYER:HEAD between commas, from 0; a layer alone is its heads' mean.")] = "0",
    tagger: Annotated[
        str | None, Option(help="A spaCy pipeline, or your own function as module:function. [en_core_web_sm]")
    ] = None,
    tags: Annotated[str | None, Option(help="A column with ready-made tags, one a word between spaces.")] = None,
    words: Annotated[bool, Option("--words", help="Sum word pieces to words first.")] = False,
    sums: Annotated[bool, Option("--sums", help="Times the text's length: long texts do not weigh less.")] = False,
    most: Annotated[int | None, Option(help="Only so many texts, the first ones. [all]")] = None,
    text: Annotated[str | None, Option(help="Column of the text. [guessed]")] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    max_length: Annotated[int | None, Option(min=1, help="Tokens read of a text.")] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    seed: Annotated[int, Option(min=0, help="Of the pairs whose mixtures are looked at.")] = 0,
    output: Annotated[Path, Option(help="Folder to write.")] = Path("pos"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier analysis there.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Which parts of speech attention heads look at (AttentionMix, section 6.5), also on the partner's side."""
    from salience.commands.analyse.parts_of_speech import analyse_parts_of_speech
    from salience.outputs import check_folder

    check_folder(output, overwrite)
    analyse_parts_of_speech(
        model, data, heads=heads, tagger=tagger, tags=tags, words=words, sums=sums, most=most, max_length=max_length,
        columns={"text": text, "encoding": encoding}, device=device, seed=seed, output=output,
    )  # fmt: skip
