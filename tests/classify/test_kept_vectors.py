"""Vectors of a frozen encoder are computed once for the same texts, and are those of the encoder."""

import numpy as np
import pytest

import families
from labelled import FILLER, WORDS, labelled_rows
from salience.classify import frozen_encoder as kept_vectors
from salience.classify.frozen_encoder import FrozenEncoder, KeptEncoder, load_frozen
from salience.data.texts import Texts

TEXTS = [text for text, _ in labelled_rows(12)]


@pytest.fixture
def folder(tmp_path):
    return str(families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)]))


@pytest.fixture
def computed(monkeypatch):
    """The numbers of texts whose vectors are computed; nothing is kept from earlier tests."""
    counts = []
    vectors = FrozenEncoder.vectors

    def counted(self, texts):
        counts.append(len(texts))
        return vectors(self, texts)

    monkeypatch.setattr(FrozenEncoder, "vectors", counted)
    kept_vectors._kept.clear()
    return counts


def test_the_same_texts_are_computed_once(folder, computed):
    expected = load_frozen(folder, None, "cpu", "fp32").vectors(TEXTS)
    first, second = (KeptEncoder(folder, None, "cpu", "fp32") for _ in range(2))
    assert np.array_equal(first.vectors(TEXTS), expected)
    assert np.array_equal(second.vectors(Texts(TEXTS, labels=[0] * 12)), expected)
    assert computed == [12, 12]  # of the encoder itself, and once of the two
    assert first.saved == 0 and second.saved > 0
    assert second.loaded is None
    first.vectors(TEXTS[:5])  # another list, whose batches are others
    assert computed == [12, 12, 5]


def test_whatever_changes_the_vectors_is_part_of_the_key(folder, computed, tmp_path):
    KeptEncoder(folder, None, "cpu", "fp32").vectors(TEXTS)
    for other in (KeptEncoder(folder, 4, "cpu", "fp32"), KeptEncoder(folder, None, "cpu", "bf16")):
        other.vectors(TEXTS)
    KeptEncoder(folder, None, "cpu", "fp32").vectors(list(zip(TEXTS, TEXTS, strict=True)))
    assert computed == [12] * 4
    before = KeptEncoder(folder, None, "cpu", "fp32").vectors(TEXTS)
    families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)], seed=1)
    assert not np.allclose(before, KeptEncoder(folder, None, "cpu", "fp32").vectors(TEXTS), atol=1e-3)
    assert len(computed) == 5


def test_the_room_is_bounded(folder, computed, monkeypatch):
    size = KeptEncoder(folder, None, "cpu", "fp32").vectors(TEXTS).nbytes
    monkeypatch.setattr(kept_vectors, "LIMIT", size * 3 // 2)
    encoder = KeptEncoder(folder, None, "cpu", "fp32")
    for texts in (TEXTS, TEXTS[::-1], TEXTS[::-1], TEXTS):
        encoder.vectors(texts)
    assert len(computed) == 3


def test_lists_are_told_apart_by_where_texts_end(folder, computed):
    encoder = KeptEncoder(folder, None, "cpu", "fp32")
    for texts in (Texts(["ab", "c"]), Texts(["a", "bc"]), Texts(["ab"], ["c"]), Texts(["c", "ab"])):
        encoder.vectors(texts)
    assert len(computed) == 4
