"""The harness's cases: a few, or with SALIENCE_FAULTS (`make test-faults`) operations of all kinds of all commands."""

import os

import pytest

from faults.cases import Bench, wrong_with
from faults.run import show, table
from faults.scenarios import SCENARIOS, WORK
from faults.server import Outcome, serving

pytestmark = pytest.mark.whole

WHOLE = "SALIENCE_FAULTS" in os.environ
# Of so many operations one for each fault. A command that trains or traces takes seconds.
FEWER = {"train": 2, "train-again": 3, "compare": 4, "export": 4, "export-again": 6}
EVERY = dict.fromkeys(SCENARIOS, 1) | FEWER if WHOLE else {"train": 80, "predict-jsonl": 14, "reproduce": 15}


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


@pytest.mark.parametrize("name", EVERY)
def test_after_a_fault_the_same_command_ends_as_if_undisturbed(server, name):
    bench = Bench(server, name)
    done = [bench.run(case) for case in bench.cases(EVERY[name], alike=not WHOLE)]
    print(table(done, {name: len(bench.operations)}))
    failed = [case for case in done if case.problems]
    for case in failed:
        show(case)
    assert done and not failed, "\n".join(map(str, failed))


def test_another_result_and_another_file_of_somebody_else_are_told(server):
    """The harness itself: what it must not overlook."""
    bench = Bench(server, "reproduce")
    case = next(bench.cases(faults=["kill"]))
    bench.wanted |= {f"{WORK}/results/new.jsonl": "something else"}
    assert bench.run(case).problems[-1] == f"{WORK}/results/new.jsonl differs"
    planted = bench.reset()
    (server.root / WORK / "notes.txt").touch()
    (server.root / WORK / ".hidden").unlink()
    assert sorted(bench.harmed(planted)) == [f"{WORK}/.hidden is gone", f"{WORK}/notes.txt has changed"]
    half = server.root / WORK / "results" / "new.jsonl"
    half.write_text("{")
    assert bench.half_written()


ENDINGS = {  # how a command ended, the fault, and what is wrong with it
    "killed": (Outcome(-9, "", "", []), "kill", ""),
    "never met": (Outcome(0, "", "", []), "kill", "was not killed"),
    "crashed": (Outcome(-11, "", "", []), "full", "signal 11"),
    "hung": (Outcome(None, "", "", []), "full", "hangs"),
    "one line": (Outcome(2, "", "a note\nsalience: the disk is full\n", []), "full", ""),
    "no line": (Outcome(2, "", "the disk is full\n", []), "full", "0 lines"),
    "internal": (Outcome(1, "", "salience: internal fault\n", []), "denied", "exit code 1"),
    "traceback": (Outcome(2, "", "Traceback\nsalience: refused\n", []), "denied", "exit code 2"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_endings(name):
    outcome, fault, problem = ENDINGS[name]
    told = wrong_with(outcome, fault)
    assert problem in told[0] if problem else not told
