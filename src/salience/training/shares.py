"""The share of the trained weights that is kept, chosen by rows that the models of an estimate have not seen.

Each model of the estimate predicts its rows with several shares, see `salience.training.interpolating`. The share with
the lowest log loss is kept if it is better than the trained weights by more than a standard error over the rows, or
over groups of them, paired (the one-standard-error rule: Breiman, Friedman, Olshen and Stone, 1984, Classification and
Regression Trees, 3.4.3). Each share has the temperature that suits it best, as the model of the run will.
"""

from __future__ import annotations

import numpy as np

from salience.training.scoring import scoring_of
from salience.training.temperature import half_of_rows

SHARES = (0.5, 0.75, 1.0)  # the last one are the trained weights


def chosen_share(probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> int:
    """The number of the share that is kept.

    Args:
        probabilities: (S, N, C) of the shares, the trained weights last.
        labels: (N,), class numbers, or (N, C), 0 and 1.
        groups: (N,) the group of each row, whose rows are often right or wrong together; None for rows that are
            independent.
    """
    scoring = scoring_of(labels)
    losses = np.stack([scoring.row_scores(scoring.scaled(each, labels), labels)["log_loss"] for each in probabilities])
    best = int(losses.mean(1).argmin())
    gain = losses[-1] - losses[best]
    return best if gain.mean() > standard_error(gain, groups) else len(losses) - 1


def standard_error(values: np.ndarray, groups: np.ndarray | None = None) -> float:
    """The standard error of a mean over rows, or over rows that are independent between groups only.

    That of groups is the cluster-robust one of Liang and Zeger (1986, Biometrika 73(1), 13-22) for a mean, with
    G / (G - 1) for G groups. With one row a group it is the standard deviation over the root of N.

    Args:
        values: (N,).
        groups: (N,) the group of each row; None for one row a group.

    Returns:
        Infinity for a single group, which says nothing about other ones.
    """
    numbers = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(numbers, values - values.mean())
    if len(sums) < 2:
        return np.inf
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values))


def cross_chosen(
    probabilities: np.ndarray, labels: np.ndarray, kept: int, groups: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """The probabilities (N, C) of the rows, each half with the share that the other half chooses.

    So no row is scored by a share that it has chosen, but where all rows are of one group. Shares differ in how
    confident they are: a share near the regression needs another temperature than the trained weights. The
    probabilities of another share than the one that is kept are therefore brought to its confidence, so that the
    temperature and the thresholds that are found on all rows suit the model that is kept.

    Args:
        probabilities: (S, N, C) of the shares, the trained weights last.
        labels: (N,), class numbers, or (N, C), 0 and 1.
        kept: the number of the share that the model of the run has.
        groups: (N,) the group of each row, which is in one half; None for rows that are independent.
        seed: of the halves.
    """
    scoring, first = scoring_of(labels), half_of_rows(len(labels) if groups is None else groups, seed)
    found = probabilities[kept].copy()
    if not first.any():
        return found
    temperatures = [scoring.temperature(each, labels) for each in probabilities]
    for rows in (first, ~first):
        others = ~rows
        chosen = chosen_share(probabilities[:, others], labels[others], None if groups is None else groups[others])
        if chosen != kept:
            ratio = temperatures[chosen] / temperatures[kept]
            found[rows] = scoring.with_temperature(probabilities[chosen, rows], ratio)
    return found
