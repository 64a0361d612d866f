"""The states of a frozen encoder for all texts, computed once and kept in memory or, if they are large, on disk."""

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

IN_MEMORY = 2**30  # bytes; larger features are memory-mapped from a file


class Features:
    """The encoder's states (T, D) of every text at the tokens that the pooling may read.

    Args:
        states: (sum of lengths, D), the states of all texts one after another.
        lengths: (N,), number of tokens of each text.
        labels: (N,) long.
        device: where batches are put.
    """

    def __init__(self, states: np.ndarray, lengths: np.ndarray, labels: Tensor, device: torch.device):
        self.states, self.labels, self.device = states, labels, device
        self.lengths, self.starts = lengths, np.concatenate([[0], lengths.cumsum()])

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.labels)

    def batch(self, rows: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, D) padded with zeros, their mask (B, T), and labels (B,) of the texts with these numbers."""
        indices = np.asarray(rows)
        positions = np.arange(self.lengths[indices].max())
        mask = positions < self.lengths[indices, None]
        states = self.states[np.where(mask, self.starts[indices, None] + positions, 0)]  # one copy for all texts
        states[~mask] = 0
        return (
            torch.from_numpy(states).to(self.device),
            torch.from_numpy(mask).to(self.device),
            torch.from_numpy(self.labels.numpy()[indices]).to(self.device),  # torch's indexing takes longer
        )


@torch.inference_mode()
def encode_features(
    model: AttentionClassifier, encoded: Encoded, folder: Path, in_memory: int = IN_MEMORY
) -> Features:
    """Runs the encoder once over all texts, in evaluation mode.

    Args:
        encoded: N texts with labels.
        folder: where `features.npy` is written if the features take more than `in_memory` bytes.
        in_memory: largest number of bytes that are kept in memory.
    """
    words_before = np.concatenate([[0], (encoded.segments > 0).cumsum()])
    lengths = np.diff(words_before[encoded.starts])
    width, starts = model.config.hidden_size, np.concatenate([[0], lengths.cumsum()])
    shape = (int(lengths.sum()), width)
    if 4 * shape[0] * width <= in_memory:
        states = np.empty(shape, np.float32)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        states = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, shape)
    with evaluating(model):
        for rows, batch in like_length(model, encoded):
            batch_states, mask = pooled_states(model, batch)
            states[in_turn(starts[rows], lengths[rows])] = batch_states[mask].float().cpu().numpy()
    return Features(states, lengths, torch.as_tensor(encoded.labels), model.device)


def in_turn(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers starts[i], starts[i] + 1, ... of every i in turn, as many as `lengths` says: (sum of lengths,)."""
    before = lengths.cumsum() - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())
