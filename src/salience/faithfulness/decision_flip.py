"""Words to remove until the decision flips (Serrano and Smith, ACL 2019, arXiv:1906.03731, section 5)."""

from __future__ import annotations

import numpy as np

from salience.faithfulness.erasure import Erasure


def decision_flip(erasure: Erasure) -> np.ndarray:
    """The smallest number of top words without which the judge predicts another class (N,).

    Where texts are multi-label, the decision is whether the label that is explained is predicted: it flips
    when the probability crosses the threshold of this label. `most` + 1 where `most` words are not enough. The paper
    reports the fraction of the items; a number of words can be compared between texts of different lengths.
    """
    decided = erasure.judge.decided(erasure.curve_without())
    flipped = decided != decided[0]
    return np.where(flipped.any(0), flipped.argmax(0), float(erasure.most + 1))
