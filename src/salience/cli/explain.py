"""`salience explain`: the words that a decision rests on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, Pieces, Precision, catalogue, help_of, options_of
from salience.settings import comma_separated, settings_of
from salience.training.recipe import Recipe


def explainer_rows() -> list[tuple[str, str]]:
    """The explainers with what their scores are."""
    from inspect import getdoc

    from salience.explainers import EXPLAINERS

    rows = [(name, (getdoc(explainer) or "").split("\n")[0]) for name, explainer in EXPLAINERS.items()]
    return [*rows, ("captum:NAME", "A method of the package captum.")]


@options_of(Recipe, names=["text_pair", "label", "encoding"], into="columns", unset=AS_IN_TRAINING)
@options_of(Recipe, names=["max_length", "device"], unset=AS_IN_TRAINING)
def explain(
    model: Model,
    data: Annotated[str | None, Argument(help="Texts to explain, as for `salience predict`.")] = None,
    text: Annotated[list[str] | None, Option("--text", help="Text to explain, instead of a file; repeatable.")] = None,
    explainer: Annotated[
        str, Option(help="Explainers that --list-explainers prints, separated by commas.")
    ] = "gradient",
    list_explainers: Annotated[bool, catalogue("--list-explainers", "explainers", explainer_rows)] = False,
    target: Annotated[
        str,
        Option(
            help="Class to explain: predicted, gold (the label in the data), or the name of a label. Where a text can "
            "have several labels, each predicted or right one is explained."
        ),
    ] = "predicted",
    layer: Annotated[
        int | None, Option(help="Layer of the attention explainers; 0 is the first, -1 the last.  [default: -1]")
    ] = None,
    head: Annotated[
        int | None, Option(help="Head of the attention explainers.  [default: the mean of the layer's heads]")
    ] = None,
    pieces: Pieces = "sum",
    precision: Precision = "auto",
    text_column: Annotated[
        str | None, Option(help=help_of(settings_of(Recipe)["text"], AS_IN_TRAINING["text"]))
    ] = None,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path | None, Option(help="File to write: .jsonl or .html.  [default: the terminal]")] = None,
    format_: Annotated[
        str | None,
        Option("--format", help="Output format: terminal, jsonl or html.  [default: by the name of the output file]"),
    ] = None,
    most: Annotated[int | None, Option(help="Explain only the first N texts of the file.  [default: all]")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing output file.")] = False,
    debug: Debug = False,
) -> None:
    """Show the words that a decision rests on, in the terminal, as JSON lines, or as one self-contained page."""
    from salience.commands.explain import explain_file

    explain_file(
        model, data, text or [], output, explainers=comma_separated(explainer), target=target, layer=layer, head=head,
        pieces=pieces, precision=precision, kind=format_, most=most, overwrite=overwrite,
        columns={**columns, "text": text_column, "text_option": "--text-column"}, **settings,
    )  # fmt: skip
