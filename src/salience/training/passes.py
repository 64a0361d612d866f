"""What a training step costs, in passes of its texts through the model.

A pass is a forward and a backward pass of a text through all layers, with the gradients of all weights: what a step of
fine-tuning without mixing spends on each text of its batch. A backward pass costs as much as two forward passes, so a
forward pass alone is a third of a pass; the cards in docs/methods state the same costs in forward passes. Embeddings
and heads are left out; a pooling layer counts as a layer.

Layers that are not trained have one forward pass of each text, whose states are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from salience.explainers.attention import Attention
from salience.explainers.explainer import CleanPassGuide
from salience.explainers.gradient import Gradient
from salience.hooks.shared_layers import trunk_level
from salience.hooks.stages import depth, layers_of
from salience.mixing.method import levels_of
from salience.training.head import frozen_layers
from salience.training.recipe import MOST

if TYPE_CHECKING:
    from salience.training.fit import Fitted
    from salience.training.prepare import Prepared

FORWARD = 1 / 3  # of a pass


def text_passes(prepared: Prepared, fitted: Fitted) -> float:
    """The passes of texts that the training took; those of the compressor's turns, on stored states, do not count."""
    plan = prepared.plan
    steps = sum(row["steps"] for row in fitted.iterations) or fitted.state.global_step
    passes = steps * min(plan.batch_size, len(prepared.training))
    passes *= passes_per_step(prepared.method, plan.clean, prepared.model)
    if frozen := frozen_layers(prepared.model):
        passes += FORWARD * len(prepared.training) * frozen / len(layers_of(prepared.model))
    if prepared.vectors is not None:
        passes += FORWARD * len(prepared.vectors)
    if plan.head_end == "logistic" and steps > 0:
        passes += FORWARD * min(len(prepared.training), MOST)
    return round(passes, 3)


def passes_per_step(method: Any, clean: float, model: nn.Module) -> float:
    """The passes of a training step for each text of its batch; their mean, if a step's level is drawn."""
    frozen = frozen_layers(model)
    saved = frozen / len(layers_of(model)) if frozen else 0.0  # by a pass that begins above
    if method is None:
        return 1 - saved
    guide = method.guide
    if clean == 0:
        return 1 - saved + guide_passes(guide, model)
    if isinstance(guide, CleanPassGuide):  # it reads what the clean pass has computed
        return 2 - 2 * saved
    levels = levels_of(method)
    return 2 - 2 * saved + guide_passes(guide, model) - sum(shared(model, level) for level in levels) / len(levels)


def guide_passes(guide: Any, model: nn.Module) -> float:
    """The passes of a guide that is called with the model, for each text; an unknown guide counts as a whole pass."""
    if guide is None:
        return 0.0
    if isinstance(guide, Gradient):  # forward, and backward without the gradients of the weights
        return 2 * FORWARD
    if isinstance(guide, Attention):  # forward up to the layer, of which only the attention is computed
        below = guide.layer % depth(model) - frozen_layers(model) if depth(model) else 0
        return FORWARD * below / len(layers_of(model)) if below > 0 else 0.0
    return 1.0


def shared(model: nn.Module, level: str | int | float) -> float:
    """The passes, from 0 to 1, of the layers that the clean and the mixed pass share, where texts meet at a level."""
    last = trunk_level(model, level)
    if last is None:
        return 0.0
    layers = list(layers_of(model)).index(last) + 1
    return (layers - min(layers, frozen_layers(model))) / len(layers_of(model))
