"""The made-up texts of Sun and Lu (ACL 2020, appendix D), on which attention's way through training can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

NEUTRAL, POLARITY = 1000, 50  # types: neutral ones, and of each class
NEUTRAL_WORDS, POLARITY_WORDS = 10, 2  # of a text


@dataclass(frozen=True)
class Synthetic:
    """Texts of 12 word ids: neutral 0 .. 999 come first, then positive 1000 .. 1049 or negative 1050 .. 1099."""

    ids: np.ndarray  # (N, 12)
    labels: np.ndarray  # (N,) 1 is positive


def synthetic(positive: int = 6000, negative: int = 6000, clean: int | None = None, seed: int = 2) -> Synthetic:
    """`positive` and `negative` texts of ten distinct neutral words and two distinct ones of a class.

    Args:
        clean: from this text of a class on, its two words are the other class's: Data II. None: never, Data I.
    """
    random = np.random.default_rng(seed)

    def texts(number: int, own: int) -> Iterator[np.ndarray]:
        for index in range(number):
            start = NEUTRAL + POLARITY * (own if clean is None or index < clean else 1 - own)
            words = random.choice(NEUTRAL, NEUTRAL_WORDS, replace=False)
            yield np.concatenate([words, start + random.choice(POLARITY, POLARITY_WORDS, replace=False)])

    ids = np.array([*texts(positive, 0), *texts(negative, 1)])
    return Synthetic(ids, np.repeat([1, 0], [positive, negative]))
