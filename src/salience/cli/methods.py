"""`salience methods`: what there is to train with, and the card of each method."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option


def methods(
    name: Annotated[str | None, Argument(help="The method to explain. [a table of all]")] = None,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """List the mixing methods and what they cost, or explain one of them."""
    from salience.report.cards import show_card, show_index

    if name is None:
        show_index()
    else:
        show_card(name)
