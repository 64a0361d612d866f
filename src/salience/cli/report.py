"""`salience report`: the report of a finished run."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from salience.cli.options import Debug


def report(
    run: Annotated[str, Argument(help="Folder written by `salience train`.")],
    debug: Debug = False,
) -> None:
    """Make report.html of a run again: scores, confusions, calibration, curves, errors, words and data on one page."""
    from salience.commands.report import report_run

    report_run(run)
