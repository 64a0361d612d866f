"""Runs commands, so many at a time, until they are done or the time is over: for a machine that is lent for a while.

    python bench/at_once.py COMMANDS --jobs 16 --seconds 540 --place runs/at-once

COMMANDS is a file of lines: a name, a tab, and a command for the shell, the most important first. PLACE keeps a log of
each command and remembers which have succeeded; these are not run again. When the time is over, the commands are
interrupted, as by Ctrl-C, so that they can write what is finished, and killed ten seconds later.

Several trainings on one GPU run at the same time only under CUDA's Multi-Process Service, which
`nvidia-cuda-mps-control -d` starts; without it they take turns.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 10.0  # seconds from an interrupt to a kill


def run_at_once(commands: Sequence[tuple[str, str]], jobs: int, seconds: float, place: Path) -> dict[str, int]:
    """Runs the commands that have not succeeded yet, in their order.

    Args:
        commands: pairs of a name, which is one of a file, and a command for the shell.
        jobs: how many run at the same time.
        seconds: after which all are ended.
        place: the folder of logs and of what has succeeded.

    Returns:
        The exit codes of the commands that ended by themselves, by name.
    """
    place.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    waiting = [(name, command) for name, command in commands if not done(place, name).exists()]
    running: dict[str, subprocess.Popen] = {}
    ended: dict[str, int] = {}
    while (waiting or running) and time.monotonic() < end:
        while waiting and len(running) < jobs:
            name, command = waiting.pop(0)
            with (place / f"{name}.log").open("ab") as log:
                running[name] = subprocess.Popen(command, shell=True, stdout=log, stderr=log, start_new_session=True)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            ended[name] = running.pop(name).returncode
            print(f"{name}: exit code {ended[name]}, {end - time.monotonic():.0f} s are left", flush=True)
            if ended[name] == 0:
                done(place, name).touch()
        time.sleep(0.1)
    for sent in (signal.SIGINT, signal.SIGKILL):
        tell(running, sent)
    print(f"not done: {', '.join([*running, *(name for name, _ in waiting)]) or 'nothing'}")
    return ended


def done(place: Path, name: str) -> Path:
    """The file that says that a command has succeeded."""
    return place / f"{name}.done"


def tell(running: dict[str, subprocess.Popen], sent: signal.Signals) -> None:
    """Sends a signal to all commands and what they have started, and waits until they have ended."""
    for process in running.values():
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, sent)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(process.poll() is None for process in running.values()):
        time.sleep(0.1)


def read_commands(file: Path) -> list[tuple[str, str]]:
    """The names and commands of a file."""
    return [
        (name, command) for name, _, command in (line.partition("\t") for line in file.read_text("utf-8").splitlines())
        if command
    ]  # fmt: skip


def main() -> None:
    """Runs the commands of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--place", type=Path, default=Path("runs/at-once"))
    options = parser.parse_args()
    run_at_once(read_commands(options.commands), options.jobs, options.seconds, options.place)


if __name__ == "__main__":
    main()
