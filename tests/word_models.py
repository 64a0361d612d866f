"""Tiny attention classifiers over words, batches for them, and texts for a tokenizer of words.

Words' batches hold no special tokens, but for the separator of a pair.
"""

from __future__ import annotations

import hashlib

import torch

import families
from salience import Batch
from salience.papers.attention_classifiers.classifier import AttentionClassifier, AttentionClassifierConfig

PADDING, UNKNOWN, SEPARATOR, FIRST_WORD = 0, 1, 2, 3
VOCABULARY = 104  # more than BERT's [UNK], which random-UNK takes where it knows no tokenizer
WIDTH, CLASSES = 6, 3
ENCODERS = {
    "embeddings": {"encoder": "embeddings"},
    "affine": {"encoder": "affine"},
    "lstm": {"encoder": "lstm"},
    "bidirectional": {"encoder": "lstm", "bidirectional": True},
}


@families.built_once
def word_classifier(encoder: str = "embeddings", seed: int = 0, classes: int = CLASSES, **settings):
    """A random classifier over words without dropout; `encoder` is a key of `ENCODERS`."""
    usual = {
        "pooling": "dot", "vocab_size": VOCABULARY, "embedding_size": 4, "hidden_size": WIDTH,
        "embedding_dropout": 0.0, "dropout": 0.0, "special_token_ids": [SEPARATOR], "pad_token_id": PADDING,
        "num_labels": classes,
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = AttentionClassifier(AttentionClassifierConfig(**(usual | ENCODERS[encoder] | settings)))
        families.spread_out(model, 0.5)
    return model.eval()


def torchs_lstm(model, **settings) -> torch.nn.LSTM:
    """Torch's own with the weights of a model's; the names of the second direction's end in "_reverse" there."""
    directions = model.encoder.layers[0].directions
    first = directions[0]
    lstm = torch.nn.LSTM(first.input_size, first.hidden_size, bidirectional=len(directions) == 2, **settings)
    lstm.to(first.weight_ih_l0.dtype)
    named = zip(("", "_reverse"), directions, strict=False)
    lstm.load_state_dict({name + end: weight for end, own in named for name, weight in own.state_dict().items()})
    return lstm


def word_batch(
    lengths: list[int],
    pair_lengths: list[int] | None = None,
    extra_padding: int = 0,
    seed: int = 0,
    classes: int = CLASSES,
) -> Batch:
    """Random words in texts of the given lengths, or in pairs with one separator."""
    generator = torch.Generator().manual_seed(seed)
    rows = [[1] * length for length in lengths]
    if pair_lengths is not None:
        rows = [[*row, 0, *[2] * length] for row, length in zip(rows, pair_lengths, strict=True)]
    width = max(map(len, rows)) + extra_padding
    ids = torch.full((len(rows), width), PADDING)
    mask, segment = torch.zeros_like(ids), torch.zeros_like(ids)
    for number, row in enumerate(rows):
        words = torch.randint(FIRST_WORD, VOCABULARY, (len(row),), generator=generator)
        segment[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
        ids[number, : len(row)] = words.where(torch.tensor(row) > 0, SEPARATOR)
    return Batch(ids, mask, segment, torch.randint(0, classes, (len(rows),), generator=generator))


def padded(own: Batch, columns: int) -> Batch:
    """The same texts, each with `columns` more padding."""
    parts = (own.input_ids, own.attention_mask, own.segment)
    return Batch(*(torch.cat([part, part.new_zeros(len(part), columns)], 1) for part in parts), own.labels)


def bits(weights: torch.nn.Module | dict[str, torch.Tensor]) -> dict[str, str]:
    """A hash of every weight of a module or a state: equal where they are, to the last bit."""
    weights = weights.state_dict() if isinstance(weights, torch.nn.Module) else weights
    return {name: hashlib.sha256(weight.numpy().tobytes()).hexdigest()[:12] for name, weight in weights.items()}
