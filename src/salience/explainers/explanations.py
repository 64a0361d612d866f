"""Which words decided: the explanations of texts, computed in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from salience.batch import Batch
from salience.data.batching import DIFFERENTIATED, like_length
from salience.data.texts import UNKNOWN, Texts, TextsLike
from salience.explainers.corpus import word_scores
from salience.explainers.explainer import WithLogits
from salience.explainers.explanation import Explanation
from salience.hooks.hooks import evaluating, forward
from salience.inference import TextClassifier
from salience.inference.fitted import classifier_of
from salience.models.problem import problem_of

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
    from salience.explainers.named import check_pieces, check_target, functions_named

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
    from salience.explainers.several_labels import explain_labels
    from salience.explainers.windows import explain_windows

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
