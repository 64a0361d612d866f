"""Numbers that say whether to believe an explanation. Each is one value a text, or says so.

AOPC and post-hoc accuracy are those of Zhou et al. (Findings of ACL 2021, section 5.2), AOPC by probability that of
Samek et al. (2016). Word detection is their Table 5, after Rei and Søgaard (2018): per text, then the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import kendalltau

from salience.faithfulness.erasing import Curve


def accuracy_drop(curve: Curve, count: int) -> np.ndarray:
    """Right with the whole text minus right without `count` words (N,): its mean is AOPC as VAT reports it."""
    return curve.right[0].astype(float) - curve.right[count]


def mean_accuracy_drop(curve: Curve) -> np.ndarray:
    """The mean of the drops over all numbers of words, 0 included (N,)."""
    return (curve.right[0].astype(float) - curve.right).mean(0)


def probability_drop(curve: Curve) -> np.ndarray:
    """The mean drop of the probability of the class predicted for the whole text, over all K, 0 included (N,)."""
    predicted = curve.probabilities[0].argmax(1)
    of_predicted = np.take_along_axis(curve.probabilities, predicted[None, :, None], 2)[..., 0]
    return (of_predicted[0] - of_predicted).mean(0)


def post_hoc_accuracy(curve: Curve, count: int) -> np.ndarray:
    """Right on the `count` highest words alone (N,), from a curve of `top_alone`."""
    return curve.right[count].astype(float)


def flips_after(curve: Curve) -> np.ndarray:
    """How many words must go until the judge decides otherwise (N,); infinity where none of the numbers is enough."""
    decided = curve.probabilities.argmax(2)
    other = decided != decided[0]
    return np.where(other.any(0), other.argmax(0), np.inf)


def agreement(scores: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    """Kendall's tau-b between two scorings of the words of each text (N,); NaN where one has no order."""
    return np.array([
        kendalltau(own, other).statistic if len(own) > 1 else np.nan for own, other in zip(scores, others, strict=True)
    ])  # fmt: skip


def detection(
    scores: Sequence[np.ndarray], marked: Sequence[Sequence[int]], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision, recall and F1 (N,) of the `count` highest words against those that a person has marked.

    A text is counted if something is marked in it. Means over texts are reported, F1's too: it is no harmonic mean
    of the mean precision and recall.
    """
    found = []
    for own, gold in zip(scores, marked, strict=True):
        if not len(gold):
            continue
        chosen = np.argsort(-own, kind="stable")[:count]
        right = len(np.intersect1d(chosen, gold))
        precision, recall = right / max(len(chosen), 1), right / len(set(gold))
        found.append((precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0))
    return tuple(np.array(found).reshape(-1, 3).T)


def interval(values: np.ndarray, draws: int = 2000, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """A bootstrap interval of the mean over texts (percentiles); NaN are left out."""
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    means = [values[random.integers(len(values), size=len(values))].mean() for _ in range(draws)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
