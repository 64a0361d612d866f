"""Area over the perturbation curve (Samek et al., 2016, arXiv:1509.06321), for words of a text."""

from __future__ import annotations

import numpy as np

from salience.faithfulness.erasure import Erasure


def aopc(erasure: Erasure) -> np.ndarray:
    """The mean drop of the predicted class's probability (N,), in percentage points, over K = 0 to `most` words.

    1/(most + 1) * sum over K of p(class | text) - p(class | text without its K top words). The class is the one that
    the judge predicts for the whole text; where texts are multi-label, the one that is explained, with its
    own probability. K = 0 counts, as in the paper.
    """
    of_target = erasure.judge.of_target(erasure.curve_without())
    return 100 * (of_target[0] - of_target).mean(0)
