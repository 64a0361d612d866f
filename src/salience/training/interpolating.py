"""Weights between those before and after a training: WiSE-FT (Wortsman et al., 2022, arXiv:2109.01903, Eq. 1).

    kept = (1 - share) * before + share * after

Where the head begins as a regression, the weights before the training are a classifier too: the regression on the
vectors of the frozen encoder. Where it is nearly as good as the trained one, a classifier between both can be better
than either; where it is worse, less so. It costs a copy of the weights that are trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from transformers import TrainerCallback


class Beginning:
    """The weights of a model that need a gradient, as they are before a training.

    Args:
        model: the model that will be trained; its weights are copied.
    """

    def __init__(self, model: nn.Module):
        self.weights = [weight for weight in model.parameters() if weight.requires_grad]
        self.before = [weight.detach().clone() for weight in self.weights]

    def keep(self, share: float) -> None:
        """Gives the model, once it is trained, the weights that have this share of the trained ones, from 0 to 1."""
        self.mix([weight.detach() for weight in self.weights], share)

    def at(self, shares: Sequence[float]) -> Iterator[float]:
        """Yields each share while the model has its weights; in the end the model has the trained ones again."""
        after = [weight.detach().clone() for weight in self.weights]
        for share in shares:
            self.mix(after, share)
            yield share
        self.mix(after, 1.0)

    @torch.no_grad()
    def mix(self, after: Sequence[Tensor], share: float) -> None:
        """Gives the model a share of the weights `after` a training."""
        for weight, before, trained in zip(self.weights, self.before, after, strict=True):
            weight.copy_(torch.lerp(before.to(trained), trained, share))


class InterpolatedWeights(TrainerCallback):
    """Puts the weights of a model between those that it has now and those that it ends with.

    It is made before the training, also before one that is resumed, when the model has its first weights. Of several
    callbacks that set weights at the end, it is the last.

    Args:
        model: the model that is trained.
        share: of the trained weights, from 0 to 1.
    """

    def __init__(self, model: nn.Module, share: float):
        self.beginning, self.share = Beginning(model), share

    def on_train_end(self, args, state, control, **kwargs):
        """Called by the Trainer after the last step."""
        self.beginning.keep(self.share)
