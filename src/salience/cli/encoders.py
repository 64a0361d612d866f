"""`salience encoders`: labelled texts in, a table of encoders out, by what a regression on their vectors decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import of_recipe, settings_in
from salience.cli.settings import merged, read_config, with_assigned

ROWS = 1000  # rows that are drawn by default


def encoders(
    data: Annotated[
        list[str] | None, Argument(help="Labelled texts: files, or a data set of the hub.", metavar="DATA")
    ] = None,
    models: Annotated[
        str | None, Option(metavar="A,B,C", help="Encoders.  [default: all that need no connection]")
    ] = None,
    size: Annotated[int | None, of_recipe("Sample of the rows.  [default: 1,000 at most]")] = None,
    text: options.GuessedText = None,
    text_pair: Annotated[str | None, of_recipe("Column of a second text.  [default: guessed]")] = None,
    label: options.GuessedLabel = None,
    label_separator: Annotated[str | None, of_recipe("Separator of the labels of a text.")] = None,
    empty_label: Annotated[str | None, of_recipe("Empty multi-label cells: error or none.")] = None,
    encoding: Annotated[str | None, of_recipe("Character encoding of csv and tsv.  [default: utf-8]")] = None,
    bad_rows: Annotated[str | None, of_recipe("Rows without text or label: error or skip.")] = None,
    max_length: Annotated[int | None, of_recipe("Tokens read of a text.  [default: at most 512]")] = None,
    seed: Annotated[int | None, of_recipe("Seed of the rows and folds.  [default: 0]")] = None,
    precision: Annotated[str | None, of_recipe("Number format: auto, fp32 or bf16.")] = None,
    device: Annotated[str | None, of_recipe("Device: auto, cpu or cuda.")] = None,
    set_: Annotated[list[str] | None, Option("--set", metavar="NAME=VALUE", help="Any setting; repeatable.")] = None,
    config: Annotated[Path | None, Option(help="Yaml file of settings; options override it.")] = None,
) -> None:
    """Rank encoders by the head alone: cross-validated accuracy, size and training time of each."""
    settings = merged(read_config(config), with_assigned(settings_in(locals()), set_))

    from dataclasses import replace

    from rich.console import Console

    from salience.errors import duration
    from salience.report.terminal import literal, say, titled
    from salience.runs.sentences import with_interval
    from salience.scores.labels import labels_in
    from salience.settings import comma_separated
    from salience.training.encoders import encoders_here, rank_encoders
    from salience.training.recipe import Recipe
    from salience.training.task import task_of

    recipe = Recipe.from_mapping(settings, str(config or "the command line"))
    task = task_of(recipe, say)
    if recipe.size is None and len(task.training) > ROWS:
        task = task_of(recipe := replace(recipe, size=ROWS), say)
    names = encoders_here() if models is None else comma_separated(models)
    ranked = rank_encoders(recipe, task, names, say)
    score, title = next(iter(labels_in(ranked[0].scores).estimated.items()))
    shown = f"{len(task.training):,} rows, {len(task.labels)} labels"
    table = titled(f"{shown}; the head alone on each encoder, cross-validated")
    table.add_column("", overflow="fold")
    for column in (title, "weights", "texts/s", "training"):
        table.add_column(column, justify="right", no_wrap=True)
    for each in ranked:
        table.add_row(
            literal(each.name), with_interval(each.scores, score), f"{each.parameters / 1e6:,.0f} M",
            f"{each.texts_per_second:,.0f}", duration(each.training_seconds),
        )  # fmt: skip
    Console(highlight=False).print(table)
    print("training: about how long it takes here, without the estimate")
