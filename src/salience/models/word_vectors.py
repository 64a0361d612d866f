"""Initial word embeddings: from a file in the text format of GloVe and word2vec, or from an encoder's own table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from salience.errors import InputError
from salience.opening import readable_text


def read_word_vectors(file: str | Path, vocabulary: Mapping[str, int]) -> tuple[dict[int, Tensor], int]:
    """The vectors of the words of `vocabulary` (word -> id) that the file holds, by id, and their width.

    A line is a word and its numbers between spaces; word2vec's first line, with how many words of which width follow,
    is skipped. Words in capitals are taken where the file has no lower-case form before them. The file is read line
    by line and may be gzipped.

    Raises:
        InputError: no such file, a line that is none, or no word of the vocabulary.
    """
    path = Path(file)
    found: dict[int, Tensor] = {}
    width = 0
    with readable_text(path, "utf-8") as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue
            width = width or len(numbers)
            # A few words of GloVe's largest file hold spaces.
            word, numbers = " ".join([word, *numbers[:-width]]), numbers[-width:]
            identity = vocabulary.get(word, vocabulary.get(word.lower()))
            if identity is not None and identity not in found:
                found[identity] = as_vector(numbers, width, path, number)
    if not found:
        raise InputError(f"--embeddings {path}: none of the {len(vocabulary)} words of the training texts is in it")
    return found, width


def as_vector(numbers: list[str], width: int, path: Path, line: int) -> Tensor:
    try:
        vector = torch.tensor([float(number) for number in numbers])
    except ValueError:
        vector = torch.empty(0)
    if len(vector) != width or not width or not vector.isfinite().all():
        raise InputError(f"--embeddings {path}, line {line}: not a word and {width} numbers")
    return vector


def word_piece_vectors(words: Mapping[str, int], tokenizer, table: Tensor) -> dict[int, Tensor]:
    """A vector for every word (word -> id): the mean of its word pieces' rows in an encoder's table (V, D)."""
    if not words:
        return {}
    names = list(words)
    pieces = tokenizer(names, add_special_tokens=False)["input_ids"]
    return {words[name]: table[ids].mean(0) for name, ids in zip(names, pieces, strict=True) if ids}


def fill(table: Tensor, vectors: Mapping[int, Tensor]) -> None:
    """Writes vectors into the rows of a table (V, D); the other rows keep what they have."""
    with torch.no_grad():
        table[list(vectors)] = torch.stack(list(vectors.values())).to(table.dtype)
