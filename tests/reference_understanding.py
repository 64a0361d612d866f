"""Sun and Lu's classifiers and the terms of their gradient (ACL 2020; methods.md 3.10) as slow, plain loops.

Over types, texts and places; nothing here uses the library: it is what the library is held against.

Letters are the papers': e a type's embedding, V the query, W the polarity vector (W^h, D x K, with several classes),
M the affine map, M_a additive attention's. Two classes have y = -1 and 1, several the classes' numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
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


def sigmoid(number: float) -> float:
    return 1 / (1 + math.exp(-number)) if number > 0 else math.exp(number) / (1 + math.exp(number))


def beta(reading: Reading, label: int) -> float:
    """1 - sigma(y s)."""
    return sigmoid(-label * float(reading.score))


def missing(reading: Reading, label: int) -> Tensor:
    """p - onehot: what is too much in each class's probability."""
    return reading.score.softmax(0) - torch.eye(len(reading.score), dtype=reading.score.dtype)[label]


def zeros(names: str | list[str], types: int, *kinds: int) -> dict[str, Tensor]:
    return {name: torch.zeros(types, *kinds, dtype=torch.float64) for name in names}


def dot_terms(weights: Weights, texts: list[list[int]], labels: list[int]) -> dict[str, Tensor]:
    """Eq. 16, 19, 20 and 27."""
    table, query, polarity, scale = weights.table, weights.query, weights.polarity, weights.scale
    found = zeros(["pi", "rho", "A", "B", "C", "D", "E", "F"], len(table))
    readings, m = [read(weights, words) for words in texts], len(texts)
    for e in range(len(table)):
        for text, y in zip(readings, labels, strict=True):
            for j, word in enumerate(text.words):
                c = y * beta(text, y) * text.alpha[j]
                apart = text.tokens[j] - text.score
                if word == e:
                    found["pi"][e] += c
                    found["rho"][e] += c * (weights.token(e) - text.score)
                found["C"][e] += c * (table[e] @ table[word]) / m
                found["F"][e] += c * apart * (table[e] @ table[word]) / (m * scale**2)
        found["A"][e] = (query @ polarity) / scale * found["rho"][e] / m
        found["B"][e] = (polarity @ polarity) * found["pi"][e] / m
        found["D"][e] = (query @ polarity) * scale * found["pi"][e] / (m * scale**2)
        found["E"][e] = (query @ query) * found["rho"][e] / (m * scale**2)
    return found


def multiclass_terms(weights: Weights, texts: list[list[int]], labels: list[int]) -> dict[str, Tensor]:
    """The appendix's Eq. 82 and 83, with the factors alpha_j and 1 / lambda^2 that the print has lost."""
    table, query, polarity, scale = weights.table, weights.query, weights.polarity, weights.scale
    types, kinds, m = len(table), polarity.shape[1], len(texts)
    found = zeros("ABC", types, kinds) | zeros("DEF", types)
    readings = [read(weights, words) for words in texts]
    for e in range(types):
        for text, label in zip(readings, labels, strict=True):
            much = missing(text, label)
            found["C"][e] -= much * (text.pooled @ table[e]) / m
            for j, word in enumerate(text.words):
                alpha, apart = text.alpha[j], (text.tokens[j] - text.score) @ much
                found["F"][e] -= alpha * (table[e] @ table[word]) * apart / (m * scale**2)
                if word == e:
                    found["A"][e] -= alpha * (polarity.T @ query) * apart / (m * scale)
                    found["B"][e] -= alpha * (polarity.T @ polarity @ much) / m
                    found["D"][e] -= alpha * (much @ polarity.T @ query) / (m * scale)
                    found["E"][e] -= (query @ query) * alpha * apart / (m * scale**2)
    return found


def affine_terms(weights: Weights, texts: list[list[int]], labels: list[int]) -> dict[str, Tensor]:
    """DP-A, the appendix's Eq. 63 and 64; what moves a score through M has a name of its own."""
    table, query, polarity, scale, affine = (
        weights.table, weights.query, weights.polarity, weights.scale, weights.affine,
    )  # fmt: skip
    found = zeros(["A", "A of M", "B", "B of M", "C", "D", "D of M", "E", "E of M", "F"], len(table))
    readings, m = [read(weights, words) for words in texts], len(texts)
    below, query_below = affine.T @ polarity, affine.T @ query
    for e in range(len(table)):
        for text, y in zip(readings, labels, strict=True):
            found["C"][e] += y * beta(text, y) * (weights.state(e) @ text.pooled) / m
            for j, word in enumerate(text.words):
                c, apart = y * beta(text, y) * text.alpha[j], text.tokens[j] - text.score
                alike = table[e] @ table[word]
                found["B of M"][e] += (polarity @ polarity) * c * alike / m
                found["A of M"][e] += (query @ polarity) / scale * c * apart * alike / m
                found["D of M"][e] += (query @ polarity) / scale * c * alike / m
                found["E of M"][e] += (query @ query) / scale**2 * c * apart * alike / m
                found["F"][e] += c * apart * (weights.state(e) @ weights.state(word)) / (m * scale**2)
                if word == e:
                    found["A"][e] += (below @ query_below) / scale * c * apart / m
                    found["B"][e] += (below @ below) * c / m
                    found["D"][e] += (below @ query_below) / scale * c / m
                    found["E"][e] += (query_below @ query_below) / scale**2 * c * apart / m
    return found


def additive_terms(weights: Weights, texts: list[list[int]], labels: list[int]) -> dict[str, Tensor]:
    """AD, from methods.md's gradients of e, V and M_a: each piece times what it moves."""
    table, query, polarity, scale, key = weights.table, weights.query, weights.polarity, weights.scale, weights.key
    found = zeros(["A", "B", "C", "D", "E", "F", "F of M"], len(table))
    readings, m = [read(weights, words) for words in texts], len(texts)

    def squashed(word: int) -> Tensor:  # tanh x
        return (key @ table[word]).tanh()

    def slope(word: int) -> Tensor:  # D V, with D = diag(1 - tanh^2 x)
        return torch.diag(1 - squashed(word) ** 2) @ query

    moved_query, moved_key = torch.zeros_like(query), torch.zeros_like(key)  # minus the gradients of V and M_a
    for text, y in zip(readings, labels, strict=True):
        mean = sum(alpha * squashed(word) for alpha, word in zip(text.alpha, text.words, strict=True))
        for j, word in enumerate(text.words):
            c = y * beta(text, y) * text.alpha[j]
            moved_query += c / (m * scale) * text.tokens[j] * (squashed(word) - mean)
            moved_key += c / (m * scale) * (text.tokens[j] - text.score) * torch.outer(slope(word), table[word])
    for e in range(len(table)):
        below = key.T @ slope(e)  # how the score moves with the embedding, times lambda
        for text, y in zip(readings, labels, strict=True):
            found["C"][e] += y * beta(text, y) * (table[e] @ text.pooled) / m
            for j, word in enumerate(text.words):
                c, apart = y * beta(text, y) * text.alpha[j], text.tokens[j] - text.score
                if word == e:
                    found["A"][e] += c * apart * (below @ polarity) / (m * scale)
                    found["B"][e] += c * (polarity @ polarity) / m
                    found["D"][e] += c * (polarity @ below) / (m * scale)
                    found["E"][e] += c * apart * (below @ below) / (m * scale**2)
        found["F"][e] = squashed(e) @ moved_query / scale
        found["F of M"][e] = slope(e) @ moved_key @ table[e] / scale
    return found
