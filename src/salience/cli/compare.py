"""`salience compare`: trains several methods over several seeds and tests whether their results differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from salience.cli import options
from salience.cli.options import DATA, OUTPUT, TRAINING, folder_for, of_recipe, option, settings_in
from salience.cli.settings import check_files, merged, read_config, with_assigned
from salience.errors import InputError
from salience.settings import comma_separated, numbers, several_with_options

if TYPE_CHECKING:
    from salience.comparison.comparison import Comparison

COMPARED, MEASURED = "Compared", "Measured"  # further groups of the help
METHODS = "plain,senmixup:alpha=1"  # without mixing, and what `train` does by itself with mean pooling


def compare(
    data: Annotated[
        list[str] | None,
        Argument(help="Labelled texts, as for `salience train`.", metavar="DATA", rich_help_panel=DATA),
    ] = None,
    data_sets: Annotated[Path | None, option("Yaml of several: NAME: {data: FILE, test: FILE}.", DATA, "FILE")] = None,
    test: Annotated[str | None, of_recipe("Rows for the final test.", DATA, "FILE")] = None,
    text: options.TextColumn = None,
    text_pair: options.PairColumn = None,
    label: options.LabelColumn = None,
    label_separator: options.LabelSeparator = None,
    empty_label: options.EmptyLabel = None,
    encoding: options.DataEncoding = None,
    bad_rows: options.BadRows = None,
    methods: Annotated[str | None, option(f"First is the baseline.  [default: {METHODS}]", COMPARED)] = None,
    variants: Annotated[
        Path | None, option("Instead of methods, yaml of NAME: {SETTING: VALUE}.", COMPARED, "FILE")
    ] = None,
    models: Annotated[str | None, option("Several encoders, separated by commas.", COMPARED)] = None,
    seeds: Annotated[str, option("Each trains every method.", COMPARED)] = "0,1,2,3,4",
    sizes: Annotated[str | None, option("Numbers of labelled rows: 50,100,all.  [default: all]", COMPARED)] = None,
    budget: Annotated[str, option("Equal compute: passes, time or steps.", COMPARED)] = "passes",
    references: Annotated[str, option("none, or of majority,tf-idf,frozen.", COMPARED)] = "default",
    faithfulness: Annotated[
        bool, option("Also test the explanations of 200 texts.", MEASURED, name="--faithfulness")
    ] = False,
    heat_maps: Annotated[bool, option("Show disputed texts.", MEASURED)] = True,
    model: Annotated[str | None, of_recipe("minilm, a folder or a hub name.  [default: minilm]", TRAINING)] = None,
    steps: Annotated[int | None, of_recipe("Steps of the first method.  [default: by the data]", TRAINING)] = None,
    precision: options.TrainingPrecision = None,
    device: options.TrainingDevice = None,
    set_: options.Set = None,
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
    part: options.Part = None,
    config: options.Config = None,
    output: Annotated[Path | None, option("A stopped comparison goes on in its folder.", OUTPUT, "FOLDER")] = None,
    report_to: options.ReportTo = None,
) -> None:
    """Train methods over several seeds and test whether their scores differ."""
    settings = merged(read_config(config), with_assigned(settings_in(locals()), set_))
    if methods is not None and variants is not None:
        raise InputError("name what is compared either with --methods or with --variants, not both")
    compared = several_with_options(methods or METHODS) if variants is None else read_config(variants, "--variants")
    sets = read_config(data_sets, "--data-sets")

    from salience.processes import importing, part_of

    source = str(config or "the command line")
    if data_sets is None:
        check_files(settings | {"group": None}, source)  # that groups have no effect is said below
    with importing():
        from salience.comparison.comparing import compare as compare_grid
        from salience.comparison.grid import data_sets_of, sizes_of
        from salience.report.progress import GridProgress
        from salience.report.terminal import say
        from salience.training.recipe import Recipe
        from salience.training.references import references_of

    chosen = None if data_sets is None else data_sets_of(sets, f"--data-sets {data_sets}")
    if chosen:
        if "data" in settings:
            raise InputError("name the data either as DATA or with --data-sets, not both")
        settings = {**settings, "data": next(iter(chosen.values()))["data"]}
    with GridProgress() as progress:
        recipe = Recipe.from_mapping(settings, source)
        output = output or folder_for(recipe.data if data_sets is None else str(data_sets), "compared")
        comparison = compare_grid(
            recipe, compared, numbers(seeds, ",", "--seeds 0,1,2"), output, progress.note, display=progress,
            part=part_of(part, progress.note), report_to=comma_separated(report_to) if report_to else (),
            sizes=sizes_of(sizes) if sizes else (), models=comma_separated(models) if models else (),
            data_sets=chosen, references=references_of(references), jobs=jobs, ray=ray,
            budget=budget, heat_maps=heat_maps, measures=["faithfulness"] if faithfulness else [],
        )  # fmt: skip
    if comparison is not None:  # else runs of other parts are missing
        show_and_report(comparison, output)
    say(f"saved: {output}{', with report.html and report.md' if comparison else ''}")


def show_and_report(comparison: Comparison, output: Path) -> None:
    """Prints a finished comparison and writes its report into its folder."""
    from salience.comparison.comparison import write_reports
    from salience.report.comparison_page import comparison_markdown, comparison_page, show_comparison

    show_comparison(comparison)
    title = f"Comparison {output.resolve().name}"
    write_reports(comparison_page(comparison, title), comparison_markdown(comparison, title), output)
