"""What a strategy gets and gives: a classifier's view of texts without labels in, an order of some of them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np


@dataclass(frozen=True)
class Pool:
    """N texts without labels, as a classifier sees them.

    Args:
        probabilities: (N, C), the classifier's for the texts without labels; finite.
        vectors: (N, D), of the same texts, as the last linear map of the classifier reads them. None for strategies
            that read no vectors.
        several: whether a text can have several labels, so that there is a decision about each label.
    """

    probabilities: np.ndarray
    vectors: np.ndarray | None = None
    several: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def known_vectors(self) -> np.ndarray:
        """`vectors` (N, D).

        Raises:
            ValueError: there are none.
        """
        if self.vectors is None:
            raise ValueError("the vectors of the texts are needed, but not known")
        return self.vectors


# (pool, count, generator) -> places (K,) of K = min(count, N) texts, all different, the first to label first. Ties go
# to the first place. The memory needed beside the pool is linear in N.
Choose: TypeAlias = Callable[[Pool, int, np.random.Generator], np.ndarray]


def highest(scores: np.ndarray, count: int) -> np.ndarray:
    """The places of the `count` highest scores (N,), the highest first; of equal scores, the first place first."""
    return np.argsort(-scores, kind="stable")[:count]


def completed(chosen: np.ndarray, preferred: np.ndarray, count: int) -> np.ndarray:
    """The chosen places, and then the first of the `preferred` ones that are not among them, `count` in all."""
    rest = preferred[~np.isin(preferred, chosen)]
    return np.concatenate([chosen, rest])[:count].astype(np.int64)
