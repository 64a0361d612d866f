"""`salience faithfulness`: whether an explanation is true."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def faithfulness(
    model: Annotated[str, Argument(help="The trained classifier whose explanations are tested.")],
    data: Annotated[str, Argument(help="Labelled texts that it was not trained on.")],
    judge: Annotated[str | None, Option(help="Another trained classifier, which judges. [the model itself]")] = None,
    explainer: Annotated[str | None, Option(help="Some, between commas; random always. [all that fit]")] = None,
    pieces: Annotated[str, Option(help="What a word's score is of its tokens': sum or max.")] = "sum",
    most: Annotated[int, Option(help="Words go one by one, up to this many.")] = 20,
    at: Annotated[int, Option(help="For how many words single numbers are given.")] = 5,
    rows: Annotated[int | None, Option(help="Only so many texts, the first ones. [all]")] = None,
    text: Annotated[str | None, Option(help="Column of the text. [as in training, or guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [as in training, or guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [as in training, or guessed]")] = None,
    marks: Annotated[
        str | None, Option(help="Column with a label for every word, as people have marked them; P, R, F1 of these.")
    ] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    max_length: Annotated[int | None, Option(min=1, help="Tokens read of a text.")] = None,
    seed: Annotated[int, Option(min=0, help="Of all that is drawn at random.")] = 0,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    output: Annotated[Path | None, Option(help="A folder for a JSON file and a page.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace what is there.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Test explanations: take out the words that are said to matter, and see what a judge decides then."""
    from salience.commands.faithfulness import check_explanations

    check_explanations(
        model, data, judge=judge, explainers=None if explainer is None else explainer.split(","), most=most, at=at,
        rows=rows, seed=seed, device=device, output=output, overwrite=overwrite, max_length=max_length,
        columns={"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}, marks=marks,
        pieces=pieces,
    )  # fmt: skip
