"""A classifier from descriptions of its labels alone: no text is labelled, and nothing is trained.

A text gets the label whose description has the most similar sentence vector (Yin, Hay and Roth, 2019,
arXiv:1909.00161, call this "label-fully-unseen" classification, and compare texts and labels by their vectors, too).
The similarity is a linear map of the text's vector, and so the head of a plain checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from salience.classify import TextClassifier, choose_device
from salience.classify.frozen_encoder import sentence_vectors
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted
from salience.models.loading import load_classifier, longest_text
from salience.training.head import can_begin, last_map, with_pooling

# Of cosines in logits, as in the loss of sentence-transformers for such encoders. No label depends on it.
SCALE = 20.0


def prototypes(
    vectors: np.ndarray, labels: np.ndarray, classes: int, centre: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The directions (C, D) and offsets (C,) in float64 of a linear map from vectors of texts to similarities.

    The direction of a class is the mean of its descriptions' vectors, each of length 1 and less the centre, scaled to
    length 1. The map gives (v - centre) @ direction: for a vector v of length 1 and without a centre, the cosine.

    Args:
        vectors: (M, D), of the descriptions.
        labels: (M,), their class numbers; every class has one at least.
        classes: number of classes C.
        centre: (D,), the mean vector of texts like those to classify; None for 0.
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    shifted = unit.astype(np.float64) - (0.0 if centre is None else centre)
    means = np.stack([shifted[labels == number].mean(0) for number in range(classes)])
    directions = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return directions, np.zeros(classes) if centre is None else -directions @ centre


@torch.no_grad()
def described_classifier(
    name: str, descriptions: Texts, labels: Sequence[str], max_length: int | None = None, device: str = "auto"
) -> TextClassifier:
    """A classifier whose logits are `SCALE` times the similarities of a text with the descriptions of the labels.

    The cosine is of the vectors that the head of a model with mean pooling reads. The vector of a text is not scaled
    to length 1 but divided by the mean length of the descriptions, which changes no label.

    Args:
        name: of the encoder: "minilm", a folder, or a name on the hub.
        descriptions: texts that describe labels, with the numbers of these.
        labels: the names of the C labels.
        max_length: number of tokens read of a text; None is the model's maximum, at most 512.
        device: "auto", "cpu" or "cuda".

    Raises:
        InputError: there are fewer than two labels, one has no description, or the model cannot have mean pooling.
    """
    numbers = descriptions.known_labels
    if lacking := [label for number, label in enumerate(labels) if number not in numbers]:
        raise InputError(f"{counted(len(lacking), 'label')} without a description: {listed(map(quoted, lacking), 5)}")
    if len(labels) < 2:
        raise InputError("a classifier needs two labels: describe another one")
    model, tokenizer = load_classifier(name, labels)
    model = with_pooling(model, name, "mean")
    longest = tokenizer.model_max_length = longest_text(model, tokenizer, max_length)
    classifier = TextClassifier(model.to(choose_device(device)).eval(), tokenizer, longest, "fp32")
    if not can_begin(model):
        raise InputError(f"descriptions cannot be the head of {type(model).__name__}: name another --model")
    vectors = sentence_vectors(model, classifier.encode(replace(descriptions, labels=None)))
    directions = prototypes(vectors, numbers, len(labels))[0] / np.linalg.norm(vectors, axis=1).mean()
    linear = last_map(model)
    linear.weight.copy_(torch.from_numpy(SCALE * directions))
    if linear.bias is not None:
        linear.bias.zero_()
    return classifier
