"""What lies in a folder, so that two of them can be compared bit for bit."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

# All that may differ between two undisturbed runs: how long they took, and when they ended. By the end of the name.
TIMINGS = [
    ("metrics.json", rb'"seconds": [0-9.e+-]+'),
    (".jsonl", rb'"seconds": [0-9.e+-]+'),
    ("comparison.json", rb'"seconds": \[[^]]*\]'),
    ("report.html", rb"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} UTC"),
]


def contents(root: Path, below: tuple[str, ...] = ("",)) -> dict[str, str]:
    """Every file, folder and link below the given folders of `root`, with the SHA-256 of what is in it."""
    tree = {}
    for top in below:
        for path in sorted([root / top, *(root / top).rglob("*")]):
            tree[str(path.relative_to(root))] = content(path)
    return tree


def content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        return "folder"
    if not path.exists():
        return "nothing"
    if path.parent.name == "compared" and path.name in ("report.html", "report.md"):
        return "a report"  # times are all over it, and the values are those of comparison.json
    data = path.read_bytes()
    if path.name == "results.csv":
        rows = csv.DictReader(data.decode("utf-8").splitlines())
        data = json.dumps([row | {"seconds": 0} for row in rows]).encode()
    for ending, timing in TIMINGS:
        if path.name.endswith(ending):
            data = re.sub(timing, b'"seconds": 0', data)
    return hashlib.sha256(data).hexdigest()


def marks(root: Path) -> dict[str, tuple]:
    """Every file below `root` with what must not change of a file that is somebody else's."""
    found = {}
    for path in root.rglob("*"):
        about = path.lstat()
        if path.is_symlink() or not path.is_dir():
            found[str(path.relative_to(root))] = (exact(path), about.st_mtime_ns, about.st_mode)
        else:
            found[str(path.relative_to(root))] = ("folder", about.st_mode)
    return found


def exact(path: Path) -> str:
    return str(path.readlink()) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()


def differences(wanted: dict, there: dict) -> list[str]:
    """The paths in which two trees differ, each with how; of a whole folder only its own path."""
    missing, more = outermost(wanted.keys() - there.keys()), outermost(there.keys() - wanted.keys())
    differing = [path for path in wanted if path in there and wanted[path] != there[path]]
    return (
        [f"{path} is missing" for path in missing]
        + [f"{path} is left over" for path in more]
        + [f"{path} differs" for path in differing]
    )


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths that lie in no other one of them."""
    kept: list[str] = []
    for path in sorted(paths):
        if not any(path.startswith(other + "/") for other in kept):
            kept.append(path)
    return kept
