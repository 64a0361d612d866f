"""Explanations of many texts, and the scores of their words and tokens.

Where texts are multi-label, it has an explanation for each label that is explained. A text that is read in
windows has the explanations of its windows joined: a word has the mean of its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from salience.classify import TextClassifier
from salience.classify.classifier import classifier_of
from salience.data.batching import DIFFERENTIATED, like_length
from salience.data.encoding import SPECIAL, Encoded, Words, chunks
from salience.data.long_texts import Passages
from salience.data.texts import UNKNOWN, Texts, TextsLike
from salience.data.words import Segmenter, Span, Spans
from salience.errors import InputError, one_line, unknown
from salience.explainers import EXPLAINERS
from salience.explainers.explainer import WithLogits
from salience.explainers.explanation import Explanation, Explanations
from salience.hooks.hooks import evaluating, forward
from salience.models.problem import labels_of_model, to_probabilities
from salience.settings import is_whole
from salience.work import tracked

# How the scores of a word's tokens become the word's score: a function of numpy, and the value that it begins with.
PIECES = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}
TEXTS = 512  # that are explained at a time, if they are not long
EXPLAINING = "explaining"  # the name of the work
Explained = TypeVar("Explained")


def explain(
    classifier: TextClassifier,
    texts: TextsLike,
    explainers: Sequence[str] = ("gradient",),
    target: int | str = "predicted",
    pieces: str = "sum",
    segmenter: Segmenter | None = None,
) -> Explanations:
    """Explains which words decided: for each text, the prediction and the scores of its words.

    The result is a list, whose explanations a notebook draws.

    Args:
        texts: N texts, N pairs of texts, or a `Texts`, which may have labels.
        explainers: names of `salience.EXPLAINERS`.
        target: the class to explain: "predicted", "gold" (the label in `texts`), or the number of a class. Where a
            text can have several labels, "predicted" and "gold" are all of them, and there is an explanation for each
            pair of a text and a label, about the probability of this label by itself; of a text without a label to
            explain, the most probable label is explained.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".
        segmenter: gives the words of a text, such as `jieba.lcut`. None: what white space parts; in Chinese, Japanese,
            Thai and other scripts without spaces, what Unicode's rules for words and the tokenizer part.

    Raises:
        InputError: an unknown explainer, target or value of `pieces`; texts that are none; or words of a segmenter
            that are not the text.
        ValueError: an explainer does not fit the model, or the label of a text is needed and not known.
    """
    classifier, chosen = classifier_of(classifier, segmenter), functions_named(explainers)
    check_target(target, len(classifier.labels))
    check_pieces(pieces)
    return Explanations(explain_texts(classifier, Texts.of(texts), chosen, target, pieces))


def explain_texts(
    classifier: TextClassifier,
    texts: Texts,
    explainers: Mapping[str, Callable],
    target: int | str = "predicted",
    pieces: str = "sum",
) -> Iterator[Explanation]:
    """The explanations of N texts in their order, as of `explain`, by functions of (model, batch, target)."""
    windows = (range(part.start, part.stop) for part in chunks(texts.columns, TEXTS))
    for window in tracked(windows, len(texts), EXPLAINING, size=len):
        some = texts.take(window)
        if target == "gold" and not some.labelled.all():
            which = "a text" if some.rows is None else f"row {some.rows[int(some.labelled.argmin())]}"
            raise ValueError(
                f"gold labels are to be explained, but {which} has none that the model knows: correct the label, name "
                "its column, or explain another target"
            )
        if not classifier.multi_label:
            targets = None
            if target != "predicted":
                targets = some.known_labels if target == "gold" else np.full(len(some), int(target))
            yield from explain_classes(classifier, some, explainers, targets, pieces)
            continue
        probabilities = classifier.predict_proba(some)
        decided = classifier.decisions(probabilities)
        golds = [None] * len(some) if some.labels is None else [
            labels if known else None for labels, known in zip(some.labels, some.labelled, strict=True)
        ]  # fmt: skip
        pairs = [
            (row, label) for row in range(len(some))
            for label in chosen_labels(target, decided[row], golds[row]) or [int(probabilities[row].argmax())]
        ]  # fmt: skip
        rows, numbers = np.array(pairs, int).reshape(-1, 2).T
        found = explain_classes(classifier, replace(some, labels=None).take(rows), explainers, numbers, pieces)
        for row, explanation in zip(rows.tolist(), found, strict=True):
            yield replace(
                explanation, probabilities=probabilities[row], decided=tuple(np.flatnonzero(decided[row]).tolist()),
                golds=None if (gold := golds[row]) is None else tuple(np.flatnonzero(gold).tolist()),
            )  # fmt: skip


def explain_unasked(explained: Callable[[str, Callable], Explained], name: str) -> tuple[Explained | None, str]:
    """What `explained` makes with an explainer of `EXPLAINERS`, or else with occlusion, which fits every model.

    Explanations that nobody has asked for cost no finished run.

    Returns:
        The result and the name of its explainer; or None, and why there is none.
    """
    why = ""
    for each in dict.fromkeys((name, "occlusion")):
        try:
            return explained(each, EXPLAINERS[each]), each
        except Exception as error:  # also a device without memory for a backward pass
            why = one_line(f"{type(error).__name__}: {error}", 200)
    return None, why


def explain_classes(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], targets: np.ndarray | None,
    pieces: str = "sum",
) -> list[Explanation]:  # fmt: skip
    """The explanations of N texts, each for one class: that of `targets` (N,), or the predicted one without them."""
    if classifier.long == "windows":
        return _explain_windows(classifier, texts, explainers, targets, pieces)
    return _explain_encoded(classifier, texts, classifier.encode(texts, words=True), explainers, targets, pieces)


def chosen_labels(target: int | str, decided: np.ndarray, gold: np.ndarray | None) -> list[int]:
    """The numbers of the labels of a text that a target stands for, from the predicted and the right ones (C,)."""
    if target not in ("predicted", "gold"):
        return [int(target)]
    wanted = decided if target == "predicted" else gold
    assert wanted is not None  # where gold labels are explained, all are known
    return np.flatnonzero(wanted).tolist()


def _explain_windows(
    classifier: TextClassifier, texts: Texts, explainers: Mapping[str, Callable], targets: np.ndarray | None,
    pieces: str,
) -> list[Explanation]:  # fmt: skip
    """The explanations of texts by those of their windows, each for the same class in all windows."""
    probabilities = classifier.predict_proba(texts)
    targets = probabilities.argmax(1) if targets is None else targets
    found, gold = classifier.passages(texts), _gold_of(texts)
    in_windows = _words_in(found, texts, classifier.word_spans)
    encoded = classifier.encode_heads(found.texts, lambda window: next(in_windows))
    windows = _explain_encoded(classifier, found.texts, encoded, explainers, targets[found.owners], pieces)
    explanations, of_texts = [], Words.of(texts, classifier.word_spans)
    for number, (words, second) in enumerate(zip(of_texts.names, of_texts.second, strict=True)):
        own, count = np.flatnonzero(found.owners == number).tolist(), np.zeros(len(words))
        total = {name: np.zeros(len(words)) for name in explainers}
        for window in own:
            each = windows[window]
            parts = [(slice(each.second), int(found.first_words[window]))]
            if second is not None and found.second_words is not None:
                parts.append((slice(each.second, None), second + int(found.second_words[window])))
            for part, first in parts:
                place = slice(first, first + len(each.words[part]))
                count[place] += 1
                for name, scores in each.scores.items():
                    total[name][place] += scores[part]
        means = {name: scores / np.maximum(count, 1) for name, scores in total.items()}  # 0 for what is not read
        explanations.append(
            Explanation(
                words, second, classifier.labels, probabilities[number], int(targets[number]), gold[number], means,
                row=None if texts.rows is None else texts.rows[number],
                cut=bool(found.shortened[number]) or any(windows[window].cut for window in own),
                joined=of_texts.joined[number],
            )
        )  # fmt: skip
    return explanations


def _words_in(found: Passages, texts: Texts, spans: Spans) -> Iterator[list[Span]]:
    """The words of each passage, or of both texts of each, which are those of the whole text, or pieces of them."""
    owner, whole = -1, list[list[Span]]()
    for number, begins, *parts in zip(found.owners.tolist(), found.begins.tolist(), *found.texts.columns, strict=True):
        if number != owner:
            owner, whole = number, [spans(column[number]) for column in texts.columns]
        for words, begin, part in zip(whole, begins, parts, strict=True):
            inside = [(max(start - begin, 0), min(end - begin, len(part))) for start, end in words]
            yield [(start, end) for start, end in inside if start < end]


def _explain_encoded(
    classifier: TextClassifier, texts: Texts, encoded: Encoded, explainers: Mapping[str, Callable],
    targets: np.ndarray | None, pieces: str,
) -> list[Explanation]:  # fmt: skip
    """The explanations of N texts that are read at once, or of N windows.

    The first explainer that can also gives the prediction, which then takes no forward pass of its own.
    """
    model, words, gold = classifier.model, encoded.words, _gold_of(texts)
    predicting = next((name for name, each in explainers.items() if isinstance(each, WithLogits)), None)
    by_row: dict[int, Explanation] = {}
    for rows, batch in like_length(model, encoded, tokens=DIFFERENTIATED, name=EXPLAINING):
        target = None if targets is None else torch.tensor(targets[rows], device=model.device)
        scores: dict[str, Tensor] = {}
        with classifier.computing(), evaluating(model):
            if predicting is None:
                with torch.no_grad():
                    logits = forward(model, batch)
            else:
                scores[predicting], logits = explainers[predicting].with_logits(model, batch, target)  # type: ignore[attr-defined]
            probabilities = to_probabilities(labels_of_model(model), logits.float())
            classes = probabilities.argmax(1) if target is None else target
            for name, explainer in explainers.items():
                if name != predicting:
                    scores[name] = explainer(model, batch, classes)
        found = {name: scores[name].float().cpu().numpy() for name in explainers}
        predicted = probabilities.cpu().numpy()
        for index, row in enumerate(rows):
            by_row[row] = Explanation(
                words=words.names[row], second=words.second[row], labels=classifier.labels,
                probabilities=predicted[index], target=int(classes[index]), gold=gold[row],
                scores={name: word_scores(encoded, row, of_batch[index], pieces) for name, of_batch in found.items()},
                row=None if texts.rows is None else texts.rows[row], cut=bool(encoded.cut[row]),
                joined=words.joined[row],
            )  # fmt: skip
    return [by_row[row] for row in range(len(texts))]


def _gold_of(texts: Texts) -> list[int | None]:
    numbers = [UNKNOWN] * len(texts) if texts.labels is None else texts.labels.tolist()
    return [None if number == UNKNOWN else number for number in numbers]


def explain_words(
    model: nn.Module, texts: Encoded, explainer: Callable, target: np.ndarray | None = None, pieces: str = "sum"
) -> list[np.ndarray]:
    """The scores of the words (W,) of N texts for the classes `target` (N,), or those that the model predicts."""
    scores = explain_tokens(model, texts, explainer, target)
    return [word_scores(texts, row, of_tokens, pieces) for row, of_tokens in enumerate(scores)]


def explain_tokens(
    model: nn.Module, texts: Encoded, explainer: Callable, target: np.ndarray | None = None
) -> list[np.ndarray]:
    """The scores of each text's tokens (T,), special tokens included, for N texts. Their labels are ignored."""
    by_row: list[np.ndarray] = [np.zeros(0)] * len(texts)
    with evaluating(model):
        for rows, batch in like_length(model, texts, tokens=DIFFERENTIATED, name=EXPLAINING):
            classes = None if target is None else torch.as_tensor(target[rows], device=batch.input_ids.device)
            scores = explainer(model, batch, classes).float().cpu().numpy()
            for row, of_tokens in zip(rows, scores, strict=True):
                by_row[row] = of_tokens[: texts.lengths[row]]
    return by_row


