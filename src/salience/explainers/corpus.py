"""Explaining many texts: in batches of like length, token by token or word by word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from salience.data.batching import DIFFERENTIATED, like_length
from salience.data.encoding import Encoded
from salience.explainers.word_tokens import WordTokens
from salience.hooks.hooks import evaluating


def explain_words(model, texts: WordTokens, explainer: Callable, target: np.ndarray | None = None) -> list[np.ndarray]:
    """The scores of each text's words (W,), whichever batch it was in.

    Args:
        target: the class (N,) to explain; None is what the model predicts.
    """
    scores = explain_tokens(model, texts.encoded, explainer, target)
    return [texts.scores_of_words(row, own) for row, own in enumerate(scores)]


def explain_tokens(model, texts: Encoded, explainer: Callable, target: np.ndarray | None = None) -> list[np.ndarray]:
    """The scores of each text's tokens (T,), special ones among them; gold labels are not looked at."""
    found: list[np.ndarray] = [np.zeros(0)] * len(texts)
    with evaluating(model):
        for rows, batch in like_length(model, texts, tokens=DIFFERENTIATED):
            wanted = None if target is None else torch.as_tensor(target[rows], device=model.device)
            scores = explainer(model, batch, wanted).float().cpu().numpy()
            for row, own in zip(rows, scores, strict=True):
                found[row] = own[: texts.lengths[row]]
    return found
