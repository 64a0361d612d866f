"""`salience compare`: whether a method helps on your texts, over several seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from salience.cli.settings import merged, read_config


def compare(
    data: Annotated[str | None, Argument(help="Labelled texts, as `salience train` takes them.")] = None,
    test: Annotated[str | None, Option(help="Rows to compare on; they never select anything.")] = None,
    methods: Annotated[str, Option(help="Between commas; the others are compared with the first.")] = "plain,ssmix",
    seeds: Annotated[str, Option(help="Between commas: of splits, fresh heads and all that is drawn.")] = "0,1,2,3,4",
    text: Annotated[str | None, Option(help="Column of the text. [guessed]")] = None,
    text_pair: Annotated[str | None, Option(help="Column of a second text. [guessed]")] = None,
    label: Annotated[str | None, Option(help="Column of the label. [guessed]")] = None,
    encoding: Annotated[str | None, Option(help="How csv and tsv files are written. [utf-8]")] = None,
    bad_rows: Annotated[str | None, Option(help="Rows without text or label: error or skip. [error]")] = None,
    model: Annotated[str | None, Option(help="minilm, a folder, a name on the hub, ... [minilm]")] = None,
    steps: Annotated[int | None, Option(help="Training steps. [follow the data]")] = None,
    device: Annotated[str | None, Option(help="auto, cpu or cuda. [auto]")] = None,
    config: Annotated[Path | None, Option(help="A yaml file of these and all other settings of `train`.")] = None,
    output: Annotated[Path | None, Option(help="Folder of all runs; a stopped comparison goes on in it. "
                                               "[runs/DATA-compared]")] = None,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:  # fmt: skip
    """Train methods over several seeds and say whether their differences are beyond chance."""
    given = {"data": data, "test": test, "text": text, "text_pair": text_pair, "label": label, "encoding": encoding,
             "bad_rows": bad_rows, "model": model, "steps": steps, "device": device}  # fmt: skip
    settings = merged(read_config(config), {name: value for name, value in given.items() if value is not None})

    from salience.comparison.comparing import compare as run_comparison
    from salience.report.comparison import show_comparison
    from salience.report.progress import Progress
    from salience.report.terminal import say
    from salience.reproduce.running import numbers
    from salience.training.recipe import Recipe

    recipe = Recipe.from_mapping(settings, str(config or "the command line"))
    output = output or Path("runs") / f"{Path(recipe.data).name.split('.')[0] or 'data'}-compared"
    with Progress() as progress:
        bars = [progress.callback] if progress.console.is_terminal else []  # elsewhere a line a run will do
        found = run_comparison(
            recipe, methods.split(","), numbers(seeds, ",", "--seeds 0,1,2"), output, progress.note, bars
        )
    show_comparison(found)
    say(f"saved: {output}")
