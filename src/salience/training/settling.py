"""What a method leaves open until its model and its data are there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch
from torch import nn

from salience.batch import Batch
from salience.errors import InputError
from salience.hooks.hooks import evaluating
from salience.hooks.stages import unwrapped
from salience.mixing.attentionmix import AttentionMix
from salience.mixing.forwarding import forward_mixed
from salience.mixing.heads import rank_heads
from salience.mixing.randomunk import BERT_UNKNOWN, RandomUNK

logger = logging.getLogger(__name__)


def settle(
    method: Callable | None,
    model: nn.Module,
    tokenizer,
    batches: Iterable[Batch],
    note: Callable[[str], None] = logger.info,
) -> Callable | None:
    """The method with nothing left open: random-UNK's token, AttentionMix's `head="auto"`.

    `batches` are looked at only where there is something to choose, and `note` is told what was chosen and why.

    Raises:
        InputError: random-UNK's token is none of the model's.
    """
    if isinstance(method, RandomUNK):
        unknown = getattr(tokenizer, "unk_token_id", None) if method.unknown is None else method.unknown
        unknown = BERT_UNKNOWN if unknown is None else unknown
        last = unwrapped(model).get_input_embeddings().num_embeddings - 1
        if unknown > last:
            raise InputError(f"unknown={unknown}: the model's tokens are numbered from 0 to {last}")
        return replace(method, unknown=unknown)
    if isinstance(method, AttentionMix) and method.head == "auto":
        ranked = rank_heads(model, batches)
        best, runner_up, worst = ranked[0], ranked[min(1, len(ranked) - 1)], ranked[-1]
        note(
            f"AttentionMix is guided by head {best.head} of layer {best.layer}: what it attends to agrees best with "
            f"the loss's gradient (rank correlation {best.agreement:.2f}; next head {runner_up.head} of layer "
            f"{runner_up.layer}, {runner_up.agreement:.2f}; last of {len(ranked)} {worst.agreement:.2f})"
        )
        return replace(method, layer=best.layer, head=best.head)
    return method


def rehearse(name: str, method: Callable | None, model: nn.Module, batch: Batch) -> None:
    """Mixes one batch, so that a field that does not fit the model is found before anything is written.

    Raises:
        InputError: says what the method or the model says.
    """
    if method is None:
        return
    try:
        with torch.random.fork_rng(devices=[]), evaluating(model):
            mix = method(batch, None if method.guide is None else method.guide(model, batch))
            with torch.no_grad():
                forward_mixed(model, batch, mix)
    except (ValueError, TypeError) as error:
        raise InputError(f"--method {name}: {' '.join(str(error).split())}") from error
