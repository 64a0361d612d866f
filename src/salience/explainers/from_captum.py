"""Attributions of captum as explainers, if captum is installed (Kokhlikyan et al., 2020, arXiv:2009.07896)."""

from __future__ import annotations

import inspect
import warnings
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.errors import InputError, pip_install, unknown
from salience.explainers.explainer import from_nothing, of_tokens, target_of
from salience.hooks.hooks import evaluating, forward, rewriting
from salience.hooks.stages import unwrapped
from salience.models.problem import log_probabilities

# GradientShap and DeepLiftShap are left out: they draw baselines from a distribution, here the other texts of a batch.
GRADIENTS = ("DeepLift", "InputXGradient", "IntegratedGradients", "Saliency")
PERTURBATIONS = ("FeatureAblation", "KernelShap", "Lime", "Occlusion", "ShapleyValueSampling")


@dataclass(frozen=True)
class FromCaptum:
    """An attribution method of `captum.attr`, applied to ln p(class) and the output of the embedding block.

    The baseline is the text without its words, as in `IntegratedGradients`. Perturbation methods replace whole tokens.
    Gradient methods give a value for every unit, which are summed over each token.

    Raises:
        InputError: captum is not installed, or the method is unknown or does not apply to texts.
    """

    name: str  # of the class in `captum.attr`

    def __post_init__(self):
        if self.name not in (*GRADIENTS, *PERTURBATIONS):
            raise unknown("attribution of captum", self.name, (*GRADIENTS, *PERTURBATIONS))
        if find_spec("captum") is None:
            raise InputError(f"captum is not installed: {pip_install('captum')}")

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), 0 on padding and special tokens."""
        import captum.attr

        model, words = sharing_weights(unwrapped(model)), batch.segment > 0
        attribution = getattr(captum.attr, self.name)(FromEmbeddings(model))
        known = inspect.signature(attribution.attribute).parameters
        with evaluating(model), torch.enable_grad():
            empty, embeddings, logits = from_nothing(model, batch)
            target = target_of(logits, batch, target)
            tokens = torch.arange(embeddings.shape[1], device=embeddings.device)[None, :, None]
            offered = {
                "baselines": empty, "feature_mask": tokens.repeat(1, 1, embeddings.shape[2]),
                "sliding_window_shapes": (1, embeddings.shape[2]),
                "internal_batch_size": len(embeddings),  # otherwise all steps of an integral form one batch
            }  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # captum warns that it sets hooks and requires gradients
                others = (batch.input_ids, batch.attention_mask, batch.segment, batch.token_type_ids)
                scores = attribution.attribute(
                    embeddings, target=target, additional_forward_args=others,
                    **{name: value for name, value in offered.items() if name in known},
                ).detach()  # fmt: skip
        scores = scores.sum(-1) if self.name in GRADIENTS else scores[..., 0]  # the same value at every unit
        return of_tokens(scores, batch).where(words, 0).to(embeddings.dtype)


def sharing_weights(model: nn.Module) -> nn.Module:
    """A copy of the modules of a model with the same weights: captum sets hooks in all threads, and keeps states."""
    return deepcopy(model, {id(weight): weight for weight in (*model.parameters(), *model.buffers())})


class FromEmbeddings(nn.Module):
    """What captum calls: from the embedding block's output (B, T, D) to ln p of every class (B, C)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, embeddings: Tensor, ids: Tensor, mask: Tensor, segment: Tensor, types: Tensor | None) -> Tensor:
        with rewriting(self.model, "embeddings", lambda _: embeddings):
            logits = forward(self.model, Batch(ids, mask, segment, token_type_ids=types))
            return log_probabilities(self.model, logits)
