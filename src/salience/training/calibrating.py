"""Calibration of a trained classifier by its estimate: a temperature that is folded into the last linear map.

The temperature is fitted on the rows of the estimate, whose models had not seen them. Dividing the last weights and
biases by T divides the logits by T, so that every reader of the checkpoint gets calibrated probabilities. Predicted
classes stay the same. Guo et al. (2017), arXiv:1706.04599, section 4.2; see `salience.training.temperature`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.hooks import evaluating, forward
from salience.hooks.stages import unwrapped
from salience.models.attention_classifier import AttentionClassifier


def last_map(model: PreTrainedModel) -> nn.Linear:
    """The linear map whose outputs are the logits that the model predicts by.

    Of an attention classifier with a compressor, it is that of the learner or of the compressor, by which it predicts.
    """
    head: nn.Module = unwrapped(model)
    if isinstance(head, AttentionClassifier):
        own = head.compressor.classifier if head.compressor is not None and head.predicts_compressed else None
        head = head.head if own is None else own
    return [module for module in head.modules() if isinstance(module, nn.Linear)][-1]


@torch.no_grad()
def divide_logits(model: PreTrainedModel, temperature: float) -> None:
    """Divides the weights and biases of the last linear map, and so the logits.

    Args:
        temperature: T, above 0.
    """
    for weight in last_map(model).parameters(recurse=False):
        weight.div_(temperature)


def choose_calibration(asked: bool | None, model: PreTrainedModel, batch: Batch, note: Callable[[str], None]) -> bool:
    """Whether the temperature of an estimate is folded into a model: if asked, and by default if it can be.

    Args:
        asked: None for the default.
        batch: some texts, on any device.
        note: called with a line of text if a model cannot be calibrated.

    Raises:
        InputError: it is asked, and the model is not `divisible`.
    """
    if asked is False or divisible(model, batch):
        return asked is not False
    reason = (
        f"the logits of {type(unwrapped(model)).__name__} are not those of its last linear map, so no temperature can "
        "be folded into it"
    )
    if asked:
        raise InputError(f"--calibrate: {reason}: leave --calibrate out")
    note(f"not calibrated: {reason}")
    return False


@torch.no_grad()
def divisible(model: PreTrainedModel, batch: Batch) -> bool:
    """Whether `divide_logits` divides the logits of a model, which is unchanged afterwards.

    It does not if the model computes its logits in another way, or shares its last map with another part.

    Args:
        batch: some texts, on any device.
    """

    def logits() -> Tensor:
        with evaluating(model):
            return forward(model, batch.to(model.device)).float()

    before = logits()
    divide_logits(model, 2.0)  # which changes no bit but the exponents
    after = logits()
    divide_logits(model, 0.5)
    return torch.allclose(2 * after, before, rtol=1e-3, atol=1e-4)


def calibration_sentence(scaling: Mapping[str, Any]) -> str:
    """What was folded into the model, in one line.

    Args:
        scaling: what `cross_fitted` gives.
    """
    before, after = scaling["calibration_error"], scaling["calibration_error_scaled"]
    errors = "" if after is None else f": calibration error {before:.3f} without, {after:.3f} with it (cross-fitted)"
    return f"calibrated by the temperature {scaling['temperature']:.3g}{errors}"
