"""Explainers: functions of (model, batch) that score every token, for explanations and as guides of mixing methods."""

from salience.explainers.alone import EachTextAlone
from salience.explainers.attention import Attention, ClsAttention
from salience.explainers.chance import random
from salience.explainers.explainer import CleanPassGuide, Explainer
from salience.explainers.gradient import gradient, gradient_map, gradient_x_input
from salience.explainers.integrated import IntegratedGradients
from salience.explainers.occlusion import Occlusion
from salience.explainers.pooling import pooling_attention

# Name -> explainer, called as explainer(model, batch, target=None) -> scores (B, T).
EXPLAINERS: dict[str, Explainer] = {
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
    "EXPLAINERS", "Attention", "CleanPassGuide", "ClsAttention", "EachTextAlone", "Explainer",
    "IntegratedGradients", "Occlusion", "gradient", "gradient_map", "gradient_x_input", "pooling_attention",
    "random",
]  # fmt: skip
