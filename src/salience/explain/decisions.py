"""What a model decided on some texts, and the words that decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from salience.batch import Batch
from salience.data.encoding import segment_of
from salience.explain.gradient import gradient
from salience.explain.words import merge_pieces, word_spans
from salience.sites import evaluating, forward


@dataclass(frozen=True)
class Decision:
    label: str
    probability: float
    parts: list[tuple[str, np.ndarray]]  # each text, and the scores of its words (W,)


def explain_decisions(
    model, tokenizer, texts: Sequence[str], pairs: Sequence[str] | None = None, explainer: Callable = gradient
) -> list[Decision]:
    """The predicted label of each text, and how much each of its words had to do with it.

    The texts go through the model as one batch, in evaluation mode.
    """
    both = [texts] if pairs is None else [texts, pairs]
    encoded = tokenizer(
        *map(list, both), truncation=True, padding=True, return_tensors="pt", return_offsets_mapping=True
    )
    segment = torch.tensor(np.array([segment_of(row) for row in encoded.encodings]), dtype=torch.long)
    batch = Batch(*(field.to(model.device) for field in (encoded["input_ids"], encoded["attention_mask"], segment)))
    with evaluating(model):
        with torch.no_grad():
            probabilities = forward(model, batch).softmax(1)
        scores = explainer(model, batch, probabilities.argmax(1)).cpu()

    highest, predicted = (found.tolist() for found in probabilities.max(1))
    decisions = []
    for index in range(len(texts)):
        parts = []
        for part, several in enumerate(both, 1):
            inside = segment[index] == part
            offsets = encoded["offset_mapping"][index][inside].tolist()
            text = several[index]
            parts.append((text, merge_pieces(scores[index][inside].tolist(), offsets, word_spans(text))))
        decisions.append(Decision(model.config.id2label[predicted[index]], highest[index], parts))
    return decisions
