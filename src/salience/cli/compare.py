"""`salience compare`: trains several methods over several seeds and compares their results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.cli.options import Debug, Jobs, Part, Ray, ReportTo, options_of
from salience.cli.settings import merged, read_config
from salience.errors import InputError
from salience.settings import several_with_options
from salience.training.recipe import Recipe

NAMES = [
    "test", "text", "text_pair", "label", "label_separator", "encoding", "bad_rows", "model", "pooling",
    "steps", "precision", "device",
]  # fmt: skip


@options_of(Recipe, names=NAMES, into="given", only_given=True)
def compare(
    given: Mapping[str, Any],
    data: Annotated[str | None, Argument(help="Labelled texts, as for `salience train`.")] = None,
    methods: Annotated[
        str | None,
        Option(
            help="Methods with their options, separated by commas, such as plain,ssmix,ssmix:window=0.2. The first "
            "method is the baseline.  [default: plain,ssmix]"
        ),
    ] = None,
    variants: Annotated[
        Path | None,
        Option(
            help="Yaml file of variants of the recipe, in place of --methods: lines of the form NAME: {learning_rate: "
            "1e-4, method: ssmix}, with any settings of `salience train`. The first variant is the baseline."
        ),
    ] = None,
    seeds: Annotated[str, Option(help="Seeds, separated by commas; each method is trained with each.")] = "0,1,2,3,4",
    sizes: Annotated[
        str | None,
        Option(
            help="Numbers of labelled rows, separated by commas, such as 50,100,all. Each seed draws its rows, the "
            "same for every method.  [default: all]"
        ),
    ] = None,
    models: Annotated[
        str | None, Option(help="Models, separated by commas, in place of --model.  [default: minilm]")
    ] = None,
    data_sets: Annotated[
        Path | None,
        Option(
            help="Yaml file of several data sets, in place of DATA: lines of the form NAME: {data: FILE, test: FILE}."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        Option(help="Yaml file with any settings of `salience train`; options override it."),
    ] = None,
    references: Annotated[
        str,
        Option(
            help="Rows beside the methods, for which nothing is tested: none, default (majority,tf-idf,frozen), or "
            "names separated by commas."
        ),
    ] = "default",
    budget: Annotated[
        str,
        Option(
            help="What all methods spend alike: passes of texts through the model, time on this machine, or steps. "
            "--steps are those of the first method; a method whose steps cost more has fewer."
        ),
    ] = "passes",
    faithfulness: Annotated[
        bool,
        Option(
            "--faithfulness",
            help="Also measure how faithful the explanations of each model are: comprehensiveness and sufficiency on "
            "200 test texts, in excess over random scores.",
        ),
    ] = False,
    heat_maps: Annotated[
        bool,
        Option(
            "--heat-maps/--no-heat-maps",
            help="Explain the texts on which methods disagree, in the report. The models of the first seed at the "
            "largest size are kept for it; all others are not.",
        ),
    ] = True,
    output: Annotated[
        Path | None,
        Option(help="Folder of the runs; a stopped comparison is continued in it.  [default: runs/DATA-compared]"),
    ] = None,
    jobs: Jobs = 1,
    ray: Ray = None,
    part: Part = None,
    report_to: ReportTo = None,
    debug: Debug = False,
) -> None:
    """Train methods over several seeds and test whether their differences are larger than chance."""
    settings = merged(read_config(config), dict(given) | ({} if data is None else {"data": data}))

    if methods is not None and variants is not None:
        raise InputError("name what is compared either with --methods or with --variants, not both")
    compared = (
        several_with_options(methods or "plain,ssmix") if variants is None else read_config(variants, "--variants")
    )
    sets = None if data_sets is None else read_config(data_sets, "--data-sets")

    # From here on torch is needed, which takes a while to import.
    from salience.commands.compare import compare_and_report

    compare_and_report(
        settings, compared, seeds, output, config=config, data_sets=data_sets, sets=sets, sizes=sizes, models=models,
        references=references, part=part, report_to=report_to, jobs=jobs, ray=ray, budget=budget,
        measures=["faithfulness"] if faithfulness else [], heat_maps=heat_maps,
    )  # fmt: skip
