"""How well a model's vectors of texts fall into classes: before any map is drawn, and as a map (VAT, Figures 3, 6)."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from torch import Tensor

from salience.batch import Batch
from salience.data.batching import in_order, like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating, forward, reading
from salience.hooks.stages import unwrapped
from salience.models.attention_classifier import AttentionClassifier
from salience.models.states import pooled_states


@torch.no_grad()
def representations(model, texts: Encoded) -> np.ndarray:
    """The vectors (N, D) of texts, in their order.

    Of an attention classifier it is what the pooling makes of a text (R of VAT), of others what the last linear map
    of the head sees.
    """
    found = []
    with evaluating(model):
        for rows, batch in like_length(model, texts):
            found.append((rows, vectors_of(model, batch).float().cpu().numpy()))
    return in_order(found)


def vectors_of(model, batch: Batch) -> Tensor:
    own = unwrapped(model)
    if isinstance(own, AttentionClassifier):
        pooled, _ = own.pooling(*pooled_states(own, batch))
        return pooled
    with reading(model, "sentence") as seen:
        forward(model, batch)
    return seen.value


def silhouette(vectors: np.ndarray, labels: np.ndarray) -> float:
    """The mean silhouette coefficient of the classes, on the vectors themselves: from -1 to 1; distances on a t-SNE
    map mean nothing.

    Raises:
        ValueError: fewer than two classes, or as many as texts.
    """
    return float(silhouette_score(vectors, labels))


def map_of(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """A t-SNE map (N, 2), the same for the same seed; texts near each other are alike."""
    if not vectors.std(0).any():  # all texts are the same one, and an initialisation by PCA divides by 0
        return np.zeros((len(vectors), 2), np.float32)
    perplexity = min(30.0, max((len(vectors) - 1) / 3, 1.0))
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(vectors)
