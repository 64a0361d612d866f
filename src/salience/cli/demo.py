"""`salience demo`: a classifier in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from typer import Option

from salience.cli.options import AS_IN_TRAINING, Debug, Model, options_of
from salience.training.recipe import Recipe


@options_of(Recipe, names=["max_length", "device"], unset=AS_IN_TRAINING)
def demo(
    model: Model,
    port: Annotated[
        int | None, Option(min=1, max=65535, help="Port of the page.  [default: the first free one from 7860]")
    ] = None,
    *,
    settings: Mapping[str, Any],
    browser: Annotated[bool, Option("--browser", help="Open the page in the browser.")] = False,
    debug: Debug = False,
) -> None:
    """Serve a page on this machine that classifies and explains texts that are typed in."""
    from salience.commands.demo import serve

    serve(model, port=port, browser=browser, **settings)
