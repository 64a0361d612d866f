"""`salience train`: trains a classifier on labelled texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import Debug, ReportTo, options_of
from salience.cli.settings import grouped, merged, read_config
from salience.papers.attention_classifiers.options import AttentionOptions
from salience.settings import assigned, comma_separated, settings_of
from salience.training.procedures import Standard, Turns
from salience.training.recipe import Recipe

NAMES = [name for name, setting in settings_of(Recipe).items() if setting.default != {} and name != "data"]
OF_MODEL = ["encoder", "scale", "embeddings"]  # the others are set with --set-model
OF_PROCEDURES = [*settings_of(Turns), *settings_of(Standard)]
GROUPS = {"model_options": OF_MODEL, "procedure_options": OF_PROCEDURES}


@options_of(
    AttentionOptions, Recipe, Turns, Standard, names=[*NAMES, *OF_PROCEDURES, *OF_MODEL], into="given", only_given=True
)
def train(
    given: Mapping[str, Any],
    data: Annotated[
        str | None, Argument(help="Labelled texts: csv, tsv, jsonl or parquet, also .gz, or a data set on the hub.")
    ] = None,
    set_model: Annotated[
        list[str] | None,
        Option("--set-model", help="Another setting of an attention classifier, such as width=200; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None, Option("--set", help="Setting of the method, such as window=0.2; repeatable.")
    ] = None,
    config: Annotated[Path | None, Option(help="Yaml file with these settings; options override it.")] = None,
    output: Annotated[
        Path | None,
        Option(help="Folder to write.  [default: runs/DATA-METHOD, without a method runs/DATA-default]"),
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing run in the folder.")] = False,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted run in the folder.")] = False,
    report_to: ReportTo = None,
    debug: Debug = False,
) -> None:
    """Train a classifier and write it, with its metrics, as a plain Hugging Face checkpoint."""
    settings = ({} if data is None else {"data": data}) | grouped(given, GROUPS)
    for group, options in (
        ("model_options", assigned("--set-model", set_model)),
        ("method_options", assigned("--set", set_)),
    ):
        if options:
            settings[group] = settings.get(group, {}) | options
    settings = merged(read_config(config), settings)

    # From here on torch is needed, which takes a while to import.
    from salience.commands.train import train_and_show

    trackers = comma_separated(report_to) if report_to else []
    train_and_show(settings, output, config, overwrite=overwrite, resume=resume, report_to=trackers)
