"""The manifest of a run folder lists the files that the run wrote. Only these files are ever removed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path, PurePath

from salience._version import __version__
from salience.files import files_in, write_json

RECIPE = "recipe.yaml"
MANIFEST = "manifest.json"


def write_manifest(folder: Path) -> None:
    """Writes a manifest of all files in a folder, and gives them the file mode of new files (the umask)."""
    manifest = folder / MANIFEST
    write_json(manifest, {"written by": f"salience {__version__}", "files": sorted({*files_in(folder), MANIFEST})})
    for file in files_in(folder):
        shutil.copymode(manifest, folder / file)


def add_to_manifest(folder: Path, *names: str) -> None:
    """Adds files to the manifest of a run folder."""
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    files = {*content["files"], *names}
    if len(files) > len(content["files"]):
        write_json(folder / MANIFEST, content | {"files": sorted(files)})


def written_by_run(folder: Path) -> set[str]:
    """The files that a run wrote to its folder, as relative paths; an empty set if the folder is not a run folder.

    Folders are fetched from elsewhere, too: names of files outside the folder are left out.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        written = manifest["written by"].startswith("salience ")  # other tools write files of this name, too
        return {MANIFEST, *filter(is_inside, manifest["files"])} if written else set()
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


def is_inside(file: str) -> bool:
    """Whether a relative path stays in its folder."""
    return not PurePath(file).is_absolute() and ".." not in PurePath(file).parts
