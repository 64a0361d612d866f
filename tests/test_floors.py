"""Imports go down the floors of the house only, never between packages of a floor, never in a circle of files."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import salience

ROOT = Path(salience.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "contributing.md").read_text(encoding="utf-8")
FLOORS = {
    "_version": 0, "errors": 0, "settings": 0, "files": 0, "processes": 0, "batch": 0, "spans": 0, "templating": 0,
    "hooks": 0, "jobs": 0, "work": 0,
    "scores": 1, "data": 1,
    "models": 2, "runs": 2,
    "classify": 3,
    "export": 4, "explainers": 4,
    "mixing": 5, "faithfulness": 5,
    "training": 6,
    "estimator": 7, "comparison": 7, "audit": 7, "suggestions": 7,
    "report": 8,
    "papers": 9,
    "cli": 10,
    "__main__": 11,
}  # fmt: skip
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {  # by name; the public list of names, which imports everybody, is none
    ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for file in FILES
    if file != ROOT / "__init__.py"
}


def place(module: str) -> str:
    """salience.data.reading -> data"""
    return module.split(".")[1]


@cache
def imported(file: Path) -> set[str]:
    """The modules of salience that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("salience."):
            found |= {
                name if (name := f"{node.module}.{alias.name}") in MODULES else node.module for alias in node.names
            }
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("salience.")}
    return found


def test_imports_go_down():
    wrong = []
    for file in MODULES.values():
        here = file.relative_to(ROOT).parts[0].removesuffix(".py")
        for module in imported(file):
            there = place(module)
            if there != here and FLOORS[there] >= FLOORS[here] and not {here, there} <= floor_zero():
                wrong.append(f"{file.relative_to(ROOT)}: {module}")
    assert wrong == []


def test_no_files_import_each_other():
    """Not in a circle either, and not inside functions, where a circle hides."""
    TopologicalSorter({name: imported(file) - {name} for name, file in MODULES.items()}).prepare()


def floor_zero() -> set[str]:
    return {name for name, floor in FLOORS.items() if floor == 0}


def test_every_file_has_a_floor():
    assert {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in FILES} <= FLOORS.keys() | {"__init__"}


def test_hooks_live_in_one_place():
    for file in FILES:
        if "register_forward" in file.read_text(encoding="utf-8"):
            assert file.parent.name == "hooks"


def test_the_page_for_contributors_has_the_floors():
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", PAGE, re.MULTILINE)
    named = {
        name.removesuffix(".py"): int(floor) for floor, names in rows for name in re.findall(r"`([\w.]+)`", names)
    }
    packages = {name for name in FLOORS if (ROOT / name).is_dir()}
    assert named == {name: FLOORS[name] for name in named} and packages <= named.keys()
