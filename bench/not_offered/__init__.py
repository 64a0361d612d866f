"""Strategies that `salience suggest` does not offer: `bench/suggest.py` does not find them better than chance."""

from not_offered.badge import badge
from not_offered.clusters import clusters
from not_offered.density import density
from not_offered.k_center import k_center
from not_offered.typiclust import typiclust
from not_offered.uncertain_clusters import uncertain_clusters
from not_offered.uncertainty import entropy, least_confidence
from salience.suggestions import Choose

NOT_OFFERED: dict[str, Choose] = {
    "uncertain-clusters": uncertain_clusters,
    "clusters": clusters,
    "typiclust": typiclust,
    "badge": badge,
    "least-confidence": least_confidence,
    "entropy": entropy,
    "k-center": k_center,
    "density": density,
}

__all__ = ["NOT_OFFERED"]
