"""Which texts without labels to label next: strategies of active learning."""

from salience.suggestions.badge import badge
from salience.suggestions.clusters import clusters
from salience.suggestions.density import density
from salience.suggestions.k_center import k_center
from salience.suggestions.strategy import Pool, Strategy
from salience.suggestions.uncertain_clusters import uncertain_clusters
from salience.suggestions.uncertainty import entropy, least_confidence, margin

STRATEGIES: dict[str, Strategy] = {
    "margin": margin,
    "least-confidence": least_confidence,
    "entropy": entropy,
    "k-center": k_center,
    "clusters": clusters,
    "badge": badge,
    "uncertain-clusters": uncertain_clusters,
    "density": density,
}

__all__ = ["STRATEGIES", "Pool", "Strategy"]
