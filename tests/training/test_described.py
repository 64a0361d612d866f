"""A classifier from descriptions: its labels are those of the nearest description, by a slow loop over cosines."""

import numpy as np
import pytest

import families
from labelled import FILLER, WORDS, labelled_rows
from salience.classify.frozen_encoder import load_frozen
from salience.data.texts import Texts
from salience.errors import InputError
from salience.training.head import SCALE, described_classifier, prototypes

LABELS = ["sport", "music", "food"]
DESCRIPTIONS = Texts(["a match and a cup", "a song", "the band", "a soup"], labels=np.array([0, 1, 1, 2]))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return str(families.save_tiny_model(folder, [*WORDS.values(), " ".join(FILLER)], classes=3))


def cosines(texts, encoder) -> np.ndarray:
    """The cosine of each text with the mean of the unit vectors of each label's descriptions, from the formula."""
    frozen = load_frozen(encoder, device="cpu", precision="fp32")
    vectors, described = frozen.vectors(texts), frozen.vectors(DESCRIPTIONS.texts)
    found = np.empty((len(texts), 3))
    for row, vector in enumerate(vectors):
        for label in range(3):
            mean = np.mean([described[i] for i in range(4) if DESCRIPTIONS.labels[i] == label], axis=0)
            found[row, label] = vector @ mean / np.linalg.norm(mean)
    return found


def test_the_label_is_that_of_the_nearest_description(encoder):
    texts = [text for text, _ in labelled_rows(40, seed=5)]
    expected = cosines(texts, encoder)
    ordered = np.sort(expected, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 0.01  # the pooling layer of the checkpoint is the mean up to about 1 %
    classifier = described_classifier(encoder, DESCRIPTIONS, LABELS, device="cpu")
    probabilities = classifier.predict_proba(texts)
    assert clear.sum() > 10
    assert (probabilities.argmax(1) == expected.argmax(1))[clear].all()
    assert len(set(expected[clear].argmax(1))) > 1
    logits = np.log(probabilities)
    spread = logits - logits.mean(1, keepdims=True)
    exact = SCALE * (expected - expected.mean(1, keepdims=True))
    assert np.corrcoef(spread.ravel(), exact.ravel())[0, 1] > 0.97


def test_a_map_with_a_centre():
    """(v - centre) @ direction, written out for two descriptions of one class."""
    vectors, centre = np.array([[3.0, 4.0], [0.0, 2.0], [5.0, 0.0]]), np.array([0.1, 0.2])
    directions, offsets = prototypes(vectors, np.array([0, 0, 1]), 2, centre)
    means = np.array([[(0.6 + 0) / 2 - 0.1, (0.8 + 1) / 2 - 0.2], [1 - 0.1, -0.2]])
    expected = means / np.sqrt((means**2).sum(1))[:, None]
    assert directions == pytest.approx(expected)
    text = np.array([0.3, 0.9])
    assert directions @ text + offsets == pytest.approx([(text - centre) @ each for each in expected])


@pytest.mark.parametrize(
    ("texts", "numbers", "labels", "message"),
    [
        (["a cup"], [0], ["sport", "music"], '1 label without a description: "music"'),
        (["a cup"], [0], ["sport"], "a classifier needs two labels"),
    ],
)
def test_what_cannot_be_described(encoder, texts, numbers, labels, message):
    with pytest.raises(InputError, match=message):
        described_classifier(encoder, Texts(texts, labels=np.array(numbers)), labels, device="cpu")


def test_a_model_that_cannot_have_mean_pooling(tmp_path):
    folder = families.save_tiny_model(tmp_path, list(WORDS.values()), "distilbert", classes=3)
    with pytest.raises(InputError, match="mean"):
        described_classifier(str(folder), DESCRIPTIONS, LABELS, device="cpu")
