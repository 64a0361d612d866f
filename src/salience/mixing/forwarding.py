"""From a Mix to logits: the texts meet at the level it names, and from there on the model attends to both."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import check_recomputation, forward, rewriting, rewriting_arguments
from salience.hooks.stages import encoder_of, stages, whole_level
from salience.mixing.mix import Mix


def forward_mixed(model: nn.Module, batch: Batch, mix: Mix) -> Tensor:
    """The logits (B, C) of the mixed texts, in one forward pass: both members of a pair are in the batch.

    Tokens are replaced before the model sees them; a representation is rewritten where it is computed. Where `keep`
    is bool, what is the partner's takes a place in one's own text, under one's own mask; where it is float, the
    mixture is as long as the longer text.

    Raises:
        ValueError: the model has no such level; names those it has.
    """
    if mix.level == "tokens":
        return forward(model, batch.with_ids(mix.blend(batch.input_ids)))
    level = whole_level(model, mix.level)
    check_recomputation(model)
    padding = ~batch.attention_mask.bool()[..., None] if isinstance(level, int) and forgets_padding(model) else None

    def meet(own: Tensor) -> Tensor:
        if mix.dropout is not None and model.training:
            own = mix.dropout(own)
        return mix.blend(own if padding is None else own.masked_fill(padding, 0))

    if mix.keep.dtype == torch.bool or level == "sentence":  # replaced in place, or no places are left
        with rewriting(model, level, meet):
            return forward(model, batch)
    with rewriting(model, level, meet), attending_to_both(model, level, batch.attention_mask, mix):
        return forward(model, batch, of_both(batch.attention_mask, mix), of_both((batch.segment > 0).long(), mix) > 0)


def of_both(mask: Tensor, mix: Mix) -> Tensor:
    """What the mask lets through of each text, or of its partner, where anything is left of them.

    For bool, 0/1 and additive float masks alike, (B, ...).
    """
    theirs = mask[mix.partner]
    keep = mix.keep.expand(len(mask), *mix.keep.shape[1:]).reshape(len(mask), -1)
    some = (slice(None), *[None] * (mask.dim() - 1))  # (B,) -> (B, 1, ...)
    all_own, all_theirs = (keep == 1).all(1)[some], (keep == 0).all(1)[some]
    return torch.where(all_own, mask, torch.where(all_theirs, theirs, torch.maximum(mask, theirs)))


def forgets_padding(model: nn.Module) -> bool:
    """Whether what a layer computes for padding depends on how much padding there is, and so means nothing.

    In DeBERTa-v2 padding attends to everything, other padding included, and ModernBERT's local attention leaves it
    nothing to attend to. A longer text must not meet such states: there it meets zeros, as DeBERTa's own embeddings
    are on padding. In the other families padding attends to the text, and meets as it is.
    """
    places = stages(model)
    return "mask" in inspect.signature(places["embeddings"].forward).parameters or hasattr(
        encoder_of(model).config, "local_attention"
    )


# What the families call the mask that a module reads; ModernBERT of transformers 5.0 reads two.
MASKS = ("attention_mask", "mask", "input_mask", "sliding_window_mask")


@contextmanager
def attending_to_both(model: nn.Module, level: str | int, own: Tensor, mix: Mix) -> Iterator[None]:
    """Inside the `with`, modules after `level` attend to both texts. The model is to be called with the mask of both.

    The head reads that mask, as it should. The encoder is handed one's own mask (B, T) instead, for before the texts
    meet there is nothing of the partner to attend to, and every stage after `level` widens the mask it is given,
    which may also be None: nothing is padded.
    """

    def narrow(arguments: dict) -> dict:
        positions = positions_of_both(model, own, mix) if level == "words" else {}
        return {"attention_mask": own} | positions

    def widen(arguments: dict) -> dict:
        masks = {name: arguments[name] for name in MASKS if arguments.get(name) is not None}
        # A module may stand for levels on both sides of the meeting, or be called for one text alone (batch of 1).
        return {name: of_both(mask, mix) if len(mask) == len(own) else mask for name, mask in masks.items()}

    with ExitStack() as stack:
        stack.enter_context(rewriting_arguments(encoder_of(model), narrow))
        order = list(stages(model).items())
        meeting = [key for key, _ in order].index(level) + 1
        before = [module for _, module in order[:meeting]]
        for module in {id(module): module for _, module in order[meeting:]}.values():
            turn = sum(other is module for other in before)
            stack.enter_context(rewriting_arguments(module, widen, turn))
        yield


def positions_of_both(model: nn.Module, own: Tensor, mix: Mix) -> dict[str, Tensor]:
    """RoBERTa and MPNet number the tokens that are there, and give padding a row of its own; the tail of a longer
    partner must be numbered like any text. Other families number every place and need nothing."""
    table = getattr(stages(model)["embeddings"], "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if padding is None:
        return {}
    both = of_both(own, mix)
    return {"position_ids": both.cumsum(1) * both + padding}
