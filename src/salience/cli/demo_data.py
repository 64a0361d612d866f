"""`salience demo-data`: rows to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from salience.cli.options import Debug


def demo_data(folder: Annotated[Path, Argument(help="Folder to write.")], debug: Debug = False) -> None:
    """Write labelled rows to try the other commands on: 600 questions of customers of a bank, with ten intents."""
    from salience.commands.demo_data import write_demo_data

    write_demo_data(folder)
