"""Functions of (model, batch) that score every token: what guides a mixing method also explains a decision."""

from salience.explainers.alone import EachTextAlone
from salience.explainers.attention import Attention, ClsAttention
from salience.explainers.chance import random
from salience.explainers.gradient import gradient, gradient_map, gradient_x_input
from salience.explainers.integrated import IntegratedGradients
from salience.explainers.occlusion import Occlusion
from salience.explainers.pooling import pooling_attention

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
