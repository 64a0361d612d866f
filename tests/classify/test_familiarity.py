"""How familiar texts are: against a slow loop over training texts, how often it is low, and its file."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import families
import long_readers
from salience.classify import TextClassifier, load
from salience.classify.classifier import at_once
from salience.classify.familiarity import FAMILIARITY, NEAREST, UNFAMILIAR, Familiarity, read_familiarity
from salience.data.encoding import Encoded
from salience.data.texts import Texts
from salience.errors import InputError


def slow_vectors(classifier, encoded: Encoded, layer: int) -> list[np.ndarray]:
    """The vector of each text: the mean of the states that transformers gives for it alone."""
    found = []
    for row in range(len(encoded)):
        ids = torch.from_numpy(np.asarray(encoded[row]["input_ids"]))[None]
        with torch.no_grad():
            states = classifier.model.bert(ids, output_hidden_states=True).hidden_states[layer][0]
        mean = states.mean(0).numpy()
        found.append(mean / np.linalg.norm(mean))
    return found


def slow_distance(vector: np.ndarray, known: list[np.ndarray]) -> float:
    nearest = sorted(1 - float(vector @ other) for other in known)[:NEAREST]
    return sum(nearest) / len(nearest)


@pytest.fixture
def classifier(model):
    return load(model, precision="fp32")


def texts_of(count: int, seed: int) -> list[str]:
    random, words = np.random.default_rng(seed), ["good", "bad", "fine", "poor", "film", "story"]
    return [" ".join(random.choice(words, random.integers(1, 7))) for _ in range(count)]


@pytest.mark.parametrize(("count", "groups"), [(40, 40), (40, 9), (4, 3)])
def test_against_a_slow_loop(classifier, count, groups):
    training, new = texts_of(count, 0), texts_of(7, 1)
    numbers = np.arange(count) % groups
    encoded = classifier.read([*training, "a description"])  # of a label, which is no text
    familiarity = Familiarity.of(classifier, encoded, numbers)
    vectors = slow_vectors(classifier, encoded, familiarity.layer)[:count]
    usual = [
        slow_distance(own, [other for other, group in zip(vectors, numbers, strict=True) if group != number])
        for own, number in zip(vectors, numbers, strict=True)
    ]
    assert familiarity.usual == pytest.approx(sorted(usual), abs=1e-3)  # vectors are kept in half of the bytes
    probabilities, found = familiarity.with_probabilities(classifier, classifier.read(new), at_once)
    assert np.array_equal(probabilities, classifier.predict_proba(new))
    known = list(familiarity.vectors.astype(np.float32))
    for own, value in zip(slow_vectors(classifier, classifier.read(new), familiarity.layer), found, strict=True):
        distance = slow_distance(own, known)
        between = [
            (1 + sum(each >= limit for each in familiarity.usual)) / (1 + count)
            for limit in (distance + 1e-5, distance - 1e-5)
        ]
        assert between[0] <= value <= between[1]


def test_a_text_in_windows_has_the_mean_distance_of_these():
    reader, heads = long_readers.classifier("windows"), long_readers.classifier("head")
    random = np.random.default_rng(0)
    texts = Texts([" ".join(random.choice(long_readers.WORDS, size)) for size in (3, 60, 5, 40, 4, 50)])
    passages, encoded = reader.passages(texts), reader.read(texts)
    familiarity = Familiarity.of(reader, encoded, np.arange(6))
    assert len(familiarity.vectors) == len(passages.texts) > 6 == len(familiarity.usual)
    vectors = slow_vectors(heads, heads.read(passages.texts), familiarity.layer)
    owned = list(zip(vectors, passages.owners, strict=True))
    usual = [
        np.mean(
            [
                slow_distance(own, [other for other, text in owned if text != number])
                for own, text in owned
                if text == number
            ]
        )
        for number in range(6)
    ]
    assert familiarity.usual == pytest.approx(sorted(usual), abs=1e-3)
    probabilities, found = familiarity.with_probabilities(reader, encoded, at_once)
    assert np.array_equal(probabilities, reader.probabilities(encoded)) and found.shape == (6,)


def test_of_new_texts_like_the_training_texts_few_are_told():
    """Exactly 2 of 40 of the time, where no distances are equal: the new one is as often the farthest as any other."""
    random, times = np.random.default_rng(0), 4000
    low = [Familiarity(1, np.zeros((0, 1)), np.sort(random.random(39))).shares(random.random(1)) for _ in range(times)]
    share = np.mean(np.array(low) <= UNFAMILIAR)
    assert share == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / times) ** 0.5)


def test_the_file_gives_the_same_and_a_damaged_one_is_named(classifier, tmp_path):
    familiarity = Familiarity.of(classifier, classifier.read(texts_of(20, 0)), np.arange(20))
    familiarity.write(tmp_path)
    found = read_familiarity(tmp_path, classifier)
    assert found.layer == familiarity.layer
    assert np.array_equal(found.vectors, familiarity.vectors) and np.array_equal(found.usual, familiarity.usual)
    file = tmp_path / FAMILIARITY
    whole = file.read_bytes()
    for damaged in (b"", whole[:200], whole.replace(b"vectors", b"others_")):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=f"{FAMILIARITY} is damaged .*train again, or remove the file"):
            read_familiarity(tmp_path, classifier)
    replaced = Familiarity(familiarity.layer, familiarity.vectors[:, :3], familiarity.usual)
    replaced.write(tmp_path)
    with pytest.raises(InputError, match="it is not about this model"):
        read_familiarity(tmp_path, classifier)


def test_without_layers_or_other_texts_nothing_is_known(classifier):
    encoded = classifier.read(["good film"] * 3)
    assert Familiarity.of(classifier, encoded, np.zeros(3, int)) is None
    own = TextClassifier(families.attention_classifier(), classifier.tokenizer, 8)
    assert Familiarity.of(own, encoded, np.arange(3)) is None
