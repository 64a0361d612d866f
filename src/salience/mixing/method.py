"""What a mixing method is: settings, a guide and a rule that maps (batch, scores) to a `Mix`."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.attention import OfLayer
from salience.explainers.explainer import Explainer
from salience.hooks.stages import POOLING, depth, whole_level
from salience.mixing.mix import Mix

logger = logging.getLogger(__name__)


class Method(Protocol):
    """A mixing method: a frozen dataclass whose fields are the settings of its paper.

    Subclasses define `__call__`. Those with a guide set `guide`, and those with settings that depend on the model or
    on the data override `resolve`. Training loops call `resolve` once and `__call__` for every batch.
    """

    guide: Explainer | None = None  # the explainer that scores the tokens; None for a rule that needs no scores
    controls: ClassVar[tuple[str, ...]] = ()  # methods of the catalogue that it must exceed for its idea to gain

    @abstractmethod
    def __call__(self, batch: Batch, scores: Any) -> Mix:
        """The mixture of a batch by `scores`, what the guide gives: (B, T), or (B, T, D); None without a guide.

        The model is not seen, so a rule can be tested with scores written by hand.
        """
        ...

    def resolve(
        self, model: nn.Module, tokenizer: Any, batches: Iterable[Batch], note: Callable[[str], None] = logger.info
    ) -> Method:
        """The method with all settings filled in that depend on the model or the data; by default the method itself.

        Args:
            batches: some training batches with labels; read only by methods that choose a setting on them.
            note: called with one line for every choice that is made.

        Raises:
            InputError: a setting does not fit the model.
        """
        return self


def resolved(
    method: Any, model: nn.Module, tokenizer: Any, batches: Iterable[Batch], note: Callable[[str], None] = logger.info
) -> Any:
    """As `Method.resolve`; None and a rule of the user's own that is no `Method` stay as they are."""
    return method.resolve(model, tokenizer, batches, note) if hasattr(method, "resolve") else method


def needs_layers(method: Any) -> bool:
    """Whether a method mixes at, or its guide reads, anything but the text's vector."""
    return method is not None and (
        method.guide is not None or any(level not in (POOLING, "sentence") for level in levels_of(method))
    )


def lowest_level(method: Any, model: nn.Module) -> int | None:
    """The lowest level that a method with nothing left open mixes at, or that its guide reads.

    0 stands for everything below the first layer, and for what is not known; None for the text's vector alone.
    """
    if not needs_layers(method):
        return None
    named = [whole_level(model, each) if isinstance(each, float) else each for each in levels_of(method)]
    levels = [each if isinstance(each, int) else 0 for each in named if each not in (POOLING, "sentence")]
    if (guide := method.guide) is not None:
        levels.append(guide.layer % depth(model) if isinstance(guide, OfLayer) and depth(model) else 0)
    return min(levels)


def levels_of(method: Any) -> list[Any]:
    """The levels that a method mixes at, of which it draws one for each batch."""
    return list(getattr(method, "levels", None) or [getattr(method, "level", "tokens")])


# Who is mixed with whom: the partner of each text (B,) long, a permutation, so that both texts are in the batch.
Pairing = Callable[[Batch], Tensor]


def shuffle(batch: Batch) -> Tensor:
    """A random partner for each text, possibly itself (Zhang et al., 2018, arXiv:1710.09412): (B,) long."""
    # Drawn on the CPU: the same seed gives the same pairs on every device, and a resumed run repeats them.
    return torch.randperm(len(batch)).to(batch.input_ids.device)


def swap_halves(batch: Batch) -> Tensor:
    """The first half of the batch with the second, in both directions: (B,) long.

    This is a roll by half the batch (Yoon et al., 2021, SSMix, arXiv:2106.08062, section 3.4). In a batch of odd size
    the pairs form a longer cycle.
    """
    position = torch.arange(len(batch), device=batch.input_ids.device)
    return position.roll(-(len(batch) // 2))


def neighbours(batch: Batch) -> Tensor:
    """Rows 0 and 1, 2 and 3, and so on: (B,) long. A last row without a neighbour is its own partner.

    With this pairing, gradient accumulation and training on several processes give exactly the result of one large
    batch, because pieces of even size have the same pairs.
    """
    position = torch.arange(len(batch), device=batch.input_ids.device)
    other = position ^ 1
    return torch.where(other < len(batch), other, position)
