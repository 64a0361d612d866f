"""A penalty on the alignment of attention and polarity (Sun and Lu, 2020, section 5.3).

V is the context vector of the attention and W the class vectors of the head. If V^T W is not 0, the polarity of a word
changes because the word is attended to (term A of the gradient), and its attention changes because it has a polarity
(term D). |V^T W| is added to the loss, as in the authors' code, or its square; the paper does not say which.

Xiaobing Sun and Wei Lu (ACL 2020), "Understanding Attention for Text Classification",
doi 10.18653/v1/2020.acl-main.312.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from torch import Tensor, nn

from salience.errors import InputError
from salience.papers.attention_classifiers.classifier import AttentionClassifier
from salience.papers.attention_classifiers.poolings import Additive, Dot
from salience.training.procedures import Standard

FORMS = {"absolute": Tensor.abs, "square": Tensor.square}


def alignment(model: nn.Module, form: str = "absolute") -> Tensor:
    """|V^T W| or (V^T W)^2, summed over classes: a scalar with a gradient.

    Args:
        form: "absolute" or "square".

    Raises:
        ValueError: V^T W is not defined for the model; see `coupling`.
    """
    return FORMS[form](coupling(model)).sum()


def penalty(weight: float, form: str = "absolute") -> Callable[[nn.Module], Tensor] | None:
    """A function that maps a model to `weight` times its `alignment`, a scalar; None if the weight is 0."""
    return (lambda model: weight * alignment(model, form)) if weight else None


def coupling(model: nn.Module) -> Tensor:
    """V^T W for every class vector: (C,), or (1,) for two classes.

    With additive attention (without its tanh), the score of a state h is V^T M_a h; with an affine encoder, h = M e
    for an embedding e. V and W are then mapped to the space of the embeddings: V^T M_a W, V^T M M^T W, and
    V^T M_a M M^T W for both.

    Raises:
        ValueError: the model is not an attention classifier with dot or additive attention of one head and a linear
            head.
    """
    if (
        not isinstance(model, AttentionClassifier)
        or not isinstance(model.pooling, Dot | Additive)
        or model.pooling.heads != 1
        or model.config.head != "linear"
    ):
        raise ValueError(
            "V^T W is defined for attention classifiers with dot or additive attention of one head and a linear head"
        )
    pooling = model.pooling
    head = cast(nn.Linear, model.head)
    attention, polarity = pooling.query[0], head.weight.T  # V (D,), W (D, C), for two classes (D, 1)
    if isinstance(pooling, Additive):
        attention = pooling.key.weight.T @ attention
    if model.config.encoder == "affine":
        weight = cast(nn.Linear, model.encoder.layers[0].dense).weight
        attention, polarity = weight.T @ attention, weight.T @ polarity
    return attention @ polarity


def check_alignment(procedure: Standard, model: nn.Module) -> None:
    """Checks that V^T W is defined for the model if the procedure has the penalty, before anything is written.

    Raises:
        InputError: it is not defined; says for which models it is.
    """
    if not procedure.alignment:
        return
    try:
        alignment(model, procedure.alignment_form)
    except ValueError as error:
        raise InputError(f"--alignment: {error}") from error
