"""A tiny model and texts, for predictors."""

import pytest

import families
from labelled import FILLER, WORDS


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A classifier of two labels."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    return families.save_tiny_model(folder, [*WORDS.values(), " ".join(FILLER)], classes=2)