def word_scores(texts: Encoded, row: int, scores: np.ndarray, pieces: str = "sum") -> np.ndarray:
    """The scores of the words (W,) of the text at `row`, from those of its tokens; 0 for a word without a token."""
    words = texts.words_of(row)
    in_words = words != SPECIAL
    aggregate, start = PIECES[pieces]
    of_words = np.full(texts.words.counts[row], start)
    aggregate.at(of_words, words[in_words], scores[: len(words)][in_words])
    return np.where(of_words == -np.inf, 0, of_words)


def functions_named(explainers: Sequence[str] | Mapping[str, Callable]) -> dict[str, Callable]:
    """The explainers by name, of `EXPLAINERS` where only names are given; refuses unknown names and one string."""
    if isinstance(explainers, Mapping):
        return dict(explainers)
    if isinstance(explainers, str):
        raise InputError(f"give a sequence of explainers, not one string: for example [{explainers!r}]")
    for name in explainers:
        if name not in EXPLAINERS:
            raise unknown("explainer", name, EXPLAINERS)
    return {name: EXPLAINERS[name] for name in explainers}


def check_target(target: object, classes: int) -> None:
    """Refuses a target that is neither "predicted" nor "gold" nor the number of one of the classes."""
    if target not in ("predicted", "gold") and not (is_whole(target) and 0 <= int(str(target)) < classes):
        raise unknown("target", target, ["predicted", "gold", *map(str, range(classes))])


def check_pieces(pieces: str, name: str = "pieces") -> None:
    if pieces not in PIECES:
        raise unknown(name, pieces, PIECES)
