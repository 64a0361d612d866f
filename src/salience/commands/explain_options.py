"""Options that `salience explain` and `salience faithfulness` have in common: explainers, and the class explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from salience.errors import InputError, unknown
from salience.explainers import EXPLAINERS, Attention, ClsAttention
from salience.explainers.from_captum import FromCaptum


def chosen_explainers(names: Sequence[str], layer: int | None, head: int | None) -> dict[str, Callable]:
    """Explainers by name, with the layer and head that the attention explainers are to use.

    Raises:
        InputError: an explainer is unknown, or a layer or head is given without an attention explainer.
    """
    explainers = {name: explainer_named(name) for name in names}
    if layer is not None or head is not None:
        attention = {
            name: explainer
            for name, explainer in explainers.items()
            if isinstance(explainer, Attention | ClsAttention)
        }
        if not attention:
            raise InputError("--layer and --head are of --explainer attention and cls-attention")
        for name, explainer in attention.items():
            explainers[name] = replace(explainer, layer=explainer.layer if layer is None else layer, head=head)
    return explainers


def explainer_named(name: str) -> Callable:
    """An explainer of `salience.EXPLAINERS`, or one of captum: captum:NAME.

    Raises:
        InputError: there is no such explainer, or captum is not installed.
    """
    if name.startswith("captum:"):
        return FromCaptum(name.removeprefix("captum:"))
    if name not in EXPLAINERS:
        raise unknown("explainer", name, [*EXPLAINERS, "captum:NAME"])
    return EXPLAINERS[name]


def target_of(target: str, labels: list[str]) -> int | str:
    """The number of a label; "predicted" and "gold" stay as they are.

    Raises:
        InputError: it is none of these.
    """
    if target in ("predicted", "gold"):
        return target
    if target not in labels:
        raise unknown("--target", target, ["predicted", "gold", *labels])
    return labels.index(target)
