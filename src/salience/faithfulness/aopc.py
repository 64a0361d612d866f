"""Area over the perturbation curve (Samek et al., 2016, arXiv:1509.06321), for words of a text."""

from __future__ import annotations

import numpy as np

from salience.faithfulness.erasure import Erasure


def aopc(erasure: Erasure) -> np.ndarray:
    """The mean drop of the predicted class's probability (N,), in percentage points, over K = 0 to `most` words.

    1/(most + 1) * sum over K of p(class | text) - p(class | text without its K top words). The class is the one that
    the judge predicts for the whole text. K = 0 counts, as in the paper.
    """
    probabilities = erasure.curve_without()
    predicted = probabilities[0].argmax(1)
    of_predicted = np.take_along_axis(probabilities, predicted[None, :, None], 2)[..., 0]
    return 100 * (of_predicted[0] - of_predicted).mean(0)
