"""What a frozen encoder gives, computed once: the states of every text's words, in memory or, where many, on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from salience.data.batching import like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating
from salience.models.attention_classifier import AttentionClassifier
from salience.models.states import pooled_states

IN_MEMORY = 2**30  # bytes; more is mapped from a file


class Features:
    """The encoder's states (T, D) of each text at the tokens that the pooling may read."""

    def __init__(self, states: np.ndarray, lengths: np.ndarray, labels: Tensor, device: torch.device):
        self.states, self.labels, self.device = states, labels, device  # flat over texts: (sum of lengths, D)
        self.lengths, self.starts = lengths, np.concatenate([[0], lengths.cumsum()])

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: Sequence[int] | np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, D), padded with zeros, the mask of what is there (B, T), and labels (B,)."""
        chosen = np.asarray(rows)
        places = np.arange(self.lengths[chosen].max())
        mask = places < self.lengths[chosen, None]
        states = self.states[np.where(mask, self.starts[chosen, None] + places, 0)]  # one copy for all texts
        states[~mask] = 0
        labels = self.labels[chosen]
        return (
            torch.from_numpy(states).to(self.device), torch.from_numpy(mask).to(self.device), labels.to(self.device)
        )  # fmt: skip


@torch.inference_mode()
def encode_features(
    model: AttentionClassifier, encoded: Encoded, folder: Path, in_memory: int = IN_MEMORY
) -> Features:
    """Runs the encoder over all texts, once, in evaluation mode.

    Args:
        folder: where the file is written that features are mapped from, if they take more than `in_memory` bytes.
    """
    words = np.array([int((encoded[row]["segment"] > 0).sum()) for row in range(len(encoded))])
    width, starts = model.config.hidden_size, np.concatenate([[0], words.cumsum()])
    shape = (int(words.sum()), width)
    if 4 * shape[0] * width <= in_memory:
        states = np.empty(shape, np.float32)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        states = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, shape)
    with evaluating(model):
        for rows, batch in like_length(model, encoded):
            found, masks = pooled_states(model, batch)
            for row, own, mask in zip(rows, found.float().cpu(), masks.cpu(), strict=True):
                states[starts[row] : starts[row + 1]] = own[mask].numpy()
    return Features(states, words, torch.as_tensor(encoded.labels), model.device)
