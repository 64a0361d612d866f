"""Calibration of a trained classifier by its estimate: a temperature that is folded into the last linear map.

The temperature is fitted on the rows of the estimate, whose models had not seen them. Dividing the last weights and
biases by T divides the logits by T, so that every reader of the checkpoint gets calibrated probabilities. Predicted
classes stay the same. Guo et al. (2017), arXiv:1706.04599, section 4.2; see `salience.training.temperature`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.hooks import evaluating, forward
from salience.hooks.stages import unwrapped
from salience.models.attention_classifier import AttentionClassifier
from salience.training.metrics import calibration_error, equal_mass_calibration_error
from salience.training.temperature import fit_temperature, with_temperature


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


@torch.no_grad()
def check_divisible(model: PreTrainedModel, batch: Batch) -> None:
    """Checks that `divide_logits` divides the logits of a model, which is unchanged afterwards.

    Args:
        batch: some texts, on any device.

    Raises:
        InputError: the model computes its logits in another way, or its last map is shared with another part.
    """

    def logits() -> Tensor:
        with evaluating(model):
            return forward(model, batch.to(model.device)).float()

    before = logits()
    divide_logits(model, 2.0)  # which changes no bit but the exponents
    after = logits()
    divide_logits(model, 0.5)
    if not torch.allclose(2 * after, before, rtol=1e-3, atol=1e-4):
        raise InputError(
            f"--calibrate: the logits of {type(unwrapped(model)).__name__} are not those of its last linear map, so "
            "no temperature can be folded into it: leave --calibrate out"
        )


def cross_fitted(
    probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 0
) -> dict[str, float | None]:
    """The temperature of the rows of an estimate, and the calibration errors before and after scaling.

    The errors after scaling are cross-fitted: each half of the rows is scaled by the temperature of the other half.
    They are those of the models of the estimate; the model of the run has more training rows.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        groups: (N,) the group of each row, which is in one half; None for rows that are independent.
        seed: of the halves.

    Returns:
        "temperature", fitted on all rows; "calibration_error" and "equal_mass_calibration_error", each also with
        "_scaled" appended, after scaling; these are None if there is a single row or group.
    """
    first = half_of_rows(len(labels) if groups is None else groups, seed)
    scaled = probabilities.copy()
    for rows in (first, ~first):
        scaled[rows] = with_temperature(probabilities[rows], temperature_of(probabilities[~rows], labels[~rows]))
    found: dict[str, float | None] = {"temperature": temperature_of(probabilities, labels)}
    for name, error in (
        ("calibration_error", calibration_error), ("equal_mass_calibration_error", equal_mass_calibration_error)
    ):  # fmt: skip
        found[name] = error(probabilities, labels)
        found[f"{name}_scaled"] = error(scaled, labels) if first.any() else None
    return found


def temperature_of(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The temperature that minimises the log loss of probabilities (N, C) with their labels (N,).

    It is 1 where all rows are right: then they do not say how confident the model should be, and the minimum would be
    at full confidence.
    """
    if (probabilities.argmax(1) == labels).all():
        return 1.0
    with np.errstate(divide="ignore"):
        return fit_temperature(np.log(np.asarray(probabilities, np.float64)), labels)


def calibration_sentence(scaling: Mapping[str, Any]) -> str:
    """What was folded into the model, in one line.

    Args:
        scaling: what `cross_fitted` gives.
    """
    before, after = scaling["calibration_error"], scaling["calibration_error_scaled"]
    scaled = "" if after is None else f": calibration error {before:.3f}, and {after:.3f} after scaling (cross-fitted)"
    return f"calibrated by the temperature {scaling['temperature']:.3g}{scaled}"


def half_of_rows(groups: np.ndarray | int, seed: int) -> np.ndarray:
    """Whether each row is in the first half (N,): half of the groups, drawn at random.

    Args:
        groups: (N,) the group of each row, or the number N of rows that are independent.
    """
    numbers = np.arange(groups) if isinstance(groups, int) else np.unique(groups, return_inverse=True)[1].ravel()
    count = int(numbers.max()) + 1
    return np.isin(numbers, np.random.default_rng(seed).permutation(count)[: count // 2])
