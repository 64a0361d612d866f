"""`salience export`: a trained classifier for programs that run without torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["text", "text_pair", "label", "encoding"], into="columns", unset=AS_IN_TRAINING)
@options_of(Recipe, names=["max_length"], unset=AS_IN_TRAINING)
def export(
    model: Model,
    to: Annotated[str, Option(help="Format: onnx.")] = "onnx",
    int8: Annotated[
        bool, Option("--int8", help="Round weights and what is multiplied with them to 8 bits: smaller and faster.")
    ] = False,
    check: Annotated[
        str | None,
        Option(help="Texts on which the export is compared with the original.  [default: the run's test data]"),
    ] = None,
    accept: Annotated[
        bool, Option("--accept", help="Write the export even if --int8 changes more than 1 % of the labels.")
    ] = False,
    *,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    output: Annotated[Path | None, Option(help="Folder to write.  [default: RUN-onnx or RUN-onnx-int8]")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier export.")] = False,
    debug: Debug = False,
) -> None:
    """Export a trained classifier to ONNX, compare it with the original, and write a folder that `predict` reads."""
    from salience.commands.export import export_run

    export_run(
        model, to=to, int8=int8, check=check, accept=accept, output=output, overwrite=overwrite, columns=columns,
        **settings,
    )  # fmt: skip
