"""The layers of attention classifiers: encoders that are trained from scratch, and poolings.

A pooling turns the states of a text's tokens into one vector. It is called with states (B, T, D) and a mask (B, T),
true where a token may be read. It returns the pooled vector (B, D) and the attention weights (B, H, T) of H heads. The
weights are 0 where the mask is false and sum to 1 over the other tokens. `Max` has no weights and returns None.
`First` ignores the mask.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput

from salience.hooks.dropout import Dropout
from salience.papers.attention_classifiers.options import ATTENDING


class WordEmbeddings(nn.Module):
    """A word-embedding table with dropout."""

    def __init__(self, vocabulary: int, width: int, padding: int, dropout: float):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width, padding_idx=padding)
        self.dropout = Dropout(dropout)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.dropout(self.word_embeddings(input_ids))  # (B, T, E)


class Affine(nn.Module):
    """The affine encoder h = M e (Sun and Lu, 2020, DP-A, doi 10.18653/v1/2020.acl-main.312)."""

    def __init__(self, embedding_width: int, width: int):
        super().__init__()
        self.dense = nn.Linear(embedding_width, width, bias=False)  # M

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        return self.dense(states)


class LSTM(nn.Module):
    """An LSTM whose states (B, T, D) do not depend on padding, which must come last in every row.

    With two directions each gives half of D. The backward direction reads every text in reverse, with the padding
    left in its place. Packed sequences would give the same states, but their backward pass grows with the square of T
    on a CPU: for 100 texts of 400 words they take 33 times as long (docs/research/benchmarks.md).
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
                positions = torch.arange(attention_mask.shape[1], device=attention_mask.device)
                last = attention_mask.sum(1, keepdim=True) - 1
                reverse = torch.where(attention_mask.bool(), last - positions, positions)[..., None]
                backward = self.directions[1](states.gather(1, reverse.expand_as(states)))[0]
                outputs.append(backward.gather(1, reverse.expand_as(backward)))
        return torch.cat(outputs, -1) * attention_mask[..., None]


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
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.embeddings.register_module("word_embeddings", value)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> BaseModelOutput:
        """The states (B, T, D) of token ids (B, T), as `last_hidden_state`."""
        states = self.embeddings(input_ids)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        for layer in self.layers:
            states = layer(states, attention_mask)
        return BaseModelOutput(last_hidden_state=states)


def attend(scores: Tensor, mask: Tensor) -> Tensor:
    """The masked softmax of attention scores over the last dimension.

    Args:
        scores: (..., T).
        mask: true where a token may be read; broadcasts to the shape of the scores.

    Returns:
        Weights (..., T): 0 where the mask is false, also where it is false for a whole row.
    """
    lowest = torch.finfo(scores.dtype).min  # not -inf: a row without any token would get NaN gradients
    return scores.masked_fill(~mask, lowest).softmax(-1) * mask


class Attention(nn.Module):
    """Attention pooling: alpha = softmax(score / scale) over the tokens that may be read, and their mean under alpha.

    Each head has its own scores and averages its own part of the width. A text without any token to read gets a
    vector and weights of 0. Subclasses define `scores`.

    Args:
        width: D.
        heads: number of heads H, a divisor of the width.
        scale: lambda, by which scores are divided.
    """

    def __init__(self, width: int, heads: int = 1, scale: float = 1.0):
        super().__init__()
        self.heads, self.scale = heads, scale
        self.query = nn.Parameter(torch.empty(heads, width))  # V of Sun and Lu, v_a of Zhou et al.

    def scores(self, states: Tensor) -> Tensor:
        """The attention scores (B, H, T) of states (B, T, D): the argument of the softmax, divided by the scale."""
        raise NotImplementedError

    def scaled(self, scores: Tensor) -> Tensor:
        return scores if self.scale == 1 else scores / self.scale

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        attention = attend(self.scores(states), mask[:, None])
        if self.heads == 1:  # one product; the calls of einsum take as long as it
            return (attention @ states).flatten(1), attention
        parts = states.unflatten(2, (self.heads, -1))
        return torch.einsum("bht,bthd->bhd", attention, parts).flatten(1), attention


class Dot(Attention):
    """Dot-product attention: score_j = h_j . V / lambda.

    Sun and Lu (2020, doi 10.18653/v1/2020.acl-main.312, Eq. 1): their DP over embeddings, DP-A over an affine encoder
    and DP-L over an LSTM.
    """

    def scores(self, states: Tensor) -> Tensor:
        return self.scaled((states @ self.query.T).transpose(1, 2))


class Additive(Attention):
    """Additive attention without biases: score_j = v . tanh(W h_j) / lambda.

    AD of Sun and Lu (2020, doi 10.18653/v1/2020.acl-main.312); with lambda = 1 the attention of VAT (Zhou et al.,
    2021, Findings of ACL-IJCNLP, Eq. 2).
    """

    def __init__(self, width: int, heads: int = 1, scale: float = 1.0):
        super().__init__(width, heads, scale)
        self.key = nn.Linear(width, width, bias=False)  # M_a of Sun and Lu, W_a of Zhou et al.

    def scores(self, states: Tensor) -> Tensor:
        return self.scaled((self.key(states).tanh() @ self.query.T).transpose(1, 2))


class Mean(nn.Module):
    """The mean of the states; the limit of attention pooling for a large scale."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        attention = mask.to(states.dtype)
        attention = attention / attention.sum(1, keepdim=True).clamp(min=1)
        return torch.einsum("bt,btd->bd", attention, states), attention[:, None]


class First(nn.Module):
    """The state of the first token, such as BERT's [CLS], whatever the mask is."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        attention = torch.zeros_like(mask, dtype=states.dtype)
        attention[:, :1] = 1
        return states[:, 0], attention[:, None]


class Max(nn.Module):
    """The maximum of each unit over the tokens (LSTM-base of Zhou et al., 2021), 0 for a text without any to read."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        lowest = torch.finfo(states.dtype).min
        largest = states.masked_fill(~mask[..., None], lowest).amax(1)
        return largest.where(mask.any(1, keepdim=True), 0), None


def pooling(name: str, width: int, heads: int = 1, scale: float = 1.0) -> Attention | First | Max | Mean:
    """A pooling by its name in `POOLINGS`.

    "variational" has the module of "additive"; a classifier with it also has a compressor and is trained by turns
    (VAT).

    Args:
        width: D, the width of the states.
        heads: number of attention heads, for a name in `ATTENDING`.
        scale: lambda of the attention, for a name in `ATTENDING`.
    """
    if name in ATTENDING:
        return (Dot if name == "dot" else Additive)(width, heads, scale)
    return First() if name == "first" else Max() if name == "max" else Mean()
