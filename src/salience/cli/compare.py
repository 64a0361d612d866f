"""`salience compare`: trains several methods over several seeds and tests whether their results differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from salience.cli import options
from salience.cli.options import of_setting, settings_in
from salience.cli.settings import merged, read_config, with_assigned
from salience.errors import InputError
from salience.settings import comma_separated, numbers, several_with_options

if TYPE_CHECKING:
    from salience.comparison.comparison import Comparison

DATA, COMPARED, MEASURED, TRAINING, WORK, OUTPUT = "Data", "Compared", "Measured", "Training", "Work", "Output"


def compare(
    data: Annotated[
        str | None, Argument(help="Labelled texts, as for `salience train`.", rich_help_panel=DATA)
    ] = None,
    data_sets: Annotated[
        Path | None,
        Option(metavar="FILE", rich_help_panel=DATA, help="Yaml of several: NAME: {data: FILE, test: FILE}."),
    ] = None,
    test: Annotated[str | None, of_setting("test", "Rows for the final test.", DATA, "FILE")] = None,
    text: Annotated[
        str | None, of_setting("text", "Column of the text.  [default: guessed]", DATA, "COLUMN")
    ] = None,
    text_pair: Annotated[
        str | None, of_setting("text_pair", "Column of a second text.  [default: guessed]", DATA, "COLUMN")
    ] = None,
    label: Annotated[
        str | None, of_setting("label", "Column of the label, or columns of 0 and 1.", DATA, "COLUMN")
    ] = None,
    label_separator: Annotated[
        str | None, of_setting("label_separator", "What divides several labels of a text.", DATA)
    ] = None,
    encoding: Annotated[
        str | None, of_setting("encoding", "Character encoding of csv and tsv.  [default: utf-8]", DATA)
    ] = None,
    bad_rows: Annotated[
        str | None, of_setting("bad_rows", "Rows without text or label: error or skip.", DATA)
    ] = None,
    methods: Annotated[
        str | None,
        Option(rich_help_panel=COMPARED, help="The first is the baseline.  [default: plain,ssmix]"),
    ] = None,
    variants: Annotated[
        Path | None,
        Option(metavar="FILE", rich_help_panel=COMPARED, help="In place of them, yaml of NAME: {SETTING: VALUE}."),
    ] = None,
    models: Annotated[
        str | None, Option(rich_help_panel=COMPARED, help="Several, by commas, in place of --model.")
    ] = None,
    seeds: Annotated[str, Option(rich_help_panel=COMPARED, help="Each trains every method.")] = "0,1,2,3,4",
    sizes: Annotated[
        str | None, Option(rich_help_panel=COMPARED, help="Labelled rows, as 50,100,all.  [default: all]")
    ] = None,
    budget: Annotated[
        str, Option(rich_help_panel=COMPARED, help="Spent alike: passes, time or steps.")
    ] = "passes",
    references: Annotated[
        str, Option(rich_help_panel=COMPARED, help="none, or of majority,tf-idf,frozen.")
    ] = "default",
    faithfulness: Annotated[
        bool, Option("--faithfulness", rich_help_panel=MEASURED, help="Also that of explanations of 200 texts.")
    ] = False,
    heat_maps: Annotated[
        bool,
        Option("--heat-maps/--no-heat-maps", rich_help_panel=MEASURED, help="Show disputed texts."),
    ] = True,
    model: Annotated[
        str | None, of_setting("model", "minilm, a folder or a hub name.  [default: minilm]", TRAINING)
    ] = None,
    steps: Annotated[int | None, of_setting("steps", "Of the first method.  [default: by the data]", TRAINING)] = None,
    precision: Annotated[
        str | None, of_setting("precision", "Number format: auto, fp32, bf16 or fp16.", TRAINING)
    ] = None,
    device: Annotated[str | None, of_setting("device", "Device: auto, cpu or cuda.", TRAINING)] = None,
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", rich_help_panel=TRAINING,
               help="Any setting of docs/settings.md; repeatable."),
    ] = None,
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
    part: options.Part = None,
    config: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=OUTPUT, help="Yaml file of settings; options override it.")
    ] = None,
    output: Annotated[
        Path | None,
        Option(metavar="FOLDER", rich_help_panel=OUTPUT, help="A stopped comparison goes on in its folder."),
    ] = None,
    report_to: options.ReportTo = None,
) -> None:  # fmt: skip
    """Train methods over several seeds and test whether they differ beyond chance."""
    settings = merged(read_config(config), with_assigned(settings_in(locals()), set_))
    if methods is not None and variants is not None:
        raise InputError("name what is compared either with --methods or with --variants, not both")
    compared = (
        several_with_options(methods or "plain,ssmix") if variants is None else read_config(variants, "--variants")
    )
    sets = None if data_sets is None else read_config(data_sets, "--data-sets")

    from salience.comparison.comparing import compare as compare_grid
    from salience.comparison.grid import data_sets_of, name_of, sizes_of
    from salience.processes import part_of
    from salience.report.progress import GridProgress
    from salience.report.terminal import say
    from salience.training.recipe import Recipe
    from salience.training.references import references_of

    chosen = None if sets is None else data_sets_of(sets, f"--data-sets {data_sets}")
    if chosen:
        if "data" in settings:
            raise InputError("name the data either as DATA or with --data-sets, not both")
        settings = {**settings, "data": next(iter(chosen.values()))["data"]}
    with GridProgress() as progress:
        recipe = Recipe.from_mapping(settings, str(config or "the command line"))
        output = output or Path("runs") / f"{name_of(str(data_sets or recipe.data))}-compared"
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
