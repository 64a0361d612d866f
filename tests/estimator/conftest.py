"""A tiny model in a folder, and an estimator that trains it for two steps."""

from functools import partial

import pytest

import families
from labelled import FILLER, WORDS, labelled_rows
from salience import SalienceClassifier

ROWS = labelled_rows(24)


@pytest.fixture(scope="session")
def texts():
    return [text for text, _ in ROWS]


@pytest.fixture(scope="session")
def labels():
    return [label for _, label in ROWS]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return str(families.save_tiny_model(tmp_path_factory.mktemp("tiny"), [*WORDS.values(), " ".join(FILLER)]))


@pytest.fixture(scope="session")
def short(tiny):
    """Makes an estimator whose training takes two steps."""
    return partial(SalienceClassifier, model=tiny, steps=2, learning_rate=0.01, device="cpu")


@pytest.fixture(scope="session")
def fitted(short, texts, labels):
    """Not to be changed."""
    return short().fit(texts, labels)
