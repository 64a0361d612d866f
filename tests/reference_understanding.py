"""Sun and Lu's classifiers (ACL 2020; methods.md 3.10) as slow, plain loops.

Nothing here uses the library: it is what the library is held against.

Letters are the papers': e a type's embedding, V the query, W the polarity vector (W^h, D x K, with several classes),
M the affine map, M_a additive attention's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass
class Weights:
    """Of one classifier; the others' matrices are None."""

    table: Tensor  # (V, d)
    query: Tensor  # V (D,)
    polarity: Tensor  # W (D,), or W^h (D, K)
    scale: float = 1.0  # lambda
    affine: Tensor | None = None  # M (D, d)
    key: Tensor | None = None  # M_a (D, D)

    def state(self, word: int) -> Tensor:
        """h = e, or M e."""
        return self.table[word] if self.affine is None else self.affine @ self.table[word]

    def attention(self, word: int) -> float:
        """Eq. 1; for additive attention tanh(M_a h) V / lambda."""
        state = self.state(word)
        return float((state if self.key is None else (self.key @ state).tanh()) @ self.query) / self.scale

    def token(self, word: int) -> Tensor:
        """Eq. 7: a number, or one of each class."""
        return self.state(word) @ self.polarity


@dataclass
class Reading:
    """What comes of one text."""

    words: list[int]
    alpha: list[float]
    tokens: list[Tensor]  # s_j
    pooled: Tensor  # D
    score: Tensor  # s


def read(weights: Weights, words: list[int]) -> Reading:
    """Eq. 2, 3, 4 and 7, word by word."""
    scores = [weights.attention(word) for word in words]
    most = max(scores)
    total = math.fsum(math.exp(score - most) for score in scores)
    alpha = [math.exp(score - most) / total for score in scores]
    pooled = sum(share * weights.state(word) for share, word in zip(alpha, words, strict=True))
    return Reading(words, alpha, [weights.token(word) for word in words], pooled, pooled @ weights.polarity)
