"""Agreement with leave-one-out (Jain and Wallace, NAACL 2019, arXiv:1902.10186, section 4.1)."""

from __future__ import annotations

import numpy as np

from salience.faithfulness.erasure import Erasure


def loo_tau(erasure: Erasure) -> np.ndarray:
    """Kendall's tau-b (N,) between the scores and what the explained classifier loses without each word.

    What it loses is ln p of the class or label that is explained, with the word minus without it. NaN for texts that
    are not among the `leave_one_out_rows`, have fewer than two words, or whose words all score the same.
    """
    from scipy.stats import kendalltau

    explained = erasure.judge if erasure.explained is None else erasure.explained
    tau = np.full(len(explained), np.nan)
    for row, drops in explained.leave_one_out().items():
        if len(drops) > 1:
            tau[row] = kendalltau(erasure.scores[row], drops).statistic
    return tau
