"""`salience methods`: the table of the mixing methods, and the card of each method."""

from __future__ import annotations

from typing import Annotated

from typer import Argument


def methods(
    name: Annotated[str | None, Argument(help="Method to show the card of.  [default: a table of all]")] = None,
) -> None:
    """List the mixing methods with the cost of a training step, or show the card of one method."""
    from salience.report.cards import show_card, show_index

    if name is None:
        show_index()
    else:
        show_card(name)
