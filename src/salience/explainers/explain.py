"""Scores of many texts, in batches of texts of similar length: for each token, or for each word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.classify import TextClassifier
from salience.classify.classifier import classifier_of
from salience.data.batching import DIFFERENTIATED, like_length
from salience.data.encoding import SPECIAL, Encoded, word_spans
from salience.data.long_texts import Passages
from salience.data.texts import UNKNOWN, Texts, TextsLike
from salience.errors import InputError, unknown
from salience.explainers import EXPLAINERS
from salience.explainers.explainer import WithLogits
from salience.explainers.explanation import Explanation
from salience.hooks.hooks import evaluating, forward
from salience.models.problem import problem_of
from salience.settings import is_whole

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


# What is asked of explanations by name: explainers, the class that is explained, and how words get their scores.


def functions_named(explainers: Sequence[str] | Mapping[str, Callable]) -> dict[str, Callable]:
    """The explainers by name, of `EXPLAINERS` where only names are given.

    Raises:
        InputError: an unknown name, or one string.
    """
    if isinstance(explainers, Mapping):
        return dict(explainers)
    if isinstance(explainers, str):
        raise InputError(f"give a sequence of explainers, not one string: for example [{explainers!r}]")
    for name in explainers:
        if name not in EXPLAINERS:
            raise unknown("explainer", name, EXPLAINERS)
    return {name: EXPLAINERS[name] for name in explainers}


def check_target(target: object, classes: int) -> None:
    """Raises an `InputError` if a target is neither "predicted" nor "gold" nor the number of one of the classes."""
    if target not in ("predicted", "gold") and not (is_whole(target) and 0 <= int(str(target)) < classes):
        raise unknown("target", target, ["predicted", "gold", *map(str, range(classes))])


def check_pieces(pieces: str, name: str = "pieces") -> None:
    """Raises an `InputError` unless `pieces` says how the scores of a word's tokens become the word's score.

    Args:
        name: what a user knows it by.
    """
    if pieces not in PIECES:
        raise unknown(name, pieces, PIECES)


# Explanations where a text can have several labels: one for each label that is explained of a text.


def explain_labels(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], target: int | str, pieces: str,
    explain_one: Callable[..., list[Explanation]],
) -> list[Explanation]:  # fmt: skip
    """The explanations of N texts, one for each pair of a text and a label, in the order of the texts and labels.

    A score is about ln p of the label, whose probability is the sigmoid of its logit. Of a text without a label to
    explain, the most probable label is explained.

    Args:
        texts: their labels, if they are known, are 0 and 1 (N, C), or `UNKNOWN` in the rows where they are not.
        target: "predicted" or "gold", all labels that are predicted or right; or the number of one label.
        explain_one: explains texts for one label each, as `explain_at_once` does.

    Raises:
        ValueError: right labels are to be explained, and those of a text are not known.
    """
    probabilities = classifier.predict_proba(texts)
    decided = classifier.decisions(probabilities)
    golds = (
        [None] * len(texts)
        if texts.labels is None
        else [row if known else None for row, known in zip(texts.labels, texts.labelled, strict=True)]
    )
    pairs = [
        (row, label) for row in range(len(texts))
        for label in labels_to_explain(target, probabilities[row], decided[row], golds[row])
    ]  # fmt: skip
    rows, labels = np.array(pairs, int).reshape(-1, 2).T
    asked = replace(texts, labels=None).take(rows)
    found = explain_one(classifier, replace(asked, labels=labels), explainers, "gold", pieces)
    return [
        replace(
            explanation, gold=None, probabilities=probabilities[row],
            decided=tuple(np.flatnonzero(decided[row]).tolist()),
            golds=None if (known := golds[row]) is None else tuple(np.flatnonzero(known).tolist()),
        )
        for row, explanation in zip(rows.tolist(), found, strict=True)
    ]  # fmt: skip


def labels_to_explain(
    target: int | str, probabilities: np.ndarray, decided: np.ndarray, gold: np.ndarray | None
) -> list[int]:
    """The numbers of the labels that are explained of a text.

    Args:
        target: as of `explain_labels`.
        probabilities: (C,) of the labels.
        decided: (C,) bool, the predicted labels.
        gold: (C,), 0 and 1, the right labels; None if they are not known.
    """
    return chosen_labels(target, decided, gold) or [int(probabilities.argmax())]


def chosen_labels(target: int | str, decided: np.ndarray, gold: np.ndarray | None) -> list[int]:
    """The numbers of the labels of a text that a target stands for; there may be none.

    Args:
        target, decided, gold: as of `labels_to_explain`.
    """
    if target not in ("predicted", "gold"):
        return [int(target)]
    wanted = decided if target == "predicted" else gold
    if wanted is None:
        raise ValueError("gold labels are to be explained, but a text has none that the model knows")
    return np.flatnonzero(wanted).tolist()


# Explanations of texts that are read in windows: each window is explained, and a word has the mean of its scores.


def explain_windows(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], target: int | str, pieces: str
) -> list[Explanation]:
    """The explanations of N texts by a classifier that reads windows, each of the same class in all its windows.

    The score of a word in a window is that of the window's own log probability. The mean over the windows of a word
    does not depend on how often the word is read.

    Args:
        explainers, target, pieces: as of `salience.explainers.explain.explain_texts`.
    """
    probabilities = classifier.predict_proba(texts)
    gold = gold_of(texts)
    targets = probabilities.argmax(1) if target == "predicted" else explained_classes(target, texts)
    found = classifier.passages(texts)
    asked = replace(found.texts, labels=targets[found.owners])
    of_windows = explain_at_once(classifier, asked, explainers, "gold", pieces)
    explanations = []
    for number in range(len(texts)):
        of_columns = [[text[number][start:end] for start, end in word_spans(text[number])] for text in texts.columns]
        words = [word for of_column in of_columns for word in of_column]
        second = None if texts.second is None else len(of_columns[0])
        own = np.flatnonzero(found.owners == number).tolist()
        scores = {
            name: mean_scores(
                len(words), [part for each in own for part in placed(found, each, of_windows[each], name, second)]
            )
            for name in explainers
        }
        explanations.append(
            Explanation(
                words, second, classifier.labels, probabilities[number], int(targets[number]), gold[number], scores,
                row=None if texts.rows is None else texts.rows[number],
                cut=bool(found.shortened[number]) or any(of_windows[window].cut for window in own),
            )
        )  # fmt: skip
    return explanations


def placed(
    found: Passages, window: int, explanation: Explanation, name: str, second: int | None
) -> list[tuple[int, np.ndarray]]:
    """The scores of the words of a window, behind the number of the first of these words: of either text of a pair.

    Args:
        window: its number among the passages.
        explanation: of the window.
        name: of the explainer.
        second: the number of the first word of the second text of the whole pair; None for a single text.
    """
    scores, first = explanation.scores[name], int(found.first_words[window])
    if second is None or found.second_words is None:
        return [(first, scores)]
    divided = explanation.second
    return [(first, scores[:divided]), (second + int(found.second_words[window]), scores[divided:])]


def mean_scores(words: int, windows: list[tuple[int, np.ndarray]]) -> np.ndarray:
    """The mean score of each word (W,) over the windows that it is in; 0 for a word of which nothing is read.

    Args:
        words: their number W.
        windows: of each window the number of its first word, and the scores of its words.
    """
    total, count = np.zeros(words), np.zeros(words)
    for first, scores in windows:
        total[first : first + len(scores)] += scores
        count[first : first + len(scores)] += 1
    return total / np.maximum(count, 1)


# Which words decided: the explanations of texts, computed in batches.

TEXTS = 512  # that are explained at a time


def explain(
    classifier: TextClassifier,
    texts: TextsLike,
    explainers: Sequence[str] = ("gradient",),
    target: int | str = "predicted",
    pieces: str = "sum",
) -> list[Explanation]:
    """Explains which words decided: for each text, the prediction and the scores of its words.

    Args:
        texts: N texts, N pairs of texts, or a `Texts`, which may have labels.
        explainers: names of `salience.EXPLAINERS`.
        target: the class to explain: "predicted", "gold" (the label in `texts`), or the number of a class. Where a
            text can have several labels, "predicted" and "gold" are all of them; see `explainers.several_labels`.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".

    Raises:
        InputError: an unknown explainer, target or value of `pieces`, or texts that are none.
        ValueError: an explainer does not fit the model, or the label of a text is needed and not known.
    """

    classifier, chosen = classifier_of(classifier), functions_named(explainers)
    check_target(target, len(classifier.labels))
    check_pieces(pieces)
    return list(explain_texts(classifier, Texts.of(texts), chosen, target, pieces))


def explain_texts(
    classifier: TextClassifier,
    texts: Texts,
    explainers: Mapping[str, Callable],
    target: int | str = "predicted",
    pieces: str = "sum",
) -> Iterator[Explanation]:
    """Yields the explanations of N texts in their order. `TEXTS` of them are explained at a time.

    Where a text can have several labels, there is an explanation for each label that is explained of a text.

    Args:
        explainers: functions of (model, batch, target) by name; see `salience.explainers.Explainer`.
        target, pieces: as in `explain`.

    Raises:
        ValueError: as `explain`.
    """

    explain_some = explain_windows if classifier.long == "windows" else explain_at_once
    if classifier.multi_label:
        explain_some = partial(explain_labels, explain_one=explain_some)
    for start in range(0, len(texts), TEXTS):
        some = texts.take(range(start, min(start + TEXTS, len(texts))))
        if target == "gold":
            check_labelled(some)
        yield from explain_some(classifier, some, explainers, target, pieces)


def explain_at_once(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], target: int | str, pieces: str
) -> list[Explanation]:
    """The explanations of N texts that are read at once, or of the passages of such texts."""
    model, labels = classifier.model, classifier.labels
    encode = classifier.encode_heads if classifier.long == "windows" else classifier.encode
    encoded = encode(texts, words=True)
    words, gold = encoded.words, gold_of(texts)
    by_row: dict[int, Explanation] = {}
    for rows, batch in like_length(model, encoded, tokens=DIFFERENTIATED):
        asked = None
        if target != "predicted":
            asked = torch.tensor(explained_classes(target, texts)[rows], device=model.device)
        with classifier.computing():
            probabilities, targets, scores = _explain_batch(model, batch, explainers, asked)
        for index, row in enumerate(rows):
            by_row[row] = Explanation(
                words=words.names[row], second=words.second[row], labels=labels,
                probabilities=probabilities[index], target=int(targets[index]), gold=gold[row],
                scores={
                    name: word_scores(encoded, row, of_batch[index], pieces) for name, of_batch in scores.items()
                },
                row=None if texts.rows is None else texts.rows[row], cut=bool(encoded.cut[row]),
            )  # fmt: skip
    return [by_row[row] for row in range(len(texts))]


def _explain_batch(
    model: nn.Module, batch: Batch, explainers: Mapping[str, Callable], target: Tensor | None
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The probabilities (B, C) of a batch, the classes that are explained (B,), and the explainers' scores (B, T).

    The first explainer that can also gives the prediction, so that it takes no forward pass of its own.

    Args:
        target: (B,) long, the classes to explain; None: the predictions.
    """
    scores: dict[str, Tensor] = {}
    predicting = [name for name, explainer in explainers.items() if isinstance(explainer, WithLogits)]
    with evaluating(model):
        if predicting:
            first = cast(WithLogits, explainers[predicting[0]])
            scores[predicting[0]], logits = first.with_logits(model, batch, target)
        else:
            with torch.no_grad():
                logits = forward(model, batch)
        probabilities = problem_of(model).probabilities(logits.float())
        classes = probabilities.argmax(1) if target is None else target
        for name, explainer in explainers.items():
            if name not in scores:
                scores[name] = explainer(model, batch, classes)
    in_order = {name: scores[name].float().cpu().numpy() for name in explainers}
    return probabilities.cpu().numpy(), classes.cpu().numpy(), in_order


def gold_of(texts: Texts) -> list[int | None]:
    """The numbers of the labels of N texts; None where a label is not known."""
    numbers = [UNKNOWN] * len(texts) if texts.labels is None else texts.labels.tolist()
    return [None if number == UNKNOWN else number for number in numbers]


def explained_classes(target: int | str, texts: Texts) -> np.ndarray:
    """(N,) int, the numbers of the classes to explain, where they are not the predicted ones."""
    return texts.known_labels if target == "gold" else np.full(len(texts), int(target))


def check_labelled(texts: Texts) -> None:
    """Raises a `ValueError` if the label of a text is not known."""
    missing = np.flatnonzero(~texts.labelled)
    if len(missing):
        which = "a text" if texts.rows is None else f"row {texts.rows[missing[0]]}"
        raise ValueError(
            f"gold labels are to be explained, but {which} has none that the model knows: correct the label, name its "
            "column, or explain another target"
        )
