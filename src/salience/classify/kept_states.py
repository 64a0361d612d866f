"""States of texts at a layer below which nothing is trained: computed once a text, and shared by all that train above.

Fine-tuning the upper layers alone keeps most of the quality (Lee, Tang and Lin, 2019, arXiv:1911.03090). The layers
below them run in evaluation mode, so that a text has the same states in every epoch, evaluation, fold and run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.attention import Reached
from salience.hooks.hooks import evaluating, forward, inputs_of, observing
from salience.hooks.shared_layers import parted, standing_in
from salience.hooks.stages import encoder_of, unwrapped

LIMIT = 2 * 2**30  # bytes: 1.4 million tokens of MiniLM


@dataclass
class Shelf:
    """What one lower part of an encoder has computed: by the tokens of a text, its states (T, D)."""

    states: dict[bytes, Tensor] = field(default_factory=dict)
    others: int | None = None  # further values that the layer returns, all None; None if it returns no tuple


_shelves: dict[tuple, Shelf] = {}


def kept_bytes() -> int:
    """The bytes of all states that this process keeps."""
    return sum(states.nbytes for shelf in _shelves.values() for states in shelf.states.values())


class KeptStates:
    """The states that layer `level` of a classifier returns for each text.

    To the last bit, they do not depend on other texts: each text is computed by itself, since products of matrices on
    a processor round by where in memory a text lies.

    Args:
        model: a classifier, whose weights up to the layer stay as they are.
        level: from 1 to the depth of the encoder.
        limit: bytes that this process keeps, at most. The states of further texts are computed whenever they are
            needed.
    """

    def __init__(self, model: nn.Module, level: int, limit: int = LIMIT):
        self.level, self.limit, self.digest = level, limit, digest_of_lower_part(model, level)
        self.free = max(0, limit - kept_bytes())

    @contextmanager
    def beginning(self, model: nn.Module, batch: Batch) -> Iterator[None]:
        """Inside the `with`, forward passes of a batch skip the layers up to the level, and begin with its states.

        The states of padding are 0: no text attends to them.
        """
        device = batch.input_ids.device
        precision = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        shelf = _shelves.setdefault((self.digest, device, precision), Shelf())
        lengths = batch.attention_mask.sum(1).clamp(min=1).tolist()  # a text without tokens has one of padding
        read = inputs_of(model, batch)
        of_each = [read[name] for name in ("input_ids", "token_type_ids") if name in read]
        tokens = torch.stack(of_each, 2).cpu().numpy()
        states: Tensor | None = None
        for row, length in enumerate(lengths):
            key = tokens[row, :length].tobytes()
            own = shelf.states.get(key)
            if own is None:
                own = computed(model, batch, row, length, self.level, shelf)
                if own.nbytes <= self.free:
                    shelf.states[key] = own
                    self.free -= own.nbytes
            if states is None:
                states = own.new_zeros(*batch.input_ids.shape, own.shape[1])
            states[row, :length] = own
        with standing_in(model, self.level, states if shelf.others is None else (states, *[None] * shelf.others)):
            yield


@torch.no_grad()
def computed(model: nn.Module, batch: Batch, row: int, length: int, level: int, shelf: Shelf) -> Tensor:
    """The states (T, D) of one text of a batch, as of evaluation; no layer above the level is computed."""
    found: list[Tensor] = []

    def keep(result: Any) -> None:
        # A tuple has a place for the attention, which is asked for by some models: one that is skipped has none.
        shelf.others = max(1, len(result) - 1) if isinstance(result, tuple) else None
        found.append(result[0] if isinstance(result, tuple) else result)
        raise Reached

    inner, alone = unwrapped(model), slice(row, row + 1)
    text = Batch(
        batch.input_ids[alone, :length], batch.attention_mask[alone, :length], batch.segment[alone, :length],
        token_type_ids=None if batch.token_type_ids is None else batch.token_type_ids[alone, :length],
    )  # fmt: skip
    with evaluating(inner), suppress(Reached), observing(inner, level, keep):
        forward(inner, text)
    return found[0][0]


def digest_of_lower_part(model: nn.Module, level: int) -> tuple[int, str]:
    """What stands for the weights that the states at a level depend on."""
    above = {id(weight) for module in parted(model, level)[1] for weight in module.parameters()}
    found = sha256(encoder_of(model).config.to_json_string().encode())
    for name, weight in encoder_of(model).named_parameters():
        if id(weight) not in above and not name.startswith("pooler."):  # which is a part of the head
            found.update(name.encode() + weight.detach().float().cpu().numpy().tobytes())
    return level, found.hexdigest()
