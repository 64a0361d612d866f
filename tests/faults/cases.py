"""One command, disturbed at each of its file operations in turn, and what is wrong with how that ended."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faults.scenarios import SCENARIOS, WORK, a_project
from faults.server import FAULTS, Operation, Outcome, Server
from faults.trees import contents, differences, marks

KINDS = [fault for fault in FAULTS if fault != "none"]
MOST = 4  # commands after the fault, each doing what the one before has said


@dataclass
class Case:
    """A fault at an operation of a scenario, and what went wrong after it (nothing, as it should be)."""

    scenario: str
    operation: Operation
    fault: str
    problems: list[str] = field(default_factory=list)
    runs: list[tuple[list[str], Outcome]] = field(default_factory=list)

    def __str__(self) -> str:
        operation = self.operation
        return (
            f"{self.scenario} --operation {operation.number} --fault {self.fault} "
            f"({operation.name} {operation.path.rpartition('/root/')[2]}): {'; '.join(self.problems) or 'as promised'}"
        )


class Bench:
    """One scenario: its starting point, its undisturbed result, and the cases over its operations."""

    def __init__(self, server: Server, name: str):
        self.server, self.name, self.scenario = server, name, SCENARIOS[name]
        self.start = server.place / f"start-{name}"
        self.prepare_start()
        self.before = contents(self.start)
        results = [self.undisturbed() for _ in range(2)]
        if differences(results[0], results[1]):
            raise RuntimeError(f"{name} is not repeatable: {differences(*results)}")
        self.wanted = results[0]
        self.check_outputs()

    def prepare_start(self) -> None:
        root = self.server.root
        empty(root)
        for folder in (WORK, "temporary", "cache"):
            (root / folder).mkdir(parents=True)
        a_project(root / WORK)
        self.scenario.files(root / WORK)
        for arguments in self.scenario.first:
            outcome = self.server.run(arguments, WORK, self.scenario.prepare)
            if outcome.code != 0:
                raise RuntimeError(f"{self.name}: {' '.join(arguments)}: {outcome.err}")
        shutil.rmtree(self.start, ignore_errors=True)
        shutil.copytree(root, self.start, symlinks=True)

    def reset(self) -> dict[str, tuple]:
        """The root as the scenario starts from it; gives the marks of the files that are not the command's."""
        empty(self.server.root)
        shutil.copytree(self.start, self.server.root, symlinks=True, dirs_exist_ok=True)
        return self.foreign()

    def foreign(self) -> dict[str, tuple]:
        outputs = tuple(f"{WORK}/{output}" for output in self.scenario.outputs)
        return {
            path: mark
            for path, mark in marks(self.server.root).items()
            if not any(path == output or path.startswith(output + "/") for output in outputs)
        }

    def undisturbed(self) -> dict[str, str]:
        self.reset()
        outcome = self.server.run(self.scenario.arguments, WORK, self.scenario.prepare)
        if outcome.code != 0:
            raise RuntimeError(f"{self.name} fails undisturbed ({outcome.code}):\n{outcome.out}\n{outcome.err}")
        self.operations = outcome.operations
        return contents(self.server.root)

    def check_outputs(self) -> None:
        """The scenario names all that its command writes; folders above are made as needed."""
        for line in differences(self.before, self.wanted):
            path = Path(line.rsplit(" is ", 1)[0].removesuffix(" differs"))
            outputs = [Path(WORK, output) for output in self.scenario.outputs]
            if not any(path == output or output in path.parents or path in output.parents for output in outputs):
                raise RuntimeError(f"{self.name} writes what the scenario does not name: {line}")

    # ------------------------------------------------------------------------------------------------------- cases

    def cases(
        self, every: int = 1, faults: list[str] = KINDS, numbers: range | None = None, alike: bool = True
    ) -> Iterator[Case]:
        """Every operation with every fault that it can have; of `every` operations one, each time another fault.

        Without `alike`, only the first of the operations that differ in numbers and random names alone.
        """
        seen = set()
        for operation in self.operations:
            if numbers is not None and operation.number not in numbers:
                continue
            kind = operation.name, unnumbered(operation.path)
            if not alike and kind in seen:
                continue
            seen.add(kind)
            for place, fault in enumerate(faults):
                turn = (operation.number + place) % every == 0  # the faults take turns
                if applies(fault, operation) and turn:
                    yield Case(self.name, operation, fault)

    def run(self, case: Case) -> Case:
        """Runs a case and fills in its problems."""
        planted = self.reset()
        arguments = self.scenario.arguments
        fault, number = case.fault, case.operation.number
        told: list[str] = []
        for turn in range(MOST + 1):
            met = (number, fault) if turn == 0 else (0, "none")
            outcome = self.server.run([*arguments, *told], WORK, self.scenario.prepare, *met)
            case.runs.append(([*arguments, *told], outcome))
            case.problems += wrong_with(outcome, met[1])
            case.problems += [f"a file of somebody else's: {line}" for line in self.harmed(planted)]
            if turn == 0 and self.scenario.atomic:
                case.problems += self.half_written()
            if outcome.code == 0 and turn == 0 and self.scenario.partial and self.scenario.partial in outcome.out:
                continue
            if outcome.code == 0:
                case.problems += differences(self.wanted, contents(self.server.root))
                return case
            following = self.advice(outcome, case, told)
            if turn > 0 and following is None:
                case.problems.append(f"the same command is refused, and nothing helps: {last_line(outcome)}")
                return case
            told = following or []
        case.problems.append(f"no end: {last_line(outcome)}")
        return case

    def harmed(self, planted: dict[str, tuple]) -> list[str]:
        """Planted files that have changed or are gone."""
        there = marks(self.server.root)
        return [
            f"{path} {'has changed' if path in there else 'is gone'}"
            for path, mark in planted.items()
            if there.get(path) != mark
        ]

    def half_written(self) -> list[str]:
        """Outputs that are neither absent nor as before nor whole."""
        problems = []
        for output in self.scenario.outputs:
            path = f"{WORK}/{output}"
            there = contents(self.server.root, (path,))
            whole = below(self.wanted, path)
            if there not in ({path: "nothing"}, below(self.before, path), whole):
                problems.append(f"half an output under its name: {differences(whole, there)[:3]}")
        return problems

    def advice(self, outcome: Outcome, case: Case, told: list[str]) -> list[str] | None:
        """The options that a message offers, one at a time: of two that are offered odd and even operations try
        different ones first. None if it offers nothing that has not been tried."""
        offered = [option for option in self.scenario.options if outcome.code == 2 and option in last_line(outcome)]
        offered = [option for option in offered if option not in told]
        if not offered:
            return None
        return [offered[(case.operation.number + KINDS.index(case.fault)) % len(offered)]]


