"""Functions of (model, batch) that score every token: what guides a mixing method also explains a decision."""

from salience.explain.gradient import gradient

EXPLAINERS = {
    "gradient": gradient,
}

__all__ = ["EXPLAINERS", "gradient"]
