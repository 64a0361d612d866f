"""Faults at every step: commands that are killed, run out of disk or are refused at each file operation in turn.

    python -m faults.run                                        all commands, operations of all kinds, all faults
    python -m faults.run train --all                            also operations that differ in numbers alone
    python -m faults.run train predict-csv --every 5            every fifth operation of two of them
    python -m faults.run train --operation 37 --fault kill      one case, with all that the commands said
    python -m faults.run train --operation 30-60                all faults at some operations

(in `tests/`, or with it on the PYTHONPATH). Faults: kill, torn (a kill halfway through a write), full (the disk) and
denied (permission). After the fault the same command is run again, undisturbed. It must end with the files of a run
that was never disturbed, bit for bit, or say in one line what to do; that is then done, and must end so. No file of
anybody else may change, and nothing may be left over.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

from faults.cases import KINDS, Bench, Case
from faults.scenarios import SCENARIOS
from faults.server import serving


def table(done: list[Case], operations: dict[str, int]) -> str:
    """Operations, cases by fault, and cases that ended otherwise than promised, a row a command, as markdown."""
    lines = [f"| command | operations | {' | '.join(KINDS)} | cases | failed |", "|---" * (len(KINDS) + 4) + "|"]
    for name in [*operations, "all"]:
        own = [case for case in done if name in ("all", case.scenario)]
        faults = Counter(case.fault for case in own)
        count = sum(operations.values()) if name == "all" else operations[name]
        cells = [name, count, *(faults[fault] for fault in KINDS), len(own), sum(bool(case.problems) for case in own)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def summary(done: list[Case]) -> str:
    """What went wrong, each kind once with how often and an example."""
    kinds: dict[tuple, list[Case]] = {}
    for case in done:
        for problem in case.problems:
            file = Path(case.operation.path).name
            key = tuple(
                re.sub(r"\.tmp\w+|/\S*/faults-[^/]*|[0-9]+", "#", part)
                for part in (case.operation.name, file, problem)
            )
            kinds.setdefault((case.scenario, case.fault, *key), []).append(case)
    lines = []
    for (name, fault, operation, file, problem), cases in kinds.items():
        numbers = sorted({case.operation.number for case in cases})
        lines.append(f"- {name}, {fault} at {operation} of {file} (operations {str(numbers)[1:-1]}): {problem}")
    return "\n".join(lines)


def show(case: Case) -> None:
    """All that the commands of a case said."""
    for arguments, outcome in case.runs:
        print(f"\n$ salience {' '.join(arguments)}\n{outcome.out}{outcome.err}-> {outcome.code}")


def numbers(text: str) -> range:
    """ "37" or "30-60", both ends included."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults.run", description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="COMMAND", help=", ".join(SCENARIOS))
    parser.add_argument("--every", type=int, default=1, help="of so many operations one for each fault")
    parser.add_argument("--all", action="store_true", help="also operations that differ in numbers alone")
    parser.add_argument("--operation", type=numbers, help="N: only this one, with all that is said; N-M: these")
    parser.add_argument("--fault", choices=KINDS, help="only this one")
    parser.add_argument("--table", type=Path, help="a file for the table")
    parser.add_argument("--log", action="store_true", help="list the operations, and run nothing more")
    chosen = parser.parse_args()
    done, operations, started = [], {}, time.time()
    with serving() as server:
        for name in chosen.scenarios or SCENARIOS:
            bench = Bench(server, name)
            operations[name] = len(bench.operations)
            print(f"{name}: {len(bench.operations)} file operations", flush=True)
            if chosen.log:
                print(*bench.operations, sep="\n")
                continue
            faults = [chosen.fault] if chosen.fault else KINDS
            alike = chosen.all or chosen.operation is not None
            cases = bench.cases(chosen.every, faults, chosen.operation, alike)
            for number, case in enumerate(cases, 1):
                done.append(bench.run(case))
                if case.problems:
                    print(f"FAILED {case}", flush=True)
                if chosen.operation and len(chosen.operation) == 1:
                    show(case)
                if number % 100 == 0:
                    print(f"  {name}: {number} cases, {time.time() - started:.0f} s", flush=True)
    report = table(done, operations)
    if any(case.problems for case in done):
        print(f"\n{summary(done)}")
    print(f"\n{report}\n\n{len(done)} cases in {time.time() - started:.0f} s")
    if chosen.table:
        chosen.table.write_text(report + "\n", encoding="utf-8")
    return any(case.problems for case in done)


if __name__ == "__main__":
    sys.exit(main())
