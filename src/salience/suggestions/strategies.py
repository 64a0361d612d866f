"""The strategies that `salience suggest` offers: those that were better than random choice in `bench/suggest.py`.

docs/suggest.md has the measurement, and the strategies that were not.
"""

from __future__ import annotations

from dataclasses import dataclass

from salience.suggestions.margin import margin
from salience.suggestions.strategy import Choose
from salience.suggestions.uncertain_clusters import uncertain_clusters


@dataclass(frozen=True)
class Strategy:
    """A way to choose texts to label.

    Args:
        choose: (pool, count, generator) -> places; see `salience.suggestions.strategy.Choose`.
        reads_vectors: whether it reads the vectors of the pool, not the probabilities alone.
        several: whether it also chooses among texts that can have several labels.
        reference: the paper, with its arXiv id or DOI.
    """

    choose: Choose
    reads_vectors: bool
    several: bool
    reference: str


STRATEGIES: dict[str, Strategy] = {
    "uncertain-clusters": Strategy(uncertain_clusters, True, True, "Zhdanov (2019), arXiv:1901.05954"),
    "margin": Strategy(margin, False, False, "Scheffer et al. (2001), doi 10.1007/3-540-44816-0_31"),
}
DEFAULT = "uncertain-clusters"
