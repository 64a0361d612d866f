"""Weights between those before and after a training: WiSE-FT (Wortsman et al., 2022, arXiv:2109.01903, Eq. 1).

    kept = (1 - share) * before + share * after

Where the head begins as a regression, the weights before the training are a classifier too: the regression on the
vectors of the frozen encoder. Where it is nearly as good as the trained one, a classifier between both can be better
than either; where it is worse, less so. It costs a copy of the weights that are trained.
"""

from __future__ import annotations

import torch
from torch import nn
from transformers import TrainerCallback


class InterpolatedWeights(TrainerCallback):
    """Puts the weights of a model between those that it has now and those that it ends with.

    It is made before the training, also before one that is resumed, when the model has its first weights. Of several
    callbacks that set weights at the end, it is the last.

    Args:
        model: the model that is trained; its weights that need a gradient are copied.
        share: of the trained weights, from 0 to 1.
    """

    def __init__(self, model: nn.Module, share: float):
        self.weights = [weight for weight in model.parameters() if weight.requires_grad]
        self.before = [weight.detach().clone() for weight in self.weights]
        self.share = share

    @torch.no_grad()
    def on_train_end(self, args, state, control, **kwargs):
        """Called by the Trainer after the last step."""
        for weight, before in zip(self.weights, self.before, strict=True):
            weight.copy_(torch.lerp(before.to(weight), weight, self.share))
