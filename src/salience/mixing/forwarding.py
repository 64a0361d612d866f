"""From a `Mix` to logits: the representations are mixed at its level, and later layers attend to the mixture."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.errors import InputError, one_line
from salience.hooks.hooks import check_recomputation, differ, evaluating, forward, rewriting, rewriting_arguments
from salience.hooks.shared_layers import trunk_level
from salience.hooks.stages import encoder_of, stages, whole_level
from salience.mixing.method import Method, levels_of
from salience.mixing.mix import Mix


def forward_mixed(model: nn.Module, batch: Batch, mix: Mix) -> Tensor:
    """The logits (B, C) of the mixed texts, in one forward pass: both texts of a pair are in the batch.

    Token ids are replaced before the model is called; other representations are rewritten at their level. With
    `mix.attend` "own", every layer uses the text's own attention mask. With "both", the layers after the level use
    the union of the two texts' masks.

    Raises:
        ValueError: the model has no such level (the message lists those it has), or it cannot mix representations
            under activation checkpointing in this version of transformers.
    """
    if mix.level == "tokens":
        return forward(model, batch.with_ids(mix.blend(batch.input_ids)))
    level = whole_level(model, mix.level)
    check_recomputation(model)
    padding = ~batch.attention_mask.bool()[..., None] if isinstance(level, int) and forgets_padding(model) else None

    def blend(own: Tensor) -> Tensor:
        if own.dim() == 3 and own.shape[:2] != batch.input_ids.shape:  # Longformer pads by itself, XLNet transposes
            raise ValueError(f"its states at level {level!r} are not one for each token of each text")
        if mix.dropout is not None and model.training:
            own = mix.dropout(own)
        return mix.blend(own if padding is None else own.masked_fill(padding, 0))

    if mix.attend == "own" or level == "sentence":
        with rewriting(model, level, blend):
            return forward(model, batch)
    with rewriting(model, level, blend), attending_to_both(model, level, batch.attention_mask, mix):
        return forward(model, batch, of_both(batch.attention_mask, mix), of_both((batch.segment > 0).long(), mix) > 0)


def dry_run(method: Method, model: nn.Module, batch: Batch) -> None:
    """Mixes one batch, so that a setting that does not fit the model is refused before training starts.

    The random state, the model's mode and its gradients stay as they are.
    """
    with trying(method, model):
        mix = method(batch, None if method.guide is None else method.guide(model, batch))
        with torch.no_grad():
            levels = getattr(method, "levels", [mix.level])  # of which a training step draws one
            for level in levels:
                forward_mixed(model, batch, replace(mix, level=level))
            check_exchanges(model, batch, levels)


def try_levels(method: Method, model: nn.Module, batch: Batch) -> None:
    """As `dry_run`, of the levels that a method mixes at alone: a forward pass of the batch for each, and one more."""
    with trying(method, model), torch.no_grad():
        check_exchanges(model, batch, levels_of(method))


@contextmanager
def trying(method: Method, model: nn.Module) -> Iterator[None]:
    """Inside the `with`, every error is an `InputError`; the random state and the model's mode stay as they are."""
    try:
        with torch.random.fork_rng(devices=[]), evaluating(model):
            yield
    except Exception as error:  # what a model that this library does not know says of a mixture, too
        raise InputError(f"{type(method).__name__} cannot be used with this model: {one_line(error, 300)}") from error


def check_exchanges(model: nn.Module, batch: Batch, levels: Iterable[str | int | float]) -> None:
    """As `check_exchange`, at some levels, and where the passes of a step part below them."""
    every = (each for level in levels for each in (level, trunk_level(model, level)))
    tried = dict.fromkeys(each for each in every if each is not None and each != "tokens")
    expected = forward(model, batch) if tried else None
    for level in tried:
        check_exchange(model, batch, level, expected)


def check_exchange(model: nn.Module, batch: Batch, level: str | int | float, expected: Tensor | None = None) -> None:
    """Raises a `ValueError` if a text of which nothing is kept at a level does not become its partner there.

    Such a model reads masks, positions or the text itself in a place that is not known, and no mixture would be right.
    `expected` are the logits (B, C) of the batch, if they are known.
    """
    level = whole_level(model, level)
    partner = torch.arange(len(batch), device=batch.input_ids.device).roll(1)
    none = torch.zeros((), device=partner.device)
    exchanged = forward_mixed(model, batch, Mix(level, partner, none, none.expand(len(batch))))
    if differ(exchanged, (forward(model, batch) if expected is None else expected)[partner]):
        raise ValueError(f"a text that is exchanged for another at level {level!r} is not read as the other")


