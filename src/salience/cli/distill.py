"""`salience distill`: a classifier teaches a smaller or faster one, on texts that nobody has labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from salience.cli import options
from salience.cli.options import DATA, OUTPUT, TRAINING, of_recipe, option, settings_in
from salience.cli.settings import with_assigned
from salience.cli.train import run_recipe


def distill(
    teacher: Annotated[str, Argument(help="Run folder, or any other trained classifier.", rich_help_panel=DATA)],
    data: Annotated[str, Argument(help="Unlabelled texts: csv, tsv, jsonl, parquet.", rich_help_panel=DATA)],
    test: Annotated[str | None, of_recipe("Labelled rows for the test.  [default: none]", DATA, "FILE")] = None,
    text: Annotated[str | None, of_recipe("Column of the text.  [default: the teacher's]", DATA, "COLUMN")] = None,
    text_pair: Annotated[
        str | None, of_recipe("Column of a second text.  [default: the teacher's]", DATA, "COLUMN")
    ] = None,
    label: Annotated[str | None, of_recipe("Of test rows.  [default: the teacher's]", DATA, "COLUMN")] = None,
    encoding: options.DataEncoding = None,
    bad_rows: Annotated[str | None, of_recipe("Rows without a text: error or skip.", DATA)] = None,
    model: Annotated[str | None, of_recipe("The student: minilm, a folder, or a hub name.", TRAINING)] = None,
    max_length: Annotated[int | None, of_recipe("Tokens read at once.  [default: at most 512]", TRAINING)] = None,
    steps: Annotated[int | None, of_recipe("Training steps.  [default: two passes over the texts]", TRAINING)] = None,
    time_limit: Annotated[str | None, option("The steps are cut to fit: 90s, 10m, 2h.", TRAINING, "TIME")] = None,
    seed: options.AnySeed = None,
    precision: options.TrainingPrecision = None,
    device: options.TrainingDevice = None,
    set_: options.Set = None,
    output: Annotated[
        Path | None, option("Folder to write.  [default: runs/DATA-distilled]", OUTPUT, "FOLDER")
    ] = None,
    overwrite: Annotated[bool, option("Replace an existing run in the folder.", OUTPUT, name="--overwrite")] = False,
    resume: Annotated[bool, option("Continue an interrupted run in the folder.", OUTPUT, name="--resume")] = False,
) -> None:
    """Train a small encoder on the probabilities that a classifier gives to unlabelled texts."""
    settings = with_assigned(settings_in(locals()), set_)
    run_recipe(settings, output, overwrite, resume, time_limit=time_limit, suffix="distilled")
