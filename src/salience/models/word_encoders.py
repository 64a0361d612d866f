"""Encoders for models that are trained from scratch: word embeddings, alone or with one layer over them.

Built like the encoders of the hub, with `embeddings`, a list of `layers` and a `config`, so that texts can meet at the
same levels.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput


class WordEmbeddings(nn.Module):
    """Rows of a table (B, T, D), with dropout."""

    def __init__(self, vocabulary: int, width: int, padding: int, dropout: float):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width, padding_idx=padding)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.dropout(self.word_embeddings(input_ids))


class Affine(nn.Module):
    """h = M e (Sun and Lu, 2020, DP-A)."""

    def __init__(self, embedding_width: int, width: int):
        super().__init__()
        self.dense = nn.Linear(embedding_width, width, bias=False)  # M

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        return self.dense(states)


class LSTM(nn.Module):
    """The states of an LSTM (B, T, D) that never reads padding; with two directions D holds a half of each.

    Each direction is a pass over whole rows, whose padding comes last: for the second, every text is turned around in
    its place. Packed sequences do the same, but their backward pass grows with the square of T on a CPU: at 100 texts
    of 400 words they take 33 times as long (docs/benchmarks.md).
    """

    def __init__(self, embedding_width: int, width: int, bidirectional: bool):
        super().__init__()
        count = 1 + bidirectional
        self.directions = nn.ModuleList(
            nn.LSTM(embedding_width, width // count, batch_first=True) for _ in range(count)
        )

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        # cuDNN has no backward pass of an LSTM in evaluation mode, which is what explainers ask for. Elsewhere its
        # settings are the user's: `flags` would set them all.
        explained = not self.training and torch.is_grad_enabled()
        with torch.backends.cudnn.flags(enabled=False) if explained else nullcontext():
            found = [self.directions[0](states)[0]]
            if len(self.directions) > 1:
                turned = turned_around(attention_mask)[..., None]
                back = self.directions[1](states.gather(1, turned.expand_as(states)))[0]
                found.append(back.gather(1, turned.expand_as(back)))
        return torch.cat(found, -1) * attention_mask[..., None]


def turned_around(attention_mask: Tensor) -> Tensor:
    """For each place (B, T) the one it changes with when every text is read backwards; padding stays where it is."""
    places = torch.arange(attention_mask.shape[1], device=attention_mask.device).expand_as(attention_mask)
    return torch.where(attention_mask.bool(), attention_mask.sum(1, keepdim=True) - 1 - places, places)


class WordEncoder(nn.Module):
    """Embeddings, and an affine layer or an LSTM over them, or nothing."""

    def __init__(self, config):
        super().__init__()
        embedded, width = config.embedding_size, config.hidden_size
        self.embeddings = WordEmbeddings(config.vocab_size, embedded, config.pad_token_id, config.embedding_dropout)
        layers = []
        if config.encoder == "affine":
            layers = [Affine(embedded, width)]
        elif config.encoder == "lstm":
            layers = [LSTM(embedded, width, config.bidirectional)]
        self.layers = nn.ModuleList(layers)
        self.config = SimpleNamespace(num_hidden_layers=len(layers), pad_token_id=config.pad_token_id)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, table: nn.Embedding) -> None:
        self.embeddings.word_embeddings = table

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> BaseModelOutput:
        states = self.embeddings(input_ids)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        for layer in self.layers:
            states = layer(states, attention_mask)
        return BaseModelOutput(last_hidden_state=states)
