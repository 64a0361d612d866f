"""The vectors of texts inside a classifier, how well they separate the classes, and a map of them.

Zhou et al. (2021, Findings of ACL-IJCNLP, "Attending via both Fine-tuning and Compressing", Figures 3 and 6) show
t-SNE maps of these vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.axes import Axes
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from torch import nn

from salience.classify.frozen_encoder import sentence_vectors
from salience.data.batching import in_order, like_length
from salience.data.encoding import Encoded
from salience.hooks.hooks import evaluating
from salience.hooks.stages import unwrapped
from salience.papers.attention_classifiers.classifier import AttentionClassifier, pooled_states
from salience.report.pictures import COLOURS, HoverTexts, Marks, legend_beside

MARKERS = "os^D"  # of classes, once the colours are used up


@torch.no_grad()
def representations(model: nn.Module, texts: Encoded) -> np.ndarray:
    """The vectors of texts, in the order of the texts.

    For an attention classifier they are the output of the pooling (R of VAT), for other models the input of the last
    linear map of the head.

    Returns:
        Vectors (N, D) in float32.
    """
    classifier = unwrapped(model)
    if not isinstance(classifier, AttentionClassifier):
        return sentence_vectors(model, texts)
    vectors = []
    with evaluating(model):
        for rows, batch in like_length(model, texts):
            pooled, _ = classifier.pooling(*pooled_states(classifier, batch))
            vectors.append((rows, pooled.float().cpu().numpy()))
    return in_order(vectors)


def silhouette(vectors: np.ndarray, labels: np.ndarray) -> float:
    """The mean silhouette coefficient of the classes (N,) of vectors (N, D), from -1 to 1.

    It is computed on the vectors themselves, because distances on a t-SNE map have no meaning (Rousseeuw, 1987, doi
    10.1016/0377-0427(87)90125-7).

    Raises:
        ValueError: there are fewer than two classes, or as many classes as texts.
    """
    return float(silhouette_score(vectors, labels))


def map_of(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """A t-SNE map (N, 2) of vectors (N, D), on which similar texts are near each other (van der Maaten and Hinton,
    2008)."""
    if not vectors.std(0).any():  # all vectors are equal, and the initialisation by PCA would divide by 0
        return np.zeros((len(vectors), 2), np.float32)
    perplexity = min(30.0, max((len(vectors) - 1) / 3, 1.0))
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(vectors)


@dataclass(frozen=True)
class TextMap:
    """The N texts as one model sees them."""

    title: str
    points: np.ndarray  # (N, 2)


def draw_maps(
    axes: Axes | np.ndarray, maps: Sequence[TextMap], gold: np.ndarray, labels: Sequence[str], texts: Sequence[str]
) -> HoverTexts:
    """Draws a map for each model, with a colour for each class (N,) and one legend; a point shows its text."""
    panels = axes.flat if isinstance(axes, np.ndarray) else [axes]
    hover: dict[Marks, list[str]] = {}
    for panel, text_map in zip(panels, maps, strict=True):
        for number, label in enumerate(labels):
            chosen = np.flatnonzero(gold == number).tolist()
            marker, colour = MARKERS[number // len(COLOURS) % len(MARKERS)], COLOURS[number % len(COLOURS)]
            x, y = text_map.points[chosen].T
            points = panel.scatter(x, y, s=10, linewidths=0, marker=marker, color=colour, label=label)
            hover[points] = [texts[index] for index in chosen]
        panel.set(xticks=[], yticks=[], xlabel="t-SNE, first axis", ylabel="t-SNE, second axis")
        panel.set_title(text_map.title, loc="left")
    legend_beside(panel)
    return hover
