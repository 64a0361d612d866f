"""`salience explain`: which words decided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option
from typer.core import TyperCommand


class ListsExplainers(TyperCommand):
    """A command whose help ends with the catalogue of explainers. The catalogue is imported only for the help."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the name of each explainer and what its scores are."""
        from inspect import getdoc

        from salience.explainers import EXPLAINERS

        with formatter.section("Explainers"):
            rows = [(name, (getdoc(explainer) or "").split("\n")[0]) for name, explainer in EXPLAINERS.items()]
            formatter.write_dl([*rows, ("captum:NAME", "A method of the package captum.")])


def explain(
    model: Annotated[str, Argument(help="A folder that `salience train` wrote, or any trained classifier.")],
    data: Annotated[str | None, Argument(help="Texts to explain, as for `salience predict`.")] = None,
    text: Annotated[list[str] | None, Option("--text", help="A text to explain; repeatable.")] = None,
    explainer: Annotated[
        str,
        Option(help="Explainers of the list below, separated by commas."),
    ] = "gradient",
    target: Annotated[str, Option(help="The class to explain: predicted, gold, or a label.")] = "predicted",
    layer: Annotated[int | None, Option(help="Of attention: 0 is the first, negative ones count back. [-1]")] = None,
    head: Annotated[int | None, Option(help="Of attention. [the mean over heads]")] = None,
    pieces: Annotated[str, Option(help="What a word's score is of its tokens': sum or max.")] = "sum",
    output: Annotated[Path | None, Option(help="A .jsonl or .html file. [the terminal]")] = None,
    format_: Annotated[str | None, Option("--format", help="terminal, jsonl or html. [by the file's name]")] = None,
    most: Annotated[int | None, Option(help="Texts explained of a file. [all]")] = None,
    text_column: Annotated[str | None, Option(help="Column of the text. [as in training, or guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [as in training, or guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label, if any. [as in training, or guessed]")] = None,
    encoding: Annotated[str, Option(help="How csv and tsv files are written.")] = "utf-8",
    max_length: Annotated[int | None, Option(min=1, help="Tokens read of a text.")] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the output file.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:  # fmt: skip
    """Show which words decided, in the terminal, as JSON lines, or as one self-contained page."""
    from salience.commands.explain import explain_file

    explain_file(
        model, data, text or [], output, explainers=explainer.split(","), target=target, layer=layer, head=head,
        pieces=pieces, kind=format_, most=most, device=device, overwrite=overwrite, max_length=max_length,
        columns={"text": text_column, "text_pair": text_pair, "label": label, "encoding": encoding,
                 "text_option": "--text-column"},
    )  # fmt: skip
