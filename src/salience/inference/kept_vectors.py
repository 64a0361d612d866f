"""Vectors of a frozen encoder, computed once in a process for texts that are wanted again.

In a grid, all runs are tested on the same rows, and those on all rows are trained on the same ones. The last digits of
a text's vector depend on the batch that it is in. So only whole lists of texts are kept: what a run gets does not
depend on the runs before it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from salience.data.texts import Texts, TextsLike
from salience.inference.frozen_encoder import FrozenEncoder, load_frozen
from salience.models.sources import model_source

LIMIT = 256 * 2**20  # bytes of vectors that are kept: 170,000 texts of MiniLM
_kept: OrderedDict[tuple, tuple[np.ndarray, float]] = OrderedDict()  # the key to the vectors and their seconds


@dataclass
class KeptEncoder:
    """An encoder as `load_frozen` loads it, which is loaded only for texts whose vectors are not kept.

    Args:
        name, max_length, device, precision: as of `load_frozen`.
        saved: seconds that computing the kept vectors took when they were computed.
    """

    name: str = "minilm"
    max_length: int | None = None
    device: str = "auto"
    precision: str = "auto"
    saved: float = 0.0
    loaded: FrozenEncoder | None = None

    def vectors(self, texts: TextsLike) -> np.ndarray:
        """The vectors (N, D), as `FrozenEncoder.vectors` gives them; not to be written to.

        Raises:
            InputError: as `load_frozen` and `FrozenEncoder.vectors`.
        """
        given = Texts.of(texts)
        key = (stamp(self.name), self.max_length, self.device, self.precision, digest_of_texts(given))
        if key in _kept:
            _kept.move_to_end(key)
            vectors, seconds = _kept[key]
            self.saved += seconds
            return vectors
        started = time.perf_counter()
        if self.loaded is None:
            self.loaded = load_frozen(self.name, self.max_length, self.device, self.precision)
        vectors = self.loaded.vectors(given)
        vectors.setflags(write=False)
        keep(key, vectors, time.perf_counter() - started)
        return vectors


def keep(key: tuple, vectors: np.ndarray, seconds: float, limit: int | None = None) -> None:
    """Keeps vectors, and forgets those that were not wanted for the longest time until all fit into `limit` bytes."""
    _kept[key] = vectors, seconds
    while sum(each.nbytes for each, _ in _kept.values()) > (LIMIT if limit is None else limit):
        _kept.popitem(last=False)


def stamp(name: str) -> tuple:
    """What changes if the files of a model change: its place, and name, size and time of every file in a folder."""
    source = Path(model_source(name))
    files = sorted(file for file in source.iterdir() if file.is_file()) if source.is_dir() else []
    return (str(source), *((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files))


def digest_of_texts(texts: Texts) -> str:
    """The SHA-256 of texts or pairs, in their order."""
    found = sha256(b"single" if texts.second is None else b"pairs")
    for column in (texts.texts, texts.second or []):
        for text in column:
            content = text.encode("utf-8", "surrogatepass")
            found.update(len(content).to_bytes(8, "little") + content)
    return found.hexdigest()
