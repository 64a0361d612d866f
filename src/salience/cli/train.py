"""`salience train`: a file of labelled texts in, a trained, saved, checked classifier out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli.settings import assigned, merged, read_config


def train(
    data: Annotated[
        str | None, Argument(help="Labelled texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")
    ] = None,
    test: Annotated[str | None, Option(help="Rows to test on; they never select anything.")] = None,
    validation: Annotated[str | None, Option(help="Rows to choose the checkpoint by. [split off]")] = None,
    validation_share: Annotated[
        float | None, Option(help="The part split off for that; 0 trains on everything. [0.2, of many rows 0.1]")
    ] = None,
    text: Annotated[str | None, Option(help="Column of the text. [guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [guessed]")] = None,
    encoding: Annotated[str | None, Option(help="How csv and tsv files are written. [utf-8]")] = None,
    bad_rows: Annotated[str | None, Option(help="Rows without text or label: error or skip. [error]")] = None,
    model: Annotated[
        str | None,
        Option(help="minilm, a folder, a name on the hub; attention:dot and its like, lstm-vat, ... [minilm]"),
    ] = None,
    encoder: Annotated[
        str | None, Option(help="Under attention: embeddings, affine, lstm, or a transformer. [minilm]")
    ] = None,
    scale: Annotated[float | None, Option(help="What attention's scores are divided by. [1]")] = None,
    embeddings: Annotated[
        str | None, Option(help="Initial word embeddings: a file in GloVe's text format, or minilm.")
    ] = None,
    set_model: Annotated[
        list[str] | None, Option("--set-model", help="Another field of an attention model, as width=200; repeatable.")
    ] = None,
    max_length: Annotated[
        int | None, Option(help="Tokens read of a text. [what the model reads, at most 512]")
    ] = None,
    method: Annotated[str | None, Option(help="plain, or one that `salience methods` lists. [ssmix]")] = None,
    set_: Annotated[
        list[str] | None, Option("--set", help="A field of the method, as window=0.2; repeatable.")
    ] = None,
    iterations: Annotated[int | None, Option(help="VAT: turns of compressor and learner. [3]")] = None,
    beta: Annotated[float | None, Option(help="VAT: the price of information. [0.1]")] = None,
    alignment: Annotated[float | None, Option(help="The price of |V^T W| of an attention model. [0]")] = None,
    alignment_form: Annotated[str | None, Option(help="absolute or square. [absolute]")] = None,
    clean: Annotated[float | None, Option(help="The part of the loss on the texts as they are. [0.5]")] = None,
    steps: Annotated[int | None, Option(help="Training steps. [follow the data]")] = None,
    batch_size: Annotated[int | None, Option(help="Texts in a step. [16, from 2,000 rows on 32]")] = None,
    accumulation: Annotated[int | None, Option(help="Pieces in which a step is computed, to save memory. [1]")] = None,
    learning_rate: Annotated[
        float | None, Option(help="Its highest value. [5e-5 * (768 / width)^2; over words 0.003]")
    ] = None,
    weight_decay: Annotated[float | None, Option(help="[0.01]")] = None,
    evaluations: Annotated[int | None, Option(help="How often validation is looked at. [20]")] = None,
    patience: Annotated[int | None, Option(help="Looks without a better one before training stops. [10]")] = None,
    class_weights: Annotated[str | None, Option(help="none, auto, or name=weight,name=weight. [none]")] = None,
    label_smoothing: Annotated[float | None, Option(help="[0]")] = None,
    seed: Annotated[int | None, Option(help="[0]")] = None,
    precision: Annotated[str | None, Option(help="fp32, bf16 or fp16. [fp32]")] = None,
    device: Annotated[str | None, Option(help="auto, cpu or cuda. [auto]")] = None,
    config: Annotated[Path | None, Option(help="A yaml file of these settings; the command line wins.")] = None,
    output: Annotated[Path | None, Option(help="Folder to write. [runs/DATA-METHOD]")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier run of that name.")] = False,
    resume: Annotated[bool, Option("--resume", help="Go on with an interrupted run of that name.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Train a classifier and write it, with its scores, as a plain Hugging Face checkpoint."""
    named = {"encoder": encoder, "scale": scale, "embeddings": embeddings}
    model_options = {name: value for name, value in named.items() if value is not None} | assigned(
        "--set-model", set_model
    )
    given = {
        "data": data, "test": test, "validation": validation, "validation_share": validation_share, "text": text,
        "text_pair": text_pair, "label": label, "encoding": encoding, "bad_rows": bad_rows, "model": model,
        "model_options": model_options or None, "max_length": max_length, "method": method,
        "method_options": assigned("--set", set_) or None, "clean": clean, "iterations": iterations, "beta": beta,
        "alignment": alignment, "alignment_form": alignment_form, "steps": steps, "batch_size": batch_size,
        "accumulation": accumulation, "learning_rate": learning_rate, "weight_decay": weight_decay,
        "evaluations": evaluations, "patience": patience, "class_weights": class_weights,
        "label_smoothing": label_smoothing, "seed": seed, "precision": precision, "device": device,
    }  # fmt: skip
    settings = merged(read_config(config), {name: value for name, value in given.items() if value is not None})

    # From here on torch is needed, and a moment's patience.
    from accelerate import PartialState

    from salience.commands.train import show_run
    from salience.processes import is_main_process
    from salience.report.progress import Progress
    from salience.training.recipe import Recipe
    from salience.training.run import train as run_training

    recipe = Recipe.from_mapping(settings, str(config or "the command line"))
    if output is None:
        stem = Path(recipe.data).name.split(".")[0] or "run"
        output = Path("runs") / f"{stem}-{recipe.method}"
    with Progress() as progress:
        run = run_training(
            recipe, output, overwrite, resume, note=progress.note, callbacks=[progress.callback], config=config
        )
    if is_main_process():
        show_run(run)
    PartialState().destroy_process_group()  # a process that ends while its threads still talk to others is aborted
