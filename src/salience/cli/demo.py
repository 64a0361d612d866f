"""`salience demo`: try a classifier in the browser."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option


def demo(
    model: Annotated[str, Argument(help="A folder that `salience train` wrote, or any trained classifier.")],
    port: Annotated[
        int | None, Option(min=1, max=65535, help="Of this machine. [the first free one from 7860]")
    ] = None,
    browser: Annotated[bool, Option("--browser", help="Open the page in the browser.")] = False,
    max_length: Annotated[int | None, Option(min=1, help="Tokens read of a text.")] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Show a local page to type a text into and see its label, probabilities and words."""
    from salience.commands.demo import serve

    serve(model, port=port, browser=browser, max_length=max_length, device=device)
