"""The weights of classes, or of several labels, in the loss."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.errors import InputError, quoted, unknown


def loss_weights(spec: str | Mapping, labels: np.ndarray, names: Sequence[str]) -> list[float] | None:
    """The weights of the C classes, or of the C labels that a text can have, in the loss; None for no weights.

    Args:
        spec: as of `class_weights` and `label_weights`.
        labels: of the texts that are trained on: class numbers (N,), or 0 and 1 (N, C).
        names: the labels in the order of their numbers.

    Raises:
        InputError: an unknown name, or a weight that is not a positive number.
    """
    if labels.ndim == 2:
        return label_weights(spec, labels, names)
    return class_weights(spec, [names[number] for number in labels], names)


def class_weights(spec: str | Mapping, labels: Sequence[str], names: Sequence[str]) -> list[float] | None:
    """The weights of the C classes in the loss; their mean over the training rows is 1. None for no weights.

    The loss of a row is multiplied by the weight of its label, or, for a mixed label, by the mean of the weights of
    both labels in their shares. The mean of a batch is taken over rows. So the loss is linear in the label, and is the
    same for a batch in one piece or in several.

    Args:
        spec: "none"; "auto" for rows / (classes * rows of the class) of the classes that have rows, and 1 for the
            others; or "name=weight,name2=weight", where classes that are not named have the weight 1. A mapping of
            names to weights is accepted too; names with commas need it.
        labels: the label of each training row.
        names: the labels in the order of their numbers.

    Raises:
        InputError: an unknown name, or a weight that is not a positive number.
    """
    if spec == "none":
        return None
    counts = Counter(labels)
    if spec == "auto":
        return [len(labels) / (len(counts) * counts[name]) if counts[name] else 1.0 for name in names]
    weights = dict.fromkeys(names, 1.0) | named_weights(spec, names)
    mean = sum(counts[name] * weights[name] for name in names) / len(labels)
    return [weights[name] / mean for name in names]


def label_weights(spec: str | Mapping, labels: np.ndarray, names: Sequence[str]) -> list[float] | None:
    """The weights of the C labels in the loss, where a text can have several; None for no weights.

    The loss of a label is multiplied by its weight for the texts that have it, and by 1 for the others, or by the mean
    of both in their shares for a mixed label.

    Args:
        spec: as of `class_weights`; "auto" is texts without the label / texts with it, so that both count alike, and 1
            for a label that no text has, or every text.
        labels: (N, C), 0 and 1, of the training rows.
        names: the labels in the order of their columns.

    Raises:
        InputError: as `class_weights`.
    """
    if spec == "none":
        return None
    if spec != "auto":
        return list((dict.fromkeys(names, 1.0) | named_weights(spec, names)).values())
    having = labels.sum(0)
    return [(len(labels) - count) / count if 0 < count < len(labels) else 1.0 for count in having.tolist()]


def named_weights(spec: str | Mapping, names: Sequence[str]) -> dict[str, float]:
    """The weights that are written for some classes, by name. Raises as `class_weights`."""
    weights = {}
    for name, number in parted(spec):
        if name not in names:
            raise unknown("class in the class weights", name, names)
        try:
            weights[name] = float(number)
        except (TypeError, ValueError):
            weights[name] = math.nan
        if not 0 < weights[name] < math.inf:
            raise InputError(
                f"class weights: the weight of {quoted(name)} is {quoted(str(number))}; give a number above 0"
            )
    return weights


def parted(spec: str | Mapping) -> list[tuple[str, Any]]:
    """The names and weights as they are written. Raises an `InputError` if they are not written so."""
    if isinstance(spec, Mapping):
        return [(str(name), number) for name, number in spec.items()]
    if not isinstance(spec, str):
        raise InputError(f"class weights {spec!r}: give none, auto, or the weight of each name")
    pairs = [part.rpartition("=") for part in spec.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise InputError(
            f"class weights {quoted(spec)}: give none, auto, or name=weight,name2=weight; names with commas are "
            "weighted in a yaml file, as `class_weights: {name: weight}`"
        )
    return [(name.strip(), number.strip()) for name, _, number in pairs]
