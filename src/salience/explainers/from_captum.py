"""Captum's attributions as explainers, where it is installed (Kokhlikyan et al., 2020; https://captum.ai)."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from salience.batch import Batch
from salience.errors import InputError, unknown
from salience.explainers.baseline import from_nothing
from salience.explainers.target import target_of
from salience.hooks.hooks import evaluating, forward, rewriting
from salience.hooks.stages import unwrapped

# GradientShap and DeepLiftShap draw baselines from a distribution: in a batch that would be the other texts.
GRADIENTS = ("DeepLift", "InputXGradient", "IntegratedGradients", "Saliency")
PERTURBATIONS = ("FeatureAblation", "KernelShap", "Lime", "Occlusion", "ShapleyValueSampling")


@dataclass(frozen=True)
class FromCaptum:
    """An attribution of ln p(class) by its name in `captum.attr`, to the output of the embedding block.

    Where it wants a baseline, that is the text without its words, as for our own integrated gradients. What replaces
    features replaces whole tokens; what has a value for every unit is summed over them.

    Raises:
        InputError: captum is not installed, or has no such attribution that fits texts.
    """

    name: str

    def __post_init__(self):
        if self.name not in (*GRADIENTS, *PERTURBATIONS):
            raise unknown("attribution of captum", self.name, (*GRADIENTS, *PERTURBATIONS))
        if find_spec("captum") is None:
            raise InputError("captum is not installed: pip install 'salience[captum]'")

    def __call__(self, model: nn.Module, batch: Batch, target: Tensor | None = None) -> Tensor:
        """Scores (B, T), 0 on padding and special tokens; `target` as for our own explainers."""
        import captum.attr

        model, words = unwrapped(model), batch.segment > 0
        attribution = getattr(captum.attr, self.name)(FromEmbeddings(model))
        known = inspect.signature(attribution.attribute).parameters
        with evaluating(model), torch.enable_grad():
            empty, embeddings, logits = from_nothing(model, batch)
            target = target_of(logits, batch, target)
            tokens = torch.arange(embeddings.shape[1], device=embeddings.device)[None, :, None]
            offered = {
                "baselines": empty, "feature_mask": tokens.repeat(1, 1, embeddings.shape[2]),
                "sliding_window_shapes": (1, embeddings.shape[2]),
                "internal_batch_size": len(embeddings),  # else all steps of an integral are one batch
            }  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it sets hooks, and asks for gradients
                scores = attribution.attribute(
                    embeddings, target=target,
                    additional_forward_args=(batch.input_ids, batch.attention_mask, batch.segment),
                    **{name: value for name, value in offered.items() if name in known},
                ).detach()  # fmt: skip
        scores = scores.sum(-1) if self.name in GRADIENTS else scores[..., 0]  # a token's value, at each of its units
        return scores.where(words, 0).to(embeddings.dtype)


class FromEmbeddings(nn.Module):
    """What captum calls: ln p of every class (B, C) for embeddings (B, T, D) in place of the ids' own."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, embeddings: Tensor, ids: Tensor, mask: Tensor, segment: Tensor) -> Tensor:
        with rewriting(self.model, "embeddings", lambda own: embeddings):
            return F.log_softmax(forward(self.model, Batch(ids, mask, segment)), 1)