def wrong_with(outcome: Outcome, fault: str) -> list[str]:
    """What is wrong with how a command ended."""
    if outcome.code is None:
        return ["hangs"]
    if outcome.code < 0:
        return [] if fault in ("kill", "torn") and outcome.code == -9 else [f"ended by signal {-outcome.code}"]
    if fault in ("kill", "torn"):
        return ["was not killed: the operations are not the same each time"]
    if "Traceback" in outcome.err or "internal fault" in outcome.err or outcome.code not in (0, 2):
        return [f"exit code {outcome.code}: {last_line(outcome)}"]
    said = [line for line in outcome.err.splitlines() if line.startswith("salience: ")]
    if outcome.code == 2 and len(said) != 1:
        return [f"exit code 2 with {len(said)} lines of salience's: {outcome.err[-300:]!r}"]
    return []


def unnumbered(path: str) -> str:
    """A path without its numbers and random parts."""
    return re.sub(r"\.tmp\w+|\.[0-9a-f]{8}\.|[0-9]+", "#", path)


def applies(fault: str, operation: Operation) -> bool:
    """Whether an operation can have a fault, and it is not that of a neighbour: a kill before a file is read leaves
    what a kill before the next operation leaves, and where no space is taken a full disk is not met."""
    if fault == "kill":
        return operation.kind in "apd"
    if fault == "torn":
        return operation.kind == "d" and operation.size > 1
    if fault == "full":
        return operation.kind in "ads"
    return operation.kind in "rap"


def below(tree: dict[str, str], path: str) -> dict[str, str]:
    return {name: value for name, value in tree.items() if name == path or name.startswith(path + "/")}


def last_line(outcome: Outcome) -> str:
    lines = outcome.err.strip().splitlines()
    return lines[-1] if lines else "(said nothing)"


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