def of_both(mask: Tensor, mix: Mix) -> Tensor:
    """The union of a mask (B, ...) with the partner's; only one of them where everything or nothing is kept."""
    theirs = mask[mix.partner]
    keep = mix.keep.expand(len(mask), *mix.keep.shape[1:]).reshape(len(mask), -1)
    rows = (slice(None), *[None] * (mask.dim() - 1))  # (B,) -> (B, 1, ...)
    all_own, all_theirs = (keep == 1).all(1)[rows], (keep == 0).all(1)[rows]
    return torch.where(all_own, mask, torch.where(all_theirs, theirs, torch.maximum(mask, theirs)))


def forgets_padding(model: nn.Module) -> bool:
    """Whether the states of padding positions depend on how much padding there is, so that zeros are mixed in instead.

    In DeBERTa-v2, padding attends to all positions, other padding included; in ModernBERT's local attention, padding
    far from the text has nothing to attend to. In the other families padding attends to the text alone.
    """
    modules = stages(model)
    return "mask" in inspect.signature(modules["embeddings"].forward).parameters or hasattr(
        encoder_of(model).config, "local_attention"
    )


# The names under which modules of the families take masks; ModernBERT of transformers 5.0 takes two.
MASKS = ("attention_mask", "mask", "input_mask", "sliding_window_mask")


@contextmanager
def attending_to_both(model: nn.Module, level: str | int, own: Tensor, mix: Mix) -> Iterator[None]:
    """Inside the `with`, modules after `level` attend to both texts, and those before it to one's own.

    The model is called with the mask of both, which its head uses. The encoder gets the mask `own` (B, T) instead, and
    modules after `level` widen the mask that they are given, unless it is None because nothing is padded.
    """

    def narrow(arguments: dict) -> dict:
        read = inputs_of_both(model, own, arguments.get("token_type_ids"), mix) if level == "words" else {}
        return {"attention_mask": own} | read

    widened: dict[int, tuple[Tensor, Tensor]] = {}  # with the masks themselves, so that none takes another's number

    def wide(mask: Tensor) -> Tensor:
        # All layers are given the same mask, which is widened once: a GPU waits for the many small operations.
        if id(mask) not in widened:
            # Some masks are shared by all texts and have a batch dimension of 1.
            widened[id(mask)] = mask, of_both(mask, mix) if len(mask) == len(own) else mask
        return widened[id(mask)][1]

    def widen(arguments: dict) -> dict:
        return {name: wide(arguments[name]) for name in MASKS if arguments.get(name) is not None}

    with ExitStack() as stack:
        stack.enter_context(rewriting_arguments(encoder_of(model), narrow))
        order = list(stages(model).items())
        first_after = [key for key, _ in order].index(level) + 1
        before = [module for _, module in order[:first_after]]
        for module in {id(module): module for _, module in order[first_after:]}.values():
            # A module can stand for levels before and after the mixture, as in ALBERT.
            calls_before = sum(other is module for other in before)
            stack.enter_context(rewriting_arguments(module, widen, calls_before))
        yield


def inputs_of_both(model: nn.Module, own: Tensor, types: Tensor | None, mix: Mix) -> dict[str, Tensor]:
    """What the embedding block reads beside mixed words, where it needs them: `position_ids`, `token_type_ids` (B, T).

    RoBERTa and MPNet number only the positions that have a token and give all padding one position. The tail of a
    longer partner has to be numbered like a text. A token keeps its own type, of `types` (B, T), if something of it is
    kept; all other positions have the types of the partner.
    """
    read = {}
    table = getattr(stages(model)["embeddings"], "position_embeddings", None)
    if (padding := getattr(table, "padding_idx", None)) is not None:
        both = of_both(own, mix)
        read["position_ids"] = both.cumsum(1) * both + padding
    if types is not None:
        kept = own.bool() & (mix.keep != 0).any(-1)
        read["token_type_ids"] = types.where(kept, types[mix.partner])
    return read
