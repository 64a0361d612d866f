"""The processor's time of one command in two versions of the code, run alternately as a user runs it.

    git worktree add ../before v1.0
    python bench/versions.py ../before . -- faithfulness RUN test.csv --rows 50 --output OUT --overwrite

Start-up is included, but for the compiling of Python's files: these are kept in a temporary folder, and the first
round, which fills it, is not counted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from side_by_side import Comparison, parser, prepare, save


def processor_seconds(tree: Path, command: list[str], compiled: str, threads: int) -> float:
    """Of the command in a tree, and of its own processes.

    Raises:
        RuntimeError: the command fails.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {
        "PYTHONPATH": str(tree / "src"), "PYTHONPYCACHEPREFIX": compiled, "OMP_NUM_THREADS": str(threads),
    }  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "salience", *command], env=environment, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{tree}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(options: Namespace, compiled: str, rounds: range) -> Comparison:
    """Rounds below 0 are not counted."""
    trees = {
        f"{number} {tree.resolve().name}": tree.resolve()
        for number, tree in enumerate((options.after, options.before))
    }
    seconds: dict[str, list[float]] = {name: [] for name in trees}
    for round_number in rounds:
        for name in list(trees)[:: 1 if round_number % 2 == 0 else -1]:
            taken = processor_seconds(trees[name], options.command, compiled, options.threads or 1)
            print(f"round {round_number}, {name}: {taken:.1f} s", flush=True)
            if round_number >= 0:
                seconds[name].append(taken)
    return Comparison(seconds)


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("before", type=Path, help="the one tree")
    arguments.add_argument("after", type=Path, help="the other, which the first is compared with")
    arguments.add_argument("command", nargs="+", help="after --: a command of salience with its options")
    arguments.add_argument("--repetitions", type=int, default=5)
    arguments.add_argument("--compiled", help="a folder that holds Python's compiled files of both trees already")
    options = arguments.parse_args()
    machine = prepare(options)
    if options.compiled is None:
        with TemporaryDirectory() as folder:
            seconds = compare(options, folder, range(-1, options.repetitions))
    else:
        seconds = compare(options, options.compiled, range(options.repetitions))
    seconds.show(" ".join(["salience", *options.command]), "processor's seconds")
    save(options, machine, {"command": options.command, "seconds": seconds.as_json()})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
