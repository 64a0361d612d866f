"""Which files of a folder a run wrote: only these are ever deleted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from salience._version import __version__
from salience.files import files_in, write_json

RECIPE = "recipe.yaml"
MANIFEST = "manifest.json"
# Runs of earlier versions have no manifest. They hold these files and no others.
BEFORE_MANIFESTS = {
    RECIPE, "README.md", "metrics.json", "predictions.jsonl", "config.json", "model.safetensors", "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model",
    "sentencepiece.bpe.model", "added_tokens.json",
}  # fmt: skip


def write_manifest(folder: Path) -> None:
    """Lists all files of a folder in it. They get the mode that the user's mask gives to new files."""
    manifest = folder / MANIFEST
    write_json(manifest, {"written by": f"salience {__version__}", "files": sorted({*files_in(folder), MANIFEST})})
    for file in files_in(folder):
        shutil.copymode(manifest, folder / file)


def written_by_run(folder: Path) -> set[str]:
    """The files of a run folder that the run wrote, as paths relative to it; none of a folder that is no run."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        written = manifest["written by"].startswith("salience ")  # other tools have files of this name, too
        return {MANIFEST, *manifest["files"]} if written else set()
    except FileNotFoundError:
        return BEFORE_MANIFESTS if is_run_without_manifest(folder) else set()
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


def is_run_without_manifest(folder: Path) -> bool:
    """Whether an earlier version of salience wrote this folder."""
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        return "salience" in metrics["versions"] and (folder / RECIPE).is_file()
    except (OSError, ValueError, TypeError, KeyError):
        return False
