"""`salience analyse attention`: attention and polarity of words by class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.errors import InputError


def attention(
    data: Annotated[str, Argument(help="Labelled training texts, as for `salience train`.")],
    test: Annotated[str | None, Option(help="Test texts, for attention weights and accuracy.")] = None,
    model: Annotated[
        str | None, Option(help="A trained attention classifier; without one, one is trained for every scale.")
    ] = None,
    pooling: Annotated[str, Option(help="Of those trained: dot or additive.")] = "dot",
    encoder: Annotated[str, Option(help="Of those trained: embeddings, affine or lstm.")] = "embeddings",
    embeddings: Annotated[str | None, Option(help="Their initial embeddings: a file, or minilm.")] = None,
    scales: Annotated[str, Option(help="Between commas; the pictures of one model show the first.")] = "10",
    epochs: Annotated[int, Option(help="Of training.")] = 40,
    batch_size: Annotated[int, Option(help="Of training.")] = 100,
    alignment: Annotated[float, Option(min=0, help="The price of |V^T W| in training.")] = 0.0,
    seed: Annotated[int, Option(min=0)] = 0,
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
    from salience.data.writing import check_free
    from salience.report.pictures import check_pictures

    check_pictures()
    check_free(output, overwrite)

    from salience.models.attention_models import AttentionOptions
    from salience.models.loading import load_trained
    from salience.report.attention_page import write_page
    from salience.report.attention_pictures import draw_all
    from salience.study.attention import analyse, sweep
    from salience.study.datasets import from_files
    from salience.study.running import numbers
    from salience.study.word_models import WordRecipe

    if model is not None:
        trained = load_trained(model)
    # Where nothing is trained, nothing need be held out.
    held_out = None if model is None else 0
    found = from_files(
        data, test, seed=seed, validation_share=held_out, encoding=encoding, bad_rows=bad_rows, text=text, label=label
    )
    try:
        if model is not None:
            analyses = [analyse(*trained, found, max_length)]
        else:
            options = AttentionOptions(encoder, pooling, embeddings=embeddings)
            recipe = WordRecipe(epochs=epochs, batch_size=batch_size, alignment=alignment)
            analyses = sweep(
                options, recipe, found, numbers(scales, ",", "--scales 1,10,100", float), seed, max_length
            )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot analyse this model: {error}") from error
    output.mkdir(parents=True, exist_ok=True)
    pictures = draw_all(analyses, found.labels, 0, output)
    write_page(analyses, found.labels, 0, pictures, f"Attention on {Path(data).name}", output)
    print(f"saved: {output}/index.html, words.csv, summary.json and {len(pictures)} pictures")
