"""Successive halving: which of some candidates beats a baseline, where every look at one of them is a training.

In each round, the baseline and the candidates that are left predict rows that they have not seen, and the worse half
of the candidates is dropped by the log loss on all rows so far. The baseline is never dropped. The last candidate
takes its place if its log loss is lower beyond chance.

Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013, Algorithm 2; Jamieson and
Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016, arXiv:1502.07943.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from salience.training.scoring import scoring_of
from salience.training.shares import standard_error

NORMAL = 1.645  # standard errors by which the difference has to exceed 0: 95 % of a normal distribution, one-sided
ROUNDS = 2  # at least, so that all rows are predicted once

Predicted = tuple[np.ndarray, np.ndarray]  # (R,) the numbers of rows, and their probabilities (R, C)


@dataclass(frozen=True)
class Choice:
    """What a successive halving has chosen, and why.

    Attributes:
        chosen: the name of the last candidate, or of the baseline.
        rounds: for each round, the log loss of the baseline and of each candidate that was left, in nats.
        rival: the name of the last candidate.
        difference: how much lower the rival's log loss is than the baseline's, in nats.
        standard_error: of the difference, over rows, or over groups of them.
    """

    chosen: str
    rounds: list[dict[str, float]]
    rival: str
    difference: float
    standard_error: float


def candidates_of_rounds(candidates: int) -> list[int]:
    """How many candidates each round has: half as many as the round before, rounded up, until one is left.

    Args:
        candidates: at least 1.
    """
    rounds = [candidates]
    while rounds[-1] > 1 or len(rounds) < ROUNDS:
        rounds.append((rounds[-1] + 1) // 2)
    return rounds


def cost_of(candidates: Sequence[float], baseline: float) -> float:
    """The most that a halving can cost, if the dearest candidates are left in every round.

    Args:
        candidates: the cost of a look at each candidate.
        baseline: that of a look at the baseline.
    """
    dearest = sorted(candidates, reverse=True)
    return sum(baseline + sum(dearest[:left]) for left in candidates_of_rounds(len(dearest)))


def affordable(candidates: Sequence[float], baseline: float, budget: float) -> int:
    """How many of the candidates, from the first on, can be compared within a budget.

    Args:
        candidates: the cost of a look at each candidate.
        baseline: that of a look at the baseline.
        budget: the most that may be spent, in the same unit.
    """
    within = (count for count in range(1, len(candidates) + 1) if cost_of(candidates[:count], baseline) <= budget)
    return max(within, default=0)


def halve(
    baseline: str,
    candidates: Sequence[str],
    predict: Callable[[str, int], Predicted],
    labels: np.ndarray,
    groups: np.ndarray | None = None,
) -> Choice:
    """Compares candidates with a baseline.

    Args:
        baseline: its name.
        candidates: their names, at least one.
        predict: gives, for a name and the number of a round from 0 on, what a model that has not seen the rows
            predicts. In a round, the rows are the same for all names.
        labels: of all rows, class numbers (N,), or 0 and 1 (N, C).
        groups: (N,) the group of each row, whose rows are often right or wrong together; None for rows that are
            independent.
    """
    found: dict[str, list[Predicted]] = {name: [] for name in (baseline, *candidates)}
    losses: Mapping[str, np.ndarray] = {}
    rounds = []
    left = list(candidates)
    for number, count in enumerate(candidates_of_rounds(len(left))):
        left = sorted(left, key=lambda name: losses[name].mean())[:count] if losses else left
        for name in (baseline, *left):
            found[name].append(predict(name, number))
        losses = {name: row_losses(found[name], labels) for name in (baseline, *left)}
        rounds.append({name: float(each.mean()) for name, each in losses.items()})
    (rival,) = left
    gains = losses[baseline] - losses[rival]
    predicted = np.unique(np.concatenate([rows for rows, _ in found[rival]]))
    error = standard_error(gains, None if groups is None else groups[predicted])
    gain = float(gains.mean())
    return Choice(rival if gain > NORMAL * error else baseline, rounds, rival, gain, error)


def row_losses(parts: Sequence[Predicted], labels: np.ndarray) -> np.ndarray:
    """The log loss of every row that was predicted, in the order of the rows; the mean if it was more than once.

    All probabilities are scaled by the one temperature that suits them best, as those of the trained model will be: a
    candidate is not preferred for being less confident.

    Args:
        parts: of one candidate.
        labels: of all rows, class numbers (N,), or 0 and 1 (N, C).
    """
    rows = np.concatenate([rows for rows, _ in parts])
    probabilities = np.concatenate([found for _, found in parts]).astype(np.float64)
    scoring = scoring_of(labels)
    losses = scoring.row_scores(scoring.scaled(probabilities, labels[rows]), labels[rows])["log_loss"]
    totals = np.bincount(rows, losses, len(labels))
    times = np.bincount(rows, minlength=len(labels))
    return totals[times > 0] / times[times > 0]
