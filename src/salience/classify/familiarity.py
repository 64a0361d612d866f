"""How familiar a text is to a classifier: whether texts like it were among those that it was trained on.

A classifier gives every text a label, also a text of none of its classes, and often with a high probability. What
tells such a text is its distance to the nearest training texts (Sun et al., 2022, arXiv:2204.06507), here by the
states of the middle layer; docs/research/studies/abstaining.md compares the layers. The share of the training texts
that are as far from the others makes a number from 0 to 1 of it: of new texts like them, about 5 % have 0.05 or less
(Bates et al., 2023, arXiv:2104.08279, Eq. 2).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from salience.batch import Batch
from salience.classify.classifier import Once, OnnxClassifier, TextClassifier
from salience.classify.frozen_encoder import of_length_one
from salience.data.batching import in_order, like_length
from salience.data.encoding import Encoded
from salience.data.long_texts import merged
from salience.errors import InputError, one_line
from salience.files import replacing
from salience.hooks.attention import Reached
from salience.hooks.hooks import evaluating, forward, reading, rewriting
from salience.hooks.stages import depth, encoder_of
from salience.models.architectures import USUAL, architecture
from salience.models.problem import to_probabilities
from salience.models.sentence_modules import pooled
from salience.runs.folder import FAMILIARITY

NEAREST = 5  # training texts whose distance counts
MOST = 2000  # training texts that are kept, or windows of long ones: 1.5 MB of MiniLM
UNFAMILIAR = 0.05  # a text with this familiarity or less is told as unlike the training texts


@dataclass(frozen=True)
class Familiarity:
    """The training texts to which others are compared.

    Attributes:
        layer: the encoder layer, from 1, whose states are read. The vector of a text is their mean over its tokens.
        vectors: (M, D) float16 of length 1; several of a text that is read in windows.
        usual: (R,) float32, the distance of each text to the others, ascending.
    """

    layer: int
    vectors: np.ndarray
    usual: np.ndarray

    @classmethod
    def of(cls, classifier: TextClassifier, encoded: Encoded, groups: np.ndarray) -> Familiarity | None:
        """Of the first N training texts, as many as there are `groups` (N,). Those of one group are not compared.

        Of many texts, always the same ones are kept. None where there is only one group, and for models that are no
        encoder of transformers with layers, or that another format than torch computes.
        """
        layer, owners = layer_of(classifier), encoded.text_numbers
        order = np.random.default_rng(0).permutation(len(groups))
        kept = np.isin(owners, order[np.bincount(owners)[order].cumsum() <= MOST])
        owners = owners[kept]
        if layer is None or len(np.unique(groups[owners])) < 2:
            return None
        vectors = vectors_at(classifier, encoded.take(np.flatnonzero(kept)), layer).astype(np.float16)
        same = groups[owners, None] == groups[owners]
        distances = of_texts(distances_to(vectors, vectors.astype(np.float32), same), owners)
        return cls(layer, vectors, np.sort(distances[np.unique(owners)]))

    def shares(self, distances: np.ndarray) -> np.ndarray:
        """The familiarity (N,) float64 of texts with these distances (N,), from above 0 to 1."""
        farther = len(self.usual) - np.searchsorted(self.usual, distances)
        return np.where(np.isnan(distances), np.nan, (1 + farther) / (1 + len(self.usual)))

    def with_probabilities(
        self, classifier: TextClassifier, encoded: Encoded, once: Once
    ) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities (N, C) of texts, as `TextClassifier.probabilities` gives them, and their familiarity (N,).

        Both come from one pass. `once` is called for every batch, with a function that computes them.
        """
        parts = []
        with torch.inference_mode(), evaluating(classifier.model), classifier.computing():
            for rows, batch in like_length(classifier.model, encoded):
                parts.append((rows, once(partial(self.answers, classifier, batch))))
        found = in_order(parts) if parts else np.empty((0, len(classifier.labels) + 1), np.float32)
        probabilities, distances = found[:, :-1], of_texts(found[:, -1], encoded.text_numbers)
        if encoded.owners is not None:
            probabilities = merged(probabilities, encoded.owners, classifier.multi_label)
        return probabilities, self.shares(distances)

    def answers(self, classifier: TextClassifier, batch: Batch) -> np.ndarray:
        """(B, C + 1) float32 of a batch: the probabilities, and the distance to the nearest training texts."""
        with reading(classifier.model, self.layer) as states:
            logits = forward(classifier.model, batch)
        probabilities = to_probabilities(classifier.kind, logits.float()).cpu().numpy()
        return np.column_stack([probabilities, distances_to(self.vectors, mean_states(states.value, batch))])

    def write(self, folder: Path) -> None:
        with replacing(folder / FAMILIARITY) as unfinished, open(unfinished, "wb") as file:
            np.savez(file, layer=np.array(self.layer), vectors=self.vectors, usual=self.usual)


def read_familiarity(model: str | Path, classifier: TextClassifier) -> Familiarity | None:
    """That in the folder of a run, for its classifier; None if there is none, as of a name on the hub or an export."""
    file = Path(model).expanduser() / FAMILIARITY
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = Familiarity(int(arrays["layer"]), arrays["vectors"], arrays["usual"])
        size = encoder_of(classifier.model).config.hidden_size
        if found.layer != layer_of(classifier) or found.vectors.shape[1:] != (size,) or found.usual.ndim != 1:
            raise ValueError("it is not about this model")
    except (OSError, KeyError, TypeError, ValueError, EOFError, BadZipFile) as error:
        raise InputError(f"{file} is damaged ({one_line(error, 200)}): train again, or remove the file") from error
    return found


def layer_of(classifier: TextClassifier) -> int | None:
    """The layer whose states are read, the middle one; None for a model without layers of the usual form."""
    if isinstance(classifier, OnnxClassifier) or architecture(classifier.model) is not USUAL:
        return None
    with suppress(ValueError):
        return depth(classifier.model) // 2 or None
    return None


def vectors_at(classifier: TextClassifier, encoded: Encoded, layer: int) -> np.ndarray:
    """The vectors (M, D) float32 of M texts at a layer, above which nothing is computed."""
    parts = []
    with torch.inference_mode(), evaluating(classifier.model), classifier.computing():
        for rows, batch in like_length(classifier.model, encoded, name="reading training texts"):
            found: list[Tensor] = []

            def keep(states: Tensor, found: list[Tensor] = found) -> Tensor:
                found.append(states)
                raise Reached

            with suppress(Reached), rewriting(classifier.model, layer, keep):
                forward(classifier.model, batch)
            parts.append((rows, mean_states(found[0], batch)))
    return in_order(parts)


def mean_states(states: Tensor, batch: Batch) -> np.ndarray:
    """The vectors (B, D) float32 of length 1 of a batch, from its states (B, T, D)."""
    return of_length_one(pooled(states.float(), batch.attention_mask, "mean").cpu().numpy())


def distances_to(known: np.ndarray, vectors: np.ndarray, left_out: np.ndarray | None = None) -> np.ndarray:
    """The mean cosine distance (N,) float32 of vectors (N, D) to the nearest of some known ones (M, D).

    Those that are `left_out` (N, M) bool do not count.
    """
    distances = 1 - vectors @ known.astype(np.float32).T
    if left_out is not None:
        distances[left_out] = np.nan  # which comes last
    nearest = min(NEAREST, len(known))
    return np.nanmean(np.partition(distances, nearest - 1, axis=1)[:, :nearest], axis=1)


def of_texts(distances: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """The mean distance of the windows of each text (N,)."""
    return np.bincount(owners, distances) / np.maximum(np.bincount(owners), 1)
