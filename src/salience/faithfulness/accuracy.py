"""AOPC and post-hoc accuracy as VAT reports them (Zhou et al., Findings of ACL 2021, section 5.2, Tables 3 and 4)."""

from __future__ import annotations

import numpy as np

from salience.faithfulness.erasure import Erasure


def accuracy_drop(erasure: Erasure, k: int) -> np.ndarray:
    """100 * (right with the whole text - right without its `k` top words) (N,), each 0 or 1.

    The mean over texts is the accuracy lost, in percentage points. The paper calls it AOPC.
    """
    return 100 * (_right(erasure, erasure.judge.whole).astype(float) - _right(erasure, erasure.without(k)))


def mean_accuracy_drop(erasure: Erasure) -> np.ndarray:
    """The mean of the drops (N,) over K = 0 to `most` words, in percentage points."""
    right = right_without(erasure)
    return 100 * (right[0].astype(float) - right).mean(0)


def post_hoc_accuracy(erasure: Erasure, k: int) -> np.ndarray:
    """100 where the judge is right on the `k` top words alone, in the order of the text, else 0 (N,)."""
    return 100 * _right(erasure, erasure.alone(k)).astype(float)


def right_without(erasure: Erasure) -> np.ndarray:
    """Whether the judge is right (K + 1, N) without the K top words, K = 0 to `most`."""
    return _right(erasure, erasure.curve_without())


def right_alone(erasure: Erasure) -> np.ndarray:
    """Whether the judge is right (K + 1, N) on the K top words alone; K = 0 is the whole text."""
    return _right(erasure, erasure.curve_alone())


def _right(erasure: Erasure, probabilities: np.ndarray) -> np.ndarray:
    return probabilities.argmax(-1) == erasure.labels
