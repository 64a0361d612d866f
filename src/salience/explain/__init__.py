"""Functions of (model, batch) that score every token: what guides a mixing method also explains a decision."""

from salience.explain.alone import EachTextAlone
from salience.explain.attention import Attention, ClsAttention
from salience.explain.chance import random
from salience.explain.gradient import gradient, gradient_map, gradient_x_input
from salience.explain.integrated import IntegratedGradients
from salience.explain.occlusion import Occlusion
from salience.explain.pooling import pooling_attention

EXPLAINERS = {
    "attention": Attention(layer=-1),
    "cls-attention": ClsAttention(),
    "pooling-attention": pooling_attention,
    "gradient": gradient,
    "gradient-x-input": gradient_x_input,
    "integrated-gradients": IntegratedGradients(),
    "occlusion": Occlusion(),
    "random": random,
}

__all__ = [
    "EXPLAINERS",
    "Attention",
    "ClsAttention",
    "EachTextAlone",
    "IntegratedGradients",
    "Occlusion",
    "gradient",
    "gradient_map",
    "gradient_x_input",
    "pooling_attention",
    "random",
]
