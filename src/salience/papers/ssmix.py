"""Yoon et al. (Findings of ACL-IJCNLP 2021, SSMix), Table 2 and Table B.1: SSMix against other mixing methods.

SSMix, arXiv:2106.08062. As in the paper, a training begins without mixing and goes on with the method: three eighths
of the steps are plain, as three of its eight epochs are. The paper gives the baseline the first three epochs only and
reports the best checkpoint of both stages; here all methods have equal passes of texts. "Plain, twice" goes on without
mixing after the first stage, at the learning rate of the second one: only what a method gains over it is due to
mixing, and not to a second stage or to more steps.
"""

from __future__ import annotations

from typing import Any

from salience.papers.mixing_tables import FIRST, MixingTable

PLAIN_PART = 3 / 8  # of the steps: 3 epochs without mixing, then 5 with it (section 3.4)
SETS = ("sst2", "qnli", "rte", "mrpc", "trec", "trec-fine")
# In the order of SETS.
PUBLISHED = {
    "no mixup": (92.96, 91.28, 65.56, 86.37, 97.08, 86.68),
    "EmbedMix": (93.03, 91.43, 67.73, 86.72, 97.44, 90.04),
    "TMix": (93.03, 91.40, 66.86, 86.42, 97.52, 90.16),
    "SSMix": (93.10, 91.54, 67.22, 86.57, 97.60, 90.24),
    "SSMix without saliency": (93.12, 91.29, 67.00, 86.42, 97.44, 89.56),
    "SSMix without saliency and span": (93.14, 91.45, 66.93, 86.37, 97.40, 89.20),
    "random [UNK]": (93.10, 91.45, 66.86, 86.62, 97.44, 89.24),
}


def in_stages(method: str) -> dict[str, Any]:
    return {"method": method, FIRST: PLAIN_PART}


METHODS = {
    "no mixup": {"method": "plain"},
    "plain, twice": in_stages("plain"),
    "EmbedMix": in_stages("embedmix"),
    "TMix": in_stages("tmix"),
    "SSMix": in_stages("ssmix"),
    "SSMix without saliency": in_stages("ssmix-nosaliency"),
    "SSMix without saliency and span": in_stages("ssmix-nospan"),
    "random [UNK]": in_stages("randomunk"),
}

TABLE = MixingTable(
    METHODS,
    # The paper has no AG News; it is here for a set of longer texts.
    {name: {method: values[place] for method, values in PUBLISHED.items()} for place, name in enumerate(SETS)}
    | {"ag_news": {}},
).table("ssmix-table2", "Yoon et al., SSMix, Findings of ACL 2021, arXiv:2106.08062")
