"""`salience analyse attention`: attention and polarity of words by class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import Debug, options_of
from salience.papers.attention_classifiers.options import AttentionOptions
from salience.papers.uaftc.training import WordRecipe
from salience.training.recipe import Recipe

TRAINING = ["embeddings", "epochs", "batch_size", "alignment", "alignment_form", "seed"]
READING = ["text", "label", "encoding", "bad_rows", "max_length"]


@options_of(Recipe, AttentionOptions, WordRecipe, names=TRAINING, into="training", only_given=True)
@options_of(Recipe, names=READING, into="reading", defaults={"max_length": 400})
def attention(
    data: Annotated[str, Argument(help="Labelled training texts, as for `salience train`.")],
    test: Annotated[
        str | None, Option(help="Labelled test texts, on which attention weights and accuracy are measured.")
    ] = None,
    model: Annotated[
        str | None,
        Option(help="Trained attention classifier to analyse.  [default: one is trained for each scale]"),
    ] = None,
    pooling: Annotated[
        str | None, Option(help="Pooling of the trained classifiers: dot or additive.  [default: dot]")
    ] = None,
    encoder: Annotated[
        str | None,
        Option(help="Encoder of the trained classifiers: embeddings, affine or lstm.  [default: embeddings]"),
    ] = None,
    scales: Annotated[
        str | None,
        Option(
            help="Divisors of the attention scores, separated by commas; a classifier is trained with each, and the "
            "first one is shown in words.csv and the pictures.  [default: 10]"
        ),
    ] = None,
    *,
    training: Mapping[str, Any],
    reading: Mapping[str, Any],
    output: Annotated[Path, Option(help="Folder to write.")] = Path("analysis"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing analysis in the folder.")] = False,
    debug: Debug = False,
) -> None:
    """Attention and polarity scores of words by class, as a table, pictures and a page (Sun and Lu, ACL 2020)."""
    from salience.files import check_folder

    check_folder(output, overwrite)

    from salience.commands.analyse.attention import analyse_attention

    model_options = {"pooling": pooling, "encoder": encoder, "scales": scales}
    files = dict(reading)
    analyse_attention(
        data, test, model, {**training, **{name: value for name, value in model_options.items() if value is not None}},
        max_length=files.pop("max_length"), output=output, reading=files,
    )  # fmt: skip
