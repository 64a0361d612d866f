"""The synthetic texts of Sun and Lu (2020, appendix D), on which the training of attention can be followed.

Understanding Attention for Text Classification, ACL 2020, doi 10.18653/v1/2020.acl-main.312.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

NEUTRAL, POLARITY = 1000, 50  # number of neutral types, and of polarity types of each class
NEUTRAL_WORDS, POLARITY_WORDS = 10, 2  # of each text


@dataclass(frozen=True)
class Synthetic:
    """Texts of 12 token ids and their labels.

    Attributes:
        ids: token ids (N, 12): 0 to 999 are neutral, 1000 to 1049 positive and 1050 to 1099 negative.
        labels: class indices (N,); 1 is positive.
    """

    ids: np.ndarray
    labels: np.ndarray


def synthetic(positive: int = 6000, negative: int = 6000, clean: int | None = None, seed: int = 2) -> Synthetic:
    """Draws texts of ten distinct neutral words, followed by two distinct polarity words of the text's class.

    Args:
        positive: number of positive texts.
        negative: number of negative texts.
        clean: number of texts of each class whose polarity words are of that class (Data II); the further texts of
            the class have polarity words of the other class. None stands for all texts (Data I).
        seed: seed of the random generator.
    """
    random = np.random.default_rng(seed)

    def texts(number: int, kind: int) -> Iterator[np.ndarray]:
        for index in range(number):
            start = NEUTRAL + POLARITY * (kind if clean is None or index < clean else 1 - kind)
            words = random.choice(NEUTRAL, NEUTRAL_WORDS, replace=False)
            yield np.concatenate([words, start + random.choice(POLARITY, POLARITY_WORDS, replace=False)])

    ids = np.array([*texts(positive, 0), *texts(negative, 1)])
    return Synthetic(ids, np.repeat([1, 0], [positive, negative]))
