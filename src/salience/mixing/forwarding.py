"""From a Mix to logits: the texts meet at the level it names, and from there on the model attends to both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.mixing.mix import Mix
from salience.sites import forward, rewriting, rewriting_arguments, stages, unwrapped, whole_level


def forward_mixed(model: nn.Module, batch: Batch, mix: Mix) -> Tensor:
    """The logits (B, C) of the mixed texts, in one forward pass: both members of a pair are in the batch.

    Tokens are replaced before the model sees them, under the text's own mask; a representation is rewritten where it
    is computed.

    Raises:
        ValueError: the model has no such level; names those it has.
    """
    if mix.level == "tokens":
        return forward(model, batch.with_ids(mix.blend(batch.input_ids)))
    level = whole_level(model, mix.level)
    with rewriting(model, level, mix.blend), attending_to_both(model, level, batch.attention_mask, mix.partner):
        return forward(model, batch, union(batch.attention_mask, mix.partner))


def union(mask: Tensor, partner: Tensor) -> Tensor:
    """What one's own mask or the partner's lets through; for bool, 0/1 and additive float masks alike."""
    return torch.maximum(mask, mask[partner])


MASKS = ("attention_mask", "mask", "input_mask")  # what the families call the mask that a module reads


@contextmanager
def attending_to_both(model: nn.Module, level: str | int, own: Tensor, partner: Tensor) -> Iterator[None]:
    """Inside the `with`, modules after `level` attend to both texts. The model is to be called with the union mask.

    The head reads that union, as it should. The encoder is handed one's own mask (B, T) instead, for before the texts
    meet there is nothing of the partner to attend to, and every stage after `level` widens the mask it is given,
    which may also be None: nothing is padded.
    """

    def narrow(arguments: dict) -> dict:
        positions = positions_of_both(model, own, partner) if level == "words" else {}
        return {"attention_mask": own} | positions

    def widen(arguments: dict) -> dict:
        masks = {name: arguments[name] for name in MASKS if arguments.get(name) is not None}
        # A module may stand for levels on both sides of the meeting, or be called for one text alone (batch of 1).
        return {name: union(mask, partner) if len(mask) == len(partner) else mask for name, mask in masks.items()}

    with ExitStack() as stack:
        stack.enter_context(rewriting_arguments(unwrapped(model).base_model, narrow))
        order = list(stages(model).items())
        meeting = [key for key, _ in order].index(level) + 1
        before = [module for _, module in order[:meeting]]
        for module in {id(module): module for _, module in order[meeting:]}.values():
            turn = sum(other is module for other in before)
            stack.enter_context(rewriting_arguments(module, widen, turn))
        yield


def positions_of_both(model: nn.Module, own: Tensor, partner: Tensor) -> dict[str, Tensor]:
    """RoBERTa and MPNet number the tokens that are there, and give padding a row of its own; the tail of a longer
    partner must be numbered like any text. Other families number every place and need nothing."""
    table = getattr(stages(model)["embeddings"], "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if padding is None:
        return {}
    both = union(own, partner)
    return {"position_ids": both.cumsum(1) * both + padding}
