"""Imports go down the floors of the house only, and never between packages of one floor."""

import ast
from pathlib import Path

import pytest

import salience

ROOT = Path(salience.__file__).parent
FLOORS = {
    "_version": 0, "errors": 0, "settings": 0, "files": 0, "processes": 0, "batch": 0, "spans": 0, "templating": 0,
    "hooks": 0, "jobs": 0,
    "models": 1, "data": 1, "scores": 1,
    "runs": 2, "classify": 2,
    "export": 3, "explainers": 3,
    "mixing": 4, "faithfulness": 4,
    "training": 5,
    "estimator": 6, "comparison": 6, "audit": 6, "suggestions": 6,
    "report": 7,
    "papers": 8,
    "commands": 9,
    "cli": 10,
    "__main__": 11,
}  # fmt: skip
FILES = sorted(ROOT.rglob("*.py"))


def place(module: str) -> str:
    """salience.data.reading -> data"""
    return module.split(".")[1]


def imported(file: Path) -> set[str]:
    """The modules of salience that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("salience."):
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("salience.")}
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_down(file):
    relative = file.relative_to(ROOT)
    if relative.name == "__init__.py" and len(relative.parts) == 1:
        return  # the one public list of names
    here = relative.parts[0].removesuffix(".py")
    for module in imported(file):
        there = place(module)
        assert there == here or FLOORS[there] < FLOORS[here] or {here, there} <= floor_zero(), f"{relative}: {module}"


def floor_zero() -> set[str]:
    return {name for name, floor in FLOORS.items() if floor == 0}


def test_every_file_has_a_floor():
    assert {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in FILES} <= FLOORS.keys() | {"__init__"}


def test_hooks_live_in_one_place():
    for file in FILES:
        if "register_forward" in file.read_text(encoding="utf-8"):
            assert file.parent.name == "hooks"
