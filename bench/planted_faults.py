"""How many of some small faults, planted in the package by a fixed seed, the tests find.

    python bench/planted_faults.py faults OLD NEW faults.json            # chooses faults that both trees can have
    python bench/planted_faults.py run TREE faults.json found.json [--coverage FILE] [--mark "not whole"] [--most 12]

A fault is a sign, a bound, a dropped check or a wrong axis, in a statement that stands in a function of the same name
in both trees, so that two versions of the tests are asked for the same ones. With coverage data whose contexts are
test files, only the files that run the line are asked, those that run fewest lines first. A tree is a clone of its
own: its files are changed and restored. The run can be repeated and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import select
import signal
import sqlite3
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

IMPORTED = (
    "torch", "transformers", "transformers.modeling_utils", "transformers.trainer", "accelerate", "datasets", "pandas",
    "hypothesis", "scipy.stats", "sklearn.linear_model", "sklearn.model_selection", "matplotlib.figure", "yaml",
)  # fmt: skip
KINDS = ("sign", "bound", "check", "axis")
SIGNS = {ast.Add: "-", ast.Sub: "+"}
BOUNDS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
REDUCTIONS = ("sum", "mean", "max", "min", "argmax", "argmin", "argsort", "softmax", "log_softmax", "cumsum", "any")
SECONDS = 900  # for the tests of one file
NO_FAILURE = (0, 5)  # exit codes of pytest; 5: no test of a file is selected


def changed(text: str, lines: list[str], node: ast.AST, new: str) -> str:
    """The text of a file with that of one node replaced."""
    begin = sum(len(line.encode()) for line in lines[: node.lineno - 1]) + node.col_offset
    end = sum(len(line.encode()) for line in lines[: node.end_lineno - 1]) + node.end_col_offset
    raw = text.encode()
    return (raw[:begin] + new.encode() + raw[end:]).decode()


def faults_in(statement: ast.stmt) -> Iterator[tuple[str, ast.AST, str]]:
    """The kind, the node and the new text of every fault that a statement can have, without those inside it."""
    if isinstance(statement, ast.If) and len(statement.body) == 1 and isinstance(statement.body[0], ast.Raise):
        yield "check", statement.test, "False"
    inside = [statement.test] if isinstance(statement, ast.If | ast.While) else [statement]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.For | ast.With | ast.Try | ast.Match):
        inside = []
    for node in (each for part in inside for each in ast.walk(part)):
        if (
            isinstance(node, ast.BinOp)
            and type(node.op) in SIGNS
            and not isinstance(node.left, ast.Constant | ast.JoinedStr)
        ):
            yield "sign", node, f"{ast.unparse(node.left)} {SIGNS[type(node.op)]} ({ast.unparse(node.right)})"
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in BOUNDS:
            yield (
                "bound",
                node,
                f"{ast.unparse(node.left)} {BOUNDS[type(node.ops[0])]} {ast.unparse(node.comparators[0])}",
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS:
            axes = [*node.args[:1], *(word.value for word in node.keywords if word.arg in ("axis", "dim"))]
            for axis in axes:
                if ast.unparse(axis) in ("0", "1", "-1"):
                    yield "axis", axis, "1" if ast.unparse(axis) == "0" else "0"


def faults_of(tree: Path) -> dict[tuple[str, str, str, str], tuple[str, int, str]]:
    """By function, statement, kind and new text: the file, the line and the file's new text; those that are unique."""
    found: dict[tuple[str, str, str, str], tuple[str, int, str] | None] = {}
    for file in sorted((tree / "src" / "salience").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef):
                continue
            for statement in ast.walk(function):
                if not isinstance(statement, ast.stmt) or statement is function:
                    continue
                shown = ast.unparse(statement.test) if isinstance(statement, ast.If) else ast.unparse(statement)
                for kind, node, new in faults_in(statement):
                    key = (function.name, shown, kind, f"{ast.unparse(node)} -> {new}")
                    place = (str(file.relative_to(tree)), node.lineno, changed(text, lines, node, new))
                    found[key] = None if key in found and found[key] != place else place
    return {key: place for key, place in found.items() if place is not None}


def choose(old: Path, new: Path, count: int, seed: int) -> list[list[str]]:
    """Faults that both trees can have, as many of each kind as there are, drawn by a seed."""
    both = sorted(faults_of(old).keys() & faults_of(new).keys())
    drawn: list[list[str]] = []
    for kind in KINDS:
        of_kind = [key for key in both if key[2] == kind]
        drawn += map(list, random.Random(seed).sample(of_kind, min(count // len(KINDS), len(of_kind))))
    return drawn


def covering(coverage: Path | None, tree: Path, file: str, line: int) -> list[str]:
    """The test files that run a line, those that run fewest arcs first; all tests without coverage data."""
    if coverage is None:
        return ["tests"]
    with sqlite3.connect(coverage) as data:
        rows = data.execute(
            "select context.context, count(*) from arc join context on context.id = arc.context_id where context_id in"
            " (select arc.context_id from arc join file on file.id = arc.file_id where file.path like ?"
            " and (abs(fromno) = ? or abs(tono) = ?)) group by context.context order by 2",
            (f"%/{file}", line, line),
        ).fetchall()
    return [name for name, _ in rows if name and (tree / name).exists()]


def found_by(tree: Path, key: tuple[str, str, str, str], coverage: Path | None, mark: str, most: int | None) -> str:
    """The first test file that fails with a fault, of the first `most` ones, or an empty text."""
    file, line, text = faults_of(tree)[key]
    place, before = tree / file, (tree / file).read_text(encoding="utf-8")
    place.write_text(text, encoding="utf-8")
    try:
        for tests in covering(coverage, tree, file, line)[:most]:
            if (code := code_of(tree, tests, mark)) not in NO_FAILURE:
                place.write_text(before, encoding="utf-8")
                if code_of(tree, tests, mark) in NO_FAILURE:
                    return tests if code >= 0 else f"{tests} (timeout)"
                place.write_text(text, encoding="utf-8")
    finally:
        place.write_text(before, encoding="utf-8")
    return ""


def code_of(tree: Path, tests: str, mark: str) -> int:
    """The exit code of some tests in a fork, which has imported the large libraries, and nothing of a tree."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(tree / "src"))
        os.chdir(tree)
        os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *(["-m", mark] if mark else []), tests]))
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], SECONDS)
    os.close(handle)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["faults", "run"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coverage", type=Path)
    parser.add_argument("--mark", default="")
    parser.add_argument("--most", type=int, help="test files that are asked of a fault")
    given = parser.parse_args()
    if given.action == "faults":
        old, new, target = given.files
        target.write_text(json.dumps(choose(old, new, given.count, given.seed), indent=1) + "\n", encoding="utf-8")
        return
    os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "ONEDNN_MAX_CPU_ISA": "AVX2"}  # as tests/conftest.py
    for name in IMPORTED:
        import_module(name)
    tree, faults, target = given.files
    done = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    for fault in json.loads(faults.read_text(encoding="utf-8")):
        name = " | ".join(fault)
        if name not in done:
            done[name] = found_by(tree.resolve(), tuple(fault), given.coverage, given.mark, given.most)
            target.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
            print(f"{done[name] or 'not found'}: {name[:150]}", flush=True)
    print(f"{sum(map(bool, done.values()))} of {len(done)} found")


if __name__ == "__main__":
    main()
