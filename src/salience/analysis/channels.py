"""Which channels of the embeddings matter for which class, and to which words they react (DropMix, section 5.7)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch

from salience.data.batching import DIFFERENTIATED, in_order, like_length
from salience.data.encoding import Encoded
from salience.explainers.gradient import gradient_map
from salience.hooks.hooks import evaluating
from salience.spans import best_patch, part_length


@dataclass(frozen=True)
class Channels:
    """Of every text: the channels that DropMix-C would drop, and the token that each channel reacts to most."""

    selected: np.ndarray  # (N, D) bool
    strongest: np.ndarray  # (N, D) token ids; -1 where a text has no token but special ones
    labels: np.ndarray  # (N,)

    def importance(self, classes: int) -> np.ndarray:
        """The part of each class's texts (C, D) in which a channel is selected; NaN for a class without texts."""
        number = np.bincount(self.labels, minlength=classes)
        total = np.stack([self.selected[self.labels == own].sum(0) for own in range(classes)])
        return total / np.where(number > 0, number, np.nan)[:, None]

    def preference(self, classes: int) -> np.ndarray:
        """How much more a channel matters for a class than for the others' mean (C, D); of two, pos - neg."""
        found = self.importance(classes)
        there = np.isfinite(found).all(1)
        others = found[there].sum(0) - np.where(there[:, None], found, 0)
        return found - others / np.maximum(there.sum() - there, 1)[:, None]

    def contributed(self, label: int, channel: int, everywhere: bool = False) -> Counter[int]:
        """How often each token id is the one that a channel reacts to most, in the texts of a class.

        Args:
            everywhere: count texts too in which the channel is not selected.
        """
        texts = (self.labels == label) & (everywhere | self.selected[:, channel])
        found = self.strongest[texts, channel]
        return Counter(found[found >= 0].tolist())

    def leading(self, classes: int, top: int) -> dict[int, dict[int, Counter[int]]]:
        """Of each class with texts the `top` channels that are most its own, each with the words it reacts to."""
        return {
            label: {
                channel: self.contributed(label, channel)
                for channel in np.argsort(-preference, kind="stable")[:top].tolist()
            }
            for label, preference in enumerate(self.preference(classes))
            if not np.isnan(preference).any()
        }


def scan_channels(model, texts: Encoded, ratio: float) -> Channels:
    """One forward and one input-gradient pass over labelled texts.

    Args:
        ratio: the fixed lambda; floor(lambda D) channels are selected, DropMix-C's: those of the largest gradient for
            the gold label. Those that tie at the end are all left out.
    """
    selected, strongest = [], []
    for rows, batch in like_length(model, texts, labelled=True, tokens=DIFFERENTIATED):
        with evaluating(model):
            scores = gradient_map(model, batch)  # (B, T, D)
        own, word = batch.attention_mask.bool(), batch.segment > 0
        length = own.sum(1)
        budget = length * part_length(torch.full_like(length, scores.shape[2]), ratio)
        found = best_patch(scores, own, budget, height=None, width=1).any(1)
        selected.append((rows, found.cpu().numpy()))
        place = scores.masked_fill(~word[..., None], -1).argmax(1)  # (B, D)
        token = batch.input_ids.gather(1, place).where(word.any(1, keepdim=True), -1)
        strongest.append((rows, token.cpu().numpy()))
    return Channels(in_order(selected), in_order(strongest), np.asarray(texts.labels))
