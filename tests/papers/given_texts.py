"""Batches of given words, cut as one likes, and a classifier's weights under the papers' letters."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from reference_understanding import Weights
from salience import Batch


def text_batch(texts: list[list[int]], labels: list[int] | None = None, extra_padding: int = 0) -> Batch:
    """Texts of words alone, padded with 0."""
    ids = torch.zeros(len(texts), max(map(len, texts)) + extra_padding, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, words in enumerate(texts):
        ids[row, : len(words)] = torch.tensor(words, dtype=torch.long)
        mask[row, : len(words)] = 1
    return Batch(ids, mask, mask.clone(), None if labels is None else torch.tensor(labels))


def batches_of(texts: list[list[int]], labels: list[int], size: int, extra_padding: int = 0) -> Iterator[Batch]:
    """The same texts, `size` in a batch; the last may hold fewer. They can be read once."""
    for start in range(0, len(texts), size):
        yield text_batch(texts[start : start + size], labels[start : start + size], extra_padding)


def random_texts(
    lengths: list[int], vocabulary: int, classes: int, seed: int = 0
) -> tuple[list[list[int]], list[int]]:
    """Texts of the words 1 to `vocabulary` - 1, and labels."""
    generator = torch.Generator().manual_seed(seed)
    texts = [torch.randint(1, vocabulary, (length,), generator=generator).tolist() for length in lengths]
    return texts, torch.randint(0, classes, (len(lengths),), generator=generator).tolist()


def weights_of(model: torch.nn.Module) -> Weights:
    """Two classes' W is a vector."""
    polarity = model.head.weight.detach()
    return Weights(
        table=model.get_input_embeddings().weight.detach(),
        query=model.pooling.query.detach()[0],
        polarity=polarity[0] if len(polarity) == 1 else polarity.T,
        scale=model.config.scale,
        affine=model.encoder.layers[0].dense.weight.detach() if model.config.encoder == "affine" else None,
        key=model.pooling.key.weight.detach() if model.config.pooling == "additive" else None,
    )
