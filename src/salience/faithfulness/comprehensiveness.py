"""Comprehensiveness and sufficiency (DeYoung et al., ERASER, ACL 2020, arXiv:1911.03429, section 4.2)."""

from __future__ import annotations

import numpy as np

from salience.faithfulness.erasure import Erasure

BINS = (1, 5, 10, 20, 50)  # percent of a text's words


def comprehensiveness(erasure: Erasure) -> np.ndarray:
    """p(class | text) - p(class | text without its top words) (N,): their Eq. 1, averaged over `BINS` (AOPC, Eq. 3).

    The class is the one that the judge predicts for the whole text, or the label that is explained. In each bin the
    words of the highest scores are removed, rounded up to a whole number of words. The mean is over the five bins, as
    in the authors' code; Eq. 3 as printed also counts k = 0, where nothing is removed, and divides by six. NaN for a
    text without words.
    """
    return _mean_drop(erasure, erasure.without)


def sufficiency(erasure: Erasure) -> np.ndarray:
    """p(class | text) - p(class | its top words alone) (N,): their Eq. 2, averaged over `BINS` as comprehensiveness.

    Low where the words of the highest scores are enough for the decision. NaN for a text without words.
    """
    return _mean_drop(erasure, erasure.alone)


def _mean_drop(erasure: Erasure, judged) -> np.ndarray:
    of_target = erasure.judge.of_target
    counts = -(-np.array(BINS)[:, None] * erasure.counts // 100)  # (bins, N), rounded up without rounding errors
    by_bin = np.stack([of_target(judged(count)) for count in counts]).astype(float)
    drops = of_target(erasure.judge.whole).astype(float) - by_bin
    return np.where(erasure.counts > 0, drops.mean(0), np.nan)
