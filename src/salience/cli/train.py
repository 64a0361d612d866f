"""`salience train`: labelled texts in, a trained and checked classifier out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.assignments import assigned
from salience.cli.options import options_of
from salience.cli.settings import grouped, merged, read_config
from salience.settings import settings_of
from salience.training.procedures import Standard, Turns
from salience.training.recipe import Recipe

NAMES = [name for name, own in settings_of(Recipe).items() if own.default != {} and name != "data"]
OF_PROCEDURES = [*settings_of(Turns), *settings_of(Standard)]


@options_of(Recipe, Turns, Standard, names=[*NAMES, *OF_PROCEDURES])
def train(
    given: Mapping[str, Any],
    data: Annotated[
        str | None, Argument(help="Labelled texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")
    ] = None,
    encoder: Annotated[
        str | None, Option(help="Attention models: embeddings, affine, lstm, or a transformer. [minilm]")
    ] = None,
    scale: Annotated[float | None, Option(help="Attention models: divisor of the attention scores. [1]")] = None,
    embeddings: Annotated[
        str | None, Option(help="Attention models: initial word vectors, a file in GloVe's text format, or minilm.")
    ] = None,
    set_model: Annotated[
        list[str] | None, Option("--set-model", help="Attention models: another field, as width=200; repeatable.")
    ] = None,
    set_: Annotated[
        list[str] | None, Option("--set", help="A field of the method, as window=0.2; repeatable.")
    ] = None,
    config: Annotated[Path | None, Option(help="A yaml file of these settings. The command line wins.")] = None,
    output: Annotated[Path | None, Option(help="Folder to write. [runs/DATA-METHOD]")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier run of that name.")] = False,
    resume: Annotated[bool, Option("--resume", help="Go on with an interrupted run of that name.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Train a classifier and write it, with its scores, as a plain Hugging Face checkpoint."""
    named = {"encoder": encoder, "scale": scale, "embeddings": embeddings}
    of_model = {name: value for name, value in named.items() if value is not None} | assigned("--set-model", set_model)
    options = {"model_options": of_model, "method_options": assigned("--set", set_)}
    settings = ({} if data is None else {"data": data}) | grouped(given, {"procedure_options": OF_PROCEDURES})
    settings = merged(read_config(config), settings | {name: own for name, own in options.items() if own})

    # From here on torch is needed, which takes a while to import.
    from accelerate import PartialState

    from salience.commands.train import show_run
    from salience.processes import is_main_process
    from salience.report.progress import Progress
    from salience.training.run import train as run_training

    with Progress() as progress:
        recipe = Recipe.from_mapping(settings, str(config or "the command line"), progress.note)
        if output is None:
            stem = Path(recipe.data).name.split(".")[0] or "run"
            output = Path("runs") / f"{stem}-{recipe.method}"
        run = run_training(
            recipe, output, overwrite, resume, note=progress.note, callbacks=[progress.callback], config=config
        )
    if is_main_process():
        show_run(run)
    PartialState().destroy_process_group()  # a process that ends while its threads still talk to others is aborted
