"""Scores of many texts, in batches of texts of similar length: for each token, or for each word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from salience.data.batching import DIFFERENTIATED, like_length
from salience.data.encoding import Encoded
from salience.data.words import SPECIAL
from salience.hooks.hooks import evaluating

# How the scores of a word's tokens become the word's score: a function of numpy, and the value that it begins with.
PIECES = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}


def explain_words(
    model: nn.Module, texts: Encoded, explainer: Callable, target: np.ndarray | None = None, pieces: str = "sum"
) -> list[np.ndarray]:
    """The scores of each text's words (W,), for N texts.

    Args:
        texts: N texts that are encoded with their words.
        target: (N,) the class that is explained of each text; None is the class that the model predicts.
        pieces: how the scores of a word's tokens become the word's score: a key of `PIECES`.
    """
    scores = explain_tokens(model, texts, explainer, target)
    return [word_scores(texts, row, of_tokens, pieces) for row, of_tokens in enumerate(scores)]


def explain_tokens(
    model: nn.Module, texts: Encoded, explainer: Callable, target: np.ndarray | None = None
) -> list[np.ndarray]:
    """The scores of each text's tokens (T,), special tokens included, for N texts. Their labels are ignored.

    Args:
        target: as in `explain_words`.
    """
    by_row: list[np.ndarray] = [np.zeros(0)] * len(texts)
    with evaluating(model):
        for rows, batch in like_length(model, texts, tokens=DIFFERENTIATED):
            classes = None if target is None else torch.as_tensor(target[rows], device=batch.input_ids.device)
            scores = explainer(model, batch, classes).float().cpu().numpy()
            for row, of_tokens in zip(rows, scores, strict=True):
                by_row[row] = of_tokens[: texts.lengths[row]]
    return by_row


def word_scores(texts: Encoded, row: int, scores: np.ndarray, pieces: str = "sum") -> np.ndarray:
    """The scores of the words (W,) of the text at `row`; 0 for a word without a token.

    Args:
        texts: texts that are encoded with their words.
        scores: of the text's tokens (T,); more values, of padding, are ignored.
        pieces: a key of `PIECES`.
    """
    words = texts.words_of(row)
    in_words = words != SPECIAL
    aggregate, start = PIECES[pieces]
    of_words = np.full(texts.words.counts[row], start)
    aggregate.at(of_words, words[in_words], scores[: len(words)][in_words])
    return np.where(of_words == -np.inf, 0, of_words)
