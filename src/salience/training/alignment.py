"""The regulariser of Sun and Lu (ACL 2020, section 5.3; doi:10.18653/v1/2020.acl-main.312) against aligned attention.

V^T W couples attention and polarity. Through it the polarity of a word changes because the word is attended to (the
gradient's term A), and its attention changes because it has a polarity (term D). The absolute value of V^T W is added
to the loss, as in the authors' code, or its square. The paper does not say which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from torch import Tensor, nn

from salience.errors import InputError
from salience.models.attention_classifier import AttentionClassifier
from salience.models.poolings import Additive, Dot
from salience.training.procedures import Standard

FORMS = {"absolute": Tensor.abs, "square": Tensor.square}


def alignment(model: nn.Module, form: str = "absolute") -> Tensor:
    """|V^T W| or (V^T W)^2, summed over classes.

    Raises:
        ValueError: as `coupling`.
    """
    return FORMS[form](coupling(model)).sum()


def penalty(weight: float, form: str = "absolute") -> Callable[[nn.Module], Tensor] | None:
    """The function that gives a model's penalty, a scalar: `weight` times `alignment`. None if the weight is 0."""
    return (lambda model: weight * alignment(model, form)) if weight else None


def coupling(model: nn.Module) -> Tensor:
    """V^T W, of each class vector (C,); of two classes (1,).

    Where words are attended to by V^T M_a h (additive attention, but for its tanh) or h is M e (an affine encoder), V
    and W are taken back to the embeddings: V^T M_a W, V^T M M^T W, and with both V^T M_a M M^T W.

    Raises:
        ValueError: the model is no attention classifier with one head of dot or additive attention and a linear head.
    """
    pooling = getattr(model, "pooling", None)
    if not (
        isinstance(model, AttentionClassifier)
        and isinstance(pooling, Dot | Additive)
        and pooling.heads == 1
        and isinstance(model.head, nn.Linear)
    ):
        raise ValueError(
            "V^T W is defined for attention classifiers with dot or additive attention of one head and a linear head"
        )
    attention, polarity = pooling.query[0], model.head.weight.T  # V (D,), W (D, C), for two classes (D, 1)
    if isinstance(pooling, Additive):
        attention = pooling.key.weight.T @ attention
    if model.config.encoder == "affine":
        weight = cast(nn.Linear, model.encoder.layers[0].dense).weight
        attention, polarity = weight.T @ attention, weight.T @ polarity
    return attention @ polarity


def check_alignment(procedure: Standard, model: nn.Module) -> None:
    """Refuses the penalty for a model that has no V^T W, before anything is written.

    Raises:
        InputError: says which models have it.
    """
    if not procedure.alignment:
        return
    try:
        alignment(model, procedure.alignment_form)
    except ValueError as error:
        raise InputError(f"--alignment: {error}") from error
