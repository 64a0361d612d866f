"""Which words decided: texts explained as values that can be shown, written and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from salience.data.batching import DIFFERENTIATED, like_length
from salience.errors import unknown
from salience.explainers.word_tokens import WordTokens, encode_words
from salience.hooks.hooks import evaluating, forward
from salience.inference import TextClassifier, as_columns
from salience.templating import render

WINDOW = 512  # texts in memory at a time


@dataclass(frozen=True)
class Text:
    """What is to be explained: a text or a pair, and what is known of it."""

    text: str
    pair: str | None = None
    label: int | None = None  # its number
    row: int | None = None  # of its file: 1 is the first below the header
    marks: Sequence[str] | None = None  # what a person has said of each word, as white space parts them


def second_texts(texts: Sequence[Text]) -> list[str] | None:
    """The second texts of pairs; None of single texts.

    Raises:
        ValueError: some are pairs and others are not.
    """
    pairs = [own.pair for own in texts if own.pair is not None]
    if pairs and len(pairs) < len(texts):
        raise ValueError(f"{len(pairs)} of {len(texts)} texts have a second text: give all of them one, or none")
    return pairs or None


@dataclass(frozen=True)
class Explanation:
    """One text, what the model makes of it, and the scores of its words by one or more explainers."""

    words: list[str]
    second: int | None  # the number of the first word of a second text
    labels: list[str]
    probabilities: np.ndarray  # (C,)
    target: int  # the class that the scores speak of
    gold: int | None
    scores: dict[str, np.ndarray]  # (W,) by the explainer's name
    row: int | None = None  # of the text's file
    cut: bool = False  # whether the text is longer than what the model has read

    @property
    def predicted(self) -> int:
        return int(self.probabilities.argmax())

    def _repr_html_(self) -> str:
        """In a notebook: the label, and the words with a colour as strong as their score."""
        name, scores = next(iter(self.scores.items()))
        largest = max(np.abs(scores).max(initial=0), 1e-12)
        return render(
            "salience.explainers", "explanation.html.jinja",
            label=f"{self.labels[self.predicted]} ({self.probabilities.max():.2f})",
            about=name if self.target == self.predicted else f"{name} for {self.labels[self.target]}",
            words=[
                (word, f"{score:.3g}", colour(score / largest)) for word, score in zip(self.words, scores, strict=True)
            ],
            second=self.second,
        )  # fmt: skip


def colour(strength: float) -> str:
    """From blue at -1 over nothing to red at 1, as css."""
    return f"rgba({'217,71,58' if strength > 0 else '58,110,217'},{min(abs(strength), 1) * 0.75:.2f})"


def explain_texts(
    classifier: TextClassifier,
    texts: Iterable[Text],
    explainers: Mapping[str, Callable],
    target: int | str = "predicted",
    pieces: str = "sum",
) -> Iterator[Explanation]:
    """The texts' explanations in their order; any number of texts, of which a window is in memory.

    Args:
        target: the class to explain: "predicted", "gold", or a class's number.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".

    Raises:
        ValueError: an explainer does not fit the model; or "gold" is asked for where a label is not known.
    """
    rows = iter(texts)
    while window := list(islice(rows, WINDOW)):
        yield from explain_window(classifier, window, explainers, target, pieces)


def explain(
    classifier: TextClassifier,
    texts: Sequence[str] | Sequence[tuple[str, str]] | Sequence[Text],
    explainers: Sequence[str] = ("gradient",),
    target: int | str = "predicted",
    pieces: str = "sum",
) -> list[Explanation]:
    """Which words decided: an explanation of each text, with the scores of its words.

    Args:
        texts: N texts, N pairs of texts, or N `Text`s, which may have labels.
        explainers: names of `salience.EXPLAINERS`.
        target: the class to explain: "predicted", "gold" (of `Text`s with labels), or a class's number.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".

    Raises:
        InputError: an unknown explainer, or texts that are none.
        ValueError: an explainer does not fit the model.
    """
    from salience.explainers import EXPLAINERS

    for name in explainers:
        if name not in EXPLAINERS:
            raise unknown("explainer", name, EXPLAINERS)
    rows = list(texts) if not isinstance(texts, str) else texts
    if not (isinstance(rows, list) and all(isinstance(row, Text) for row in rows)):
        first, second = as_columns(rows)
        rows = [Text(*both) for both in zip(first, second or [None] * len(first), strict=True)]
    chosen = {name: EXPLAINERS[name] for name in explainers}
    return list(explain_texts(classifier, rows, chosen, target, pieces))


def words_of(
    classifier: TextClassifier, texts: Sequence[Text], pieces: str = "sum", labelled: bool = True
) -> WordTokens:
    """N texts as the classifier reads them, with the word that each token belongs to.

    Args:
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".
        labelled: take over the texts' labels, if the first one has one.
    """
    labels = [text.label for text in texts] if labelled and texts[0].label is not None else None
    first = [text.text for text in texts]
    return encode_words(classifier.tokenizer, first, second_texts(texts), labels, classifier.max_length, pieces=pieces)


def explain_window(
    classifier: TextClassifier,
    window: Sequence[Text],
    explainers: Mapping[str, Callable],
    target: int | str,
    pieces: str,
) -> list[Explanation]:
    model, names = classifier.model, classifier.labels
    encoded = words_of(classifier, window, pieces, labelled=False)
    found: list[Explanation | None] = [None] * len(window)
    for rows, batch in like_length(model, encoded.encoded, tokens=DIFFERENTIATED):
        with torch.no_grad(), evaluating(model):
            probabilities = forward(model, batch).float().softmax(1)
        wanted = torch.tensor([target_number(window[row], own, target) for row, own in zip(
            rows, probabilities.argmax(1).tolist(), strict=True)], device=model.device)  # fmt: skip
        with evaluating(model):
            scores = {
                name: explain(model, batch, wanted).float().cpu().numpy() for name, explain in explainers.items()
            }
        for index, row in enumerate(rows):
            found[row] = Explanation(
                words=encoded.names[row], second=encoded.second[row], labels=names,
                probabilities=probabilities[index].cpu().numpy(), target=int(wanted[index]),
                gold=window[row].label, row=window[row].row, cut=bool(encoded.cut[row]),
                scores={name: encoded.scores_of_words(row, own[index]) for name, own in scores.items()},
            )  # fmt: skip
    return found


def target_number(text: Text, predicted: int, target: int | str) -> int:
    if target == "predicted":
        return predicted
    if target != "gold":
        return int(target)
    if text.label is None:
        which = "a text" if text.row is None else f"row {text.row}"
        raise ValueError(f"gold labels are to be explained, but {which} has none that the model knows")
    return text.label
