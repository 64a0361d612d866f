"""Imports go down the floors of the house only, never between packages of a floor, never in a circle of files."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import salience

ROOT = Path(salience.__file__).parent
FLOORS = {
    "_version": 0, "errors": 0, "settings": 0, "files": 0, "processes": 0, "batch": 0, "spans": 0, "templating": 0,
    "hooks": 0, "jobs": 0,
    "models": 1, "data": 1,
    "scores": 2,
    "runs": 3,
    "classify": 4,
    "export": 5, "explainers": 5,
    "mixing": 6, "faithfulness": 6,
    "training": 7,
    "estimator": 8, "comparison": 8, "audit": 8, "suggestions": 8,
    "report": 9,
    "papers": 10,
    "cli": 11,
    "__main__": 12,
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
