"""The file of failed runs: a line of JSON for each, until the run succeeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from salience.errors import InputError, counted
from salience.files import write_lines
from salience.jobs.job import Failure
from salience.outputs import locked

PATIENCE = 60  # seconds to wait for another command that changes the file


class FailureLog:
    """The runs of a grid that have failed, in a file that several commands may change.

    Args:
        file: does not exist while there are no failures.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, failure: Failure) -> None:
        """Records a failure, in place of an earlier one of the same run."""
        line = {"run": failure.name, "error": failure.error, "traceback": failure.traceback}
        self._replace(failure.name, [line])

    def remove(self, name: str) -> None:
        """Removes the failure of a run that has succeeded since."""
        if any(row["run"] == name for row in self.rows()):
            self._replace(name, [])

    def rows(self) -> list[dict[str, str]]:
        """The failed runs.

        Raises:
            InputError: the file holds something else.
        """
        try:
            rows = [json.loads(line) for line in self.file.read_text(encoding="utf-8").split("\n") if line]
            if not all("run" in row for row in rows):
                raise ValueError("a line names no run")
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.file} is not a list of failed runs ({error}): move it elsewhere") from error
        return rows

    def _replace(self, name: str, lines: list[dict[str, str]]) -> None:
        with locked(self.file, PATIENCE):
            rows = [row for row in self.rows() if row["run"] != name] + lines
            if rows:
                write_lines(self.file, rows)
            else:
                self.file.unlink(missing_ok=True)

    def check(self, failures: Sequence[Failure], runs: int) -> None:
        """Ends a command some of whose runs have failed.

        Args:
            failures: the failures of this command.
            runs: number of its runs.

        Raises:
            InputError: there are failures.
        """
        if failures:
            first = failures[0]
            raise InputError(
                f"{len(failures)} of {counted(runs, 'run')} failed; {first.name}: {first.error}. Every error is in "
                f"{self.file}; the same command makes only the failed runs again"
            )
