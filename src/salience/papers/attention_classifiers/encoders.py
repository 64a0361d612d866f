"""Dropout whose mask is drawn quickly on a CPU (Srivastava et al., 2014, JMLR 15:1929-1958)."""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput

LEVELS = 2**16  # a unit is dropped by 16 random bits, four units by one number of 64 bits


class Dropout(nn.Dropout):
    """As `torch.nn.Dropout`: every unit is 0 with probability p, by itself, and the others are divided by 1 - p.

    torch draws a number of 53 bits for each unit on a CPU, which takes half of a training step of a model over word
    embeddings. Here p is rounded to a multiple of 1/65536, and units are divided by 1 minus the rounded p, so that
    their mean is kept. The bits come from torch's generator: a seed repeats them, and so does a resumed run.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The values (any shape) with some of them dropped in training mode, and all of them otherwise."""
        dropped = round(self.p * LEVELS)
        if not self.training or input.device.type != "cpu" or not 0 < dropped < LEVELS:
            return super().forward(input)
        count = input.numel()
        numbers = torch.empty(math.ceil(count / 4), dtype=torch.int64).random_(-(2**63), None)  # all 64 bits
        bits = numbers.view(torch.int16)[:count].view(input.shape)  # -32768 to 32767
        keep = (bits >= dropped - LEVELS // 2).to(input.dtype).mul_(LEVELS / (LEVELS - dropped))
        return input * keep


# Encoders that are trained from scratch: word embeddings, alone or with an affine map or an LSTM over them.


class WordEmbeddings(nn.Module):
    """A word-embedding table with dropout."""

    def __init__(self, vocabulary: int, width: int, padding: int, dropout: float):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width, padding_idx=padding)
        self.dropout = Dropout(dropout)

    def forward(self, input_ids: Tensor) -> Tensor:
        """The embeddings (B, T, E) of token ids (B, T)."""
        return self.dropout(self.word_embeddings(input_ids))


class Affine(nn.Module):
    """The affine encoder h = M e (Sun and Lu, 2020, DP-A, doi 10.18653/v1/2020.acl-main.312)."""

    def __init__(self, embedding_width: int, width: int):
        super().__init__()
        self.dense = nn.Linear(embedding_width, width, bias=False)  # M

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """The states (B, T, D) of embeddings (B, T, E)."""
        return self.dense(states)


class LSTM(nn.Module):
    """An LSTM whose states (B, T, D) do not depend on padding, which must come last in every row.

    With two directions each gives half of D. The backward direction reads every text in reverse, with the padding
    left in its place. Packed sequences would give the same states, but their backward pass grows with the square of T
    on a CPU: for 100 texts of 400 words they take 33 times as long (docs/benchmarks.md).
    """

    def __init__(self, embedding_width: int, width: int, bidirectional: bool):
        super().__init__()
        count = 1 + bidirectional
        self.directions = nn.ModuleList(
            nn.LSTM(embedding_width, width // count, batch_first=True) for _ in range(count)
        )

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """The states (B, T, D) of embeddings (B, T, E); 0 on padding."""
        # cuDNN has no backward pass of an LSTM in evaluation mode, which gradient explainers need. In all other cases
        # the user's settings stay: `flags` would change all of them.
        explained = not self.training and torch.is_grad_enabled()
        with torch.backends.cudnn.flags(enabled=False) if explained else nullcontext():
            outputs = [self.directions[0](states)[0]]
            if len(self.directions) > 1:
                reverse = _reversal(attention_mask)[..., None]
                backward = self.directions[1](states.gather(1, reverse.expand_as(states)))[0]
                outputs.append(backward.gather(1, reverse.expand_as(backward)))
        return torch.cat(outputs, -1) * attention_mask[..., None]


def _reversal(attention_mask: Tensor) -> Tensor:
    """The index (B, T) that reverses every text of a batch and leaves the padding in its place."""
    positions = torch.arange(attention_mask.shape[1], device=attention_mask.device).expand_as(attention_mask)
    return torch.where(attention_mask.bool(), attention_mask.sum(1, keepdim=True) - 1 - positions, positions)


class WordEncoder(nn.Module):
    """Word embeddings, and the affine map or the LSTM over them that the configuration asks for."""

    def __init__(self, config: PreTrainedConfig):
        super().__init__()
        embedded, width = config.embedding_size, config.hidden_size
        self.embeddings = WordEmbeddings(config.vocab_size, embedded, config.pad_token_id, config.embedding_dropout)
        layers: list[nn.Module] = []
        if config.encoder == "affine":
            layers = [Affine(embedded, width)]
        elif config.encoder == "lstm":
            layers = [LSTM(embedded, width, config.bidirectional)]
        self.layers = nn.ModuleList(layers)
        self.config = SimpleNamespace(num_hidden_layers=len(layers), pad_token_id=config.pad_token_id)

    def get_input_embeddings(self) -> nn.Embedding:
        """The word-embedding table (V, E)."""
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replaces the word-embedding table."""
        self.embeddings.register_module("word_embeddings", value)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> BaseModelOutput:
        """The states (B, T, D) of token ids (B, T), as `last_hidden_state`."""
        states = self.embeddings(input_ids)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        for layer in self.layers:
            states = layer(states, attention_mask)
        return BaseModelOutput(last_hidden_state=states)
