"""The regulariser of Sun and Lu (ACL 2020, section 5.3): attention and polarity should not learn from each other.

V^T W couples the two: through it a word's polarity changes because it is attended to (the gradient's term A), and its
attention changes because it has a polarity (term D). Its absolute value is added to the loss, as in the authors' code,
or its square, for the paper does not say which.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from salience.errors import InputError, unknown
from salience.models.attention_classifier import AttentionClassifier
from salience.models.poolings import Additive, Dot
from salience.training.recipe import Recipe

FORMS = {"absolute": Tensor.abs, "square": Tensor.square}


def alignment(model: nn.Module, form: str = "absolute") -> Tensor:
    """|V^T W| or (V^T W)^2, summed over classes.

    Raises:
        ValueError: as `coupling`.
    """
    return FORMS[form](coupling(model)).sum()


def penalty(price: float, form: str = "absolute") -> Callable[[nn.Module], Tensor] | None:
    """What the alignment adds to a model's loss; None where it costs nothing."""
    return (lambda model: price * alignment(model, form)) if price else None


def coupling(model: nn.Module) -> Tensor:
    """V^T W, of each class vector (C,); of two classes (1,).

    Where words are attended to by V^T M_a h (additive attention, but for its tanh) or h is M e (an affine encoder), V
    and W are taken back to the embeddings: V^T M_a W, V^T M M^T W, and with both V^T M_a M M^T W.

    Raises:
        ValueError: the model is no attention classifier with one head of dot or additive attention and a linear head.
    """
    pooling = getattr(model, "pooling", None)
    fits = isinstance(model, AttentionClassifier) and isinstance(pooling, Dot | Additive) and pooling.heads == 1
    if not fits or model.config.head != "linear":
        raise ValueError(
            "V^T W is defined for attention classifiers with dot or additive attention of one head and a linear head"
        )
    attention, polarity = pooling.query[0], model.head.weight.T  # V (D,), W (D, C), for two classes (D, 1)
    if isinstance(pooling, Additive):
        attention = pooling.key.weight.T @ attention
    if model.config.encoder == "affine":
        weight = model.encoder.layers[0].dense.weight
        attention, polarity = weight.T @ attention, weight.T @ polarity
    return attention @ polarity


def check_form(price: float, form: str) -> None:
    """Refuses an unknown form, and one that nothing is paid for.

    Raises:
        InputError: names the forms, or the option that is missing.
    """
    if form not in FORMS:
        raise unknown("--alignment-form", form, FORMS)
    if form != "absolute" and not price:
        raise InputError(f"--alignment-form {form} would have no effect without a price, as --alignment 1e-4")


def check_alignment(recipe: Recipe, model: nn.Module) -> None:
    """Refuses a price for what the model does not have, before anything is written.

    Raises:
        InputError: says which models have it.
    """
    check_form(recipe.alignment, recipe.alignment_form)
    if not recipe.alignment:
        return
    if getattr(model, "compressor", None) is not None:
        raise InputError(
            "--alignment: the compressor's turns of VAT would not pay it; take a model that is trained once, as "
            "attention:additive"
        )
    try:
        alignment(model, recipe.alignment_form)
    except ValueError as error:
        raise InputError(f"--alignment: {error}") from error
