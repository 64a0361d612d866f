"""Explaining many texts: in batches of like length, word by word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from salience.batch import Batch
from salience.data.batching import TOKENS, Collator, length_batches
from salience.explain.word_tokens import WordTokens


def explain_words(model, texts: WordTokens, explainer: Callable, target: np.ndarray | None = None) -> list[np.ndarray]:
    """The scores of each text's words (W,), whichever batch it was in.

    Args:
        target: the class (N,) to explain; None is what the model predicts.
    """
    collate = Collator(padding=model.config.pad_token_id or 0)
    found: list[np.ndarray] = [np.zeros(0)] * len(texts)
    for rows in length_batches(texts.encoded.lengths, TOKENS.get(model.device.type, TOKENS["cpu"])):
        fields = collate([texts.encoded[row] for row in rows])
        fields.pop("labels", None)  # else these would be explained
        batch = Batch(**fields).to(model.device)
        wanted = None if target is None else torch.as_tensor(target[rows], device=model.device)
        scores = explainer(model, batch, wanted).float().cpu().numpy()
        for row, own in zip(rows, scores, strict=True):
            found[row] = texts.scores_of_words(row, own)
    return found
