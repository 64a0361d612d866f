"""`salience explain` writes its files whole or not at all."""

import numpy as np
import pytest

from salience.cli.explain import write
from salience.explainers.explanation import Explanation


def explanation(text: str) -> Explanation:
    return Explanation(text.split(), None, ["no", "yes"], np.array([0.4, 0.6]), 1, None, {"gradient": np.ones(1)})


@pytest.mark.parametrize("kind", ["html", "jsonl"])
def test_a_failure_leaves_the_earlier_file(kind, tmp_path):
    file = tmp_path / f"explanations.{kind}"
    write([explanation("one")], kind, file, "first")
    before = file.read_bytes()
    assert b"one" in before

    def failing():
        yield explanation("two")
        raise ValueError("the data ends in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        write(failing(), kind, file, "second")
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == before
