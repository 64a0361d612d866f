"""Explainers by metrics: which of them tell the truth about a model, with chance beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from salience.explainers.chance import random_words
from salience.explainers.corpus import explain_words
from salience.explainers.explanations import Text, words_of
from salience.explainers.word_tokens import WordTokens
from salience.faithfulness.erasing import leave_one_out, ranks, top_alone, without_top
from salience.faithfulness.metrics import (
    accuracy_drop,
    agreement,
    detection,
    flips_after,
    interval,
    mean_accuracy_drop,
    post_hoc_accuracy,
    probability_drop,
)
from salience.inference import TextClassifier

DRAWS = 5  # of random scores
TAU_TEXTS = 200


@dataclass(frozen=True)
class Row:
    """One explainer: each metric with its mean over texts and a 95 % bootstrap interval, and the curves over K."""

    explainer: str
    metrics: dict[str, tuple[float, float, float]]
    without: list[float]  # the judge's accuracy without the K top words, K = 0, 1, ...
    alone: list[float]  # on the K top words alone; K = 0 is the whole text
    values: dict[str, np.ndarray] = field(repr=False, default_factory=dict)  # of each text, for other comparisons
    detected: dict[str, list[float]] = field(default_factory=dict)  # by class, as `detected` gives it


def evaluate(
    classifier: TextClassifier,
    judge: TextClassifier,
    texts: Sequence[Text],
    explainers: Mapping[str, Callable],
    most: int = 20,
    at: int = 5,
    tau_texts: int = TAU_TEXTS,
    pieces: str = "sum",
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """The table of explainers by metrics, "random" always among them.

    Args:
        classifier: the model that is explained, for the class that it predicts.
        judge: the model whose decisions are watched while words go, over labels in the same order.
        texts: with labels; with marks, if it is to be told whether the marked words are found (`detected`).
        most, at: words go one by one up to `most`; single numbers are given at `at`.
        tau_texts: of how many texts, drawn at random, leave-one-out of the explained model is computed.
        pieces: how the scores of a word's tokens become the word's score, "sum" or "max".
        seed: of what is drawn.
    """
    own, judged = words_of(classifier, texts, pieces), words_of(judge, texts)
    if own.cut.any():
        say(f"{own.cut.sum()} of {len(texts)} texts are longer than the {classifier.max_length} tokens read of each")
    generator = np.random.default_rng(seed)
    drawn = np.sort(generator.permutation(len(texts))[:tau_texts])
    apart = leave_one_out(classifier.probabilities, own.take(drawn), classifier.empty_token)
    marks = None if any(text.marks is None for text in texts) else [text.marks for text in texts]
    gold = [classifier.labels[text.label] for text in texts]

    def measured(scores: list[np.ndarray]) -> Erased:
        seen = erased(as_judged(scores, own, judged), judge, judged, most, at)
        tau = agreement([scores[row] for row in drawn], apart)
        found = {} if marks is None else detected(scores, marks, gold, classifier.labels, at)
        return replace(seen, values=seen.values | {"tau": tau}, detected=found)

    rows = []
    for name in [*(name for name in explainers if name != "random"), "random"]:
        if name == "random":
            found = mean_over([measured(random_words(own.counts, generator)) for _ in range(DRAWS)])
        else:
            found = measured(explain_words(classifier.model, own, explainers[name]))
        metrics = {metric: (mean_of(all_of), *interval(all_of)) for metric, all_of in found.values.items()}
        rows.append(Row(name, metrics, found.without.tolist(), found.alone.tolist(), found.values, found.detected))
        say(f"{name}: AOPC@{at} {metrics[f'AOPC@{at}'][0]:.1f}")
    return rows


@dataclass(frozen=True)
class Erased:
    """What a judge makes of texts that lose words by their scores."""

    values: dict[str, np.ndarray]  # metrics of each text (N,)
    without: np.ndarray  # (K + 1,) its accuracy without the K highest words
    alone: np.ndarray  # (K + 1,) on these alone; K = 0 is the whole text
    detected: dict[str, list[float]] = field(default_factory=dict)


def erased(scores: list[np.ndarray], judge: TextClassifier, judged: WordTokens, most: int, at: int) -> Erased:
    """One scoring of the texts' words, as the judge sees it.

    Args:
        scores: of each text's words (W,), as the judge reads them.
        judged: the texts as the judge reads them.
    """
    rank = ranks(scores)
    without = without_top(judge.probabilities, judged, rank, most, judge.empty_token)
    alone = top_alone(judge.probabilities, judged, rank, most, judge.empty_token)
    values = {
        f"AOPC@{at}": 100 * accuracy_drop(without, at),
        "AOPC over K": 100 * mean_accuracy_drop(without),
        "AOPC, probability": 100 * probability_drop(without),
        f"post-hoc@{at}": 100 * post_hoc_accuracy(alone, at),
        "words to flip": np.minimum(flips_after(without), most + 1),
    }
    return Erased(values, without.right.mean(1), alone.right.mean(1))


def detected(
    scores: Sequence[np.ndarray], marks: Sequence[Sequence[str]], gold: Sequence[str], classes: Sequence[str], at: int
) -> dict[str, list[float]]:
    """Whether the words are found that people have marked (Zhou et al., 2021, Table 5).

    Args:
        marks: what is said of each word of each text.
        gold: the texts' labels. Of a class, the words marked with its name count, in its own texts.

    Returns:
        P, R and F1 at 1 and at `at` words, in percent, means over texts, of every class of which a word is marked.
    """
    found = {}
    for name in classes:
        own = [row for row, label in enumerate(gold) if label == name and name in marks[row]]
        marked = [[place for place, mark in enumerate(marks[row]) if mark == name] for row in own]
        if own:
            chosen = [scores[row] for row in own]
            found[name] = [
                100 * float(values.mean()) for count in (1, at) for values in detection(chosen, marked, count)
            ]
    return found


def mean_over(draws: Sequence[Erased]) -> Erased:
    return Erased(
        {metric: np.mean([draw.values[metric] for draw in draws], axis=0) for metric in draws[0].values},
        np.mean([draw.without for draw in draws], axis=0),
        np.mean([draw.alone for draw in draws], axis=0),
        {name: np.mean([draw.detected[name] for draw in draws], axis=0).tolist() for name in draws[0].detected},
    )


def mean_of(values: np.ndarray) -> float:
    """The mean of what is a number; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def as_judged(scores: Sequence[np.ndarray], own: WordTokens, judged: WordTokens) -> list[np.ndarray]:
    """Scores of the words that the judge reads: those that the explained model has not read come last.

    A model that reads less lacks words at the end of a text, and of either text of a pair.
    """
    found = []
    for row, values in enumerate(scores):
        parts = np.split(values, own.starts_of_texts(row))
        counts = np.diff([0, *judged.starts_of_texts(row), judged.counts[row]])
        found.append(np.concatenate([fitted(part, count) for part, count in zip(parts, counts, strict=True)]))
    return found


def fitted(scores: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([scores[:count], np.full(max(count - len(scores), 0), -np.inf)])
