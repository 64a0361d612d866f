"""docs/reference/commands.md, made from the help of the commands. `python tests/commands_page.py` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from documents import ROOT
from salience.cli.main import app

FILE = ROOT / "docs" / "reference" / "commands.md"
WIDTH = 80  # columns of the help
PAGE = """# Commands

What `salience COMMAND --help` prints. Settings of a run that are no options are on the page of
[all settings](settings.md). This page is made from the commands: `make settings` writes it.
"""


def commands_page() -> str:
    """The help of every command, in the order of `salience --help`."""
    return "\n".join([PAGE, *helps(get_command(app), "salience")])


def helps(command: Any, name: str, parent: Any = None) -> Iterator[str]:
    """A section for each command below this one."""
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=WIDTH)
    if parent:
        shown = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        yield f"## {context.command_path.removeprefix('salience ')}\n\n```text\n{shown}\n```\n"
    if hasattr(command, "commands"):
        for each in command.list_commands(context):
            yield from helps(command.get_command(context, each), each, context)


if __name__ == "__main__":
    FILE.write_text(commands_page(), encoding="utf-8")
