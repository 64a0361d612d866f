"""`salience compare`: whether a method helps on your texts, over several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from salience.assignments import several_with_options
from salience.cli.options import options_of
from salience.cli.settings import merged, read_config
from salience.training.recipe import Recipe

NAMES = ["test", "text", "text_pair", "label", "encoding", "bad_rows", "model", "steps", "device"]


@options_of(Recipe, names=NAMES)
def compare(
    given: Mapping[str, Any],
    data: Annotated[str | None, Argument(help="Labelled texts, as `salience train` takes them.")] = None,
    methods: Annotated[
        str,
        Option(
            help="Methods between commas, with their own options: plain,ssmix,ssmix:window=0.2. The first one is the "
            "baseline of the others."
        ),
    ] = "plain,ssmix",
    seeds: Annotated[str, Option(help="Seeds between commas. Each trains every method once.")] = "0,1,2,3,4",
    config: Annotated[Path | None, Option(help="A yaml file of these and all other settings of `train`.")] = None,
    output: Annotated[
        Path | None,
        Option(help="Folder of all runs. A stopped comparison goes on in it. [runs/DATA-compared]"),
    ] = None,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Train methods over several seeds and say whether their differences are beyond chance."""
    settings = merged(read_config(config), dict(given) | ({} if data is None else {"data": data}))

    from salience.comparison.comparing import compare as run_comparison
    from salience.report.comparison import show_comparison
    from salience.report.progress import Progress
    from salience.report.terminal import say
    from salience.reproduce.running import numbers

    with Progress() as progress:
        recipe = Recipe.from_mapping(settings, str(config or "the command line"), progress.note)
        output = output or Path("runs") / f"{Path(recipe.data).name.split('.')[0] or 'data'}-compared"
        bars = [progress.callback] if progress.console.is_terminal else []  # elsewhere a line for each run is enough
        comparison = run_comparison(
            recipe, several_with_options(methods), numbers(seeds, ",", "--seeds 0,1,2"), output, progress.note, bars
        )
    show_comparison(comparison)
    say(f"saved: {output}")
