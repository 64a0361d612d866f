"""The embedding channels that matter for a class, and the words that they respond to (Kong et al., 2022, section 5.7).

DropMix, EMNLP 2022, doi:10.18653/v1/2022.emnlp-main.57, Figure 3 and Table 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import nn

from salience.batch import Batch
from salience.classify import TextClassifier
from salience.data.batching import DIFFERENTIATED, Collator, in_order, like_length
from salience.data.encoding import Encoded
from salience.explainers.gradient import gradient_map
from salience.hooks.hooks import evaluating
from salience.mixing import METHODS
from salience.report.pictures import COLOURS, HoverTexts, Marks
from salience.spans import best_patch, part_length

SHAPES = "UCWG"  # of the windows in Figure 3a


@dataclass(frozen=True)
class Channels:
    """The channels that DropMix-C would drop in each of N labelled texts, and the token that each responds to most."""

    selected: np.ndarray  # (N, D), true for the channels that would be dropped
    # (N, D), the id of the token with the largest gradient in a channel; -1 for a text that has special tokens only
    strongest: np.ndarray
    labels: np.ndarray  # class indices (N,)

    def importance(self, classes: int) -> np.ndarray:
        """The share of the texts of each class in which a channel is selected (C, D); NaN for a class without
        texts."""
        number = np.bincount(self.labels, minlength=classes)
        total = np.stack([self.selected[self.labels == label].sum(0) for label in range(classes)])
        return total / np.where(number > 0, number, np.nan)[:, None]

    def preference(self, classes: int) -> np.ndarray:
        """The importance of a channel for a class minus the mean of that for the other classes (C, D)."""
        importance = self.importance(classes)
        there = np.isfinite(importance).all(1)
        others = importance[there].sum(0) - np.where(there[:, None], importance, 0)
        return importance - others / np.maximum(there.sum() - there, 1)[:, None]

    def contributed(self, label: int, channel: int) -> Counter[int]:
        """How often a channel responds most to each token id in the texts of a class, of those in which it is
        selected."""
        texts = (self.labels == label) & self.selected[:, channel]
        tokens = self.strongest[texts, channel]
        return Counter(tokens[tokens >= 0].tolist())

    def leading(self, classes: int, top: int) -> dict[int, dict[int, Counter[int]]]:
        """The channels with the largest preference for each class that has texts, with the counts of
        `contributed`."""
        return {
            label: {
                channel: self.contributed(label, channel)
                for channel in np.argsort(-preference, kind="stable")[:top].tolist()
            }
            for label, preference in enumerate(self.preference(classes))
            if not np.isnan(preference).any()
        }


def scan_channels(model: nn.Module, texts: Encoded, ratio: float) -> Channels:
    """Selects the channels of labelled texts, with one forward and one backward pass to the embeddings."""
    # The floor(ratio D) channels with the largest gradient; those that tie for the last places are all left out.
    selected, strongest = [], []
    for rows, batch in like_length(model, texts, labelled=True, tokens=DIFFERENTIATED):
        with evaluating(model):
            scores = gradient_map(model, batch)  # (B, T, D)
        tokens, words = batch.attention_mask.bool(), batch.segment > 0
        length = tokens.sum(1)
        budget = length * part_length(torch.full_like(length, scores.shape[2]), ratio)
        chosen = best_patch(scores, tokens, budget, height=None, width=1).any(1)
        selected.append((rows, chosen.cpu().numpy()))
        position = scores.masked_fill(~words[..., None], -1).argmax(1)  # (B, D)
        token = batch.input_ids.gather(1, position).where(words.any(1, keepdim=True), -1)
        strongest.append((rows, token.cpu().numpy()))
    return Channels(in_order(selected), in_order(strongest), np.asarray(texts.labels))


def kept_patches(classifier: TextClassifier, text: str, ratio: float) -> tuple[list[str], dict[str, np.ndarray]]:
    """What DropMix keeps of a text, by the shape of its windows."""
    ids = classifier.tokenizer(text, truncation=True, max_length=classifier.max_length)["input_ids"]
    batch = Batch(**Collator.of(classifier.tokenizer)([{"input_ids": ids}])).to(classifier.model.device)
    methods = {f"DropMix-{shape}": METHODS[f"dropmix-{shape.lower()}"](ratio=ratio) for shape in SHAPES}
    with evaluating(classifier.model):
        guide = methods["DropMix-U"].guide  # the same for all shapes
        assert guide is not None
        scores = guide(classifier.model, batch)
    kept = {
        name: method(batch, scores).keep[0].expand(scores.shape[1:]).cpu().numpy().astype(bool)
        for name, method in methods.items()
    }
    return list(classifier.tokenizer.convert_ids_to_tokens(ids)), kept


def draw_importance(
    axes: Sequence[Axes], importance: np.ndarray, preference: np.ndarray, labels: Sequence[str]
) -> HoverTexts:
    """Figures 3b and 3c in two axes: every channel's importance and preference (C, D), a line for each class."""
    texts: dict[Marks, list[str]] = {}
    for index, label in enumerate(labels):
        style: dict[str, Any] = {
            "color": COLOURS[index % len(COLOURS)], "label": label, "marker": ".", "markersize": 3
        }  # fmt: skip
        (line,) = axes[0].plot(importance[index], linewidth=0.7, **style)
        texts[line] = [
            f"{label}: channel {channel}, in {100 * part:.1f} % of the texts"
            for channel, part in enumerate(importance[index])
        ]
        order = np.argsort(-preference[index], kind="stable")
        (line,) = axes[1].plot(preference[index][order], **style)
        texts[line] = [f"{label}: channel {channel}, preference {preference[index][channel]:.3f}" for channel in order]
    axes[0].set(xlabel="channel", ylabel="part of the class's texts")
    axes[0].set_title("Importance: how often a channel is selected", loc="left")
    axes[1].set(xlabel="rank of the channel", ylabel="importance, minus the other classes'")
    axes[1].set_title("Preference: the channels of each class, the highest first", loc="left")
    axes[1].axhline(0, color="black", linewidth=0.6)
    axes[0].legend(frameon=False)
    return texts


def draw_patches(axes: np.ndarray, tokens: Sequence[str], kept: Mapping[str, np.ndarray]) -> None:
    """Figure 3a: what DropMix replaces of T tokens (dark), a panel for each method's values that are kept (T, D)."""
    for panel, (name, keep) in zip(axes.flat, kept.items(), strict=True):
        panel.imshow(~keep, aspect="auto", cmap="Greys", interpolation="nearest")
        panel.set_yticks(range(len(tokens)), tokens)
        panel.set(xlabel="channel", ylabel="token")
        panel.set_title(name, loc="left")
