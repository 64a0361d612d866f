"""Initial word embeddings, from a file of word vectors or from the word-piece embeddings of an encoder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
