"""`salience analyse attention`: attention and polarity of words by class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def attention(
    data: Annotated[str, Argument(help="Labelled training texts, as for `salience train`.")],
    test: Annotated[str | None, Option(help="Test texts, for attention weights and accuracy.")] = None,
    model: Annotated[
        str | None, Option(help="A trained attention classifier; without one, one is trained for every scale.")
    ] = None,
    pooling: Annotated[str | None, Option(help="Of those trained: dot or additive. [dot]")] = None,
    encoder: Annotated[str | None, Option(help="Of those trained: embeddings, affine or lstm. [embeddings]")] = None,
    embeddings: Annotated[str | None, Option(help="Their initial embeddings: a file, or minilm. [random]")] = None,
    scales: Annotated[
        str | None, Option(help="Between commas; words.csv and the pictures of one model show the first. [10]")
    ] = None,
    epochs: Annotated[int | None, Option(min=1, help="Of training. [40]")] = None,
    batch_size: Annotated[int | None, Option(min=1, help="Of training. [100]")] = None,
    alignment: Annotated[float | None, Option(min=0, help="The price of |V^T W| in training. [0]")] = None,
    alignment_form: Annotated[str | None, Option(help="absolute or square. [absolute]")] = None,
    seed: Annotated[int | None, Option(min=0, help="Of training. [0]")] = None,
    text: Annotated[str | None, Option(help="Column of the text. [guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [guessed]")] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    bad_rows: Annotated[str, Option(help="Rows without text or label: error or skip.")] = "error",
    max_length: Annotated[int, Option(min=1, help="Tokens read of a text.")] = 400,
    output: Annotated[Path, Option(help="Folder to write.")] = Path("analysis"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier analysis there.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Attention and polarity scores of words by class: a table, pictures and a page (Sun and Lu, ACL 2020)."""
    from salience.outputs import check_folder

    check_folder(output, overwrite)

    from salience.commands.analyse.attention import analyse_attention

    training = {"pooling": pooling, "encoder": encoder, "embeddings": embeddings, "scales": scales, "epochs": epochs,
                "batch_size": batch_size, "alignment": alignment, "alignment_form": alignment_form,
                "seed": seed}  # fmt: skip
    analyse_attention(
        data, test, model, {name: value for name, value in training.items() if value is not None},
        max_length=max_length, output=output,
        reading={"text": text, "label": label, "encoding": encoding, "bad_rows": bad_rows},
    )  # fmt: skip
