"""Functions of (model, batch) that score every token: what guides a mixing method also explains a decision."""

from salience.explain.attention import Attention
from salience.explain.gradient import gradient, gradient_map

EXPLAINERS = {
    "attention": Attention(layer=-1),
    "gradient": gradient,
}

__all__ = ["EXPLAINERS", "Attention", "gradient", "gradient_map"]
