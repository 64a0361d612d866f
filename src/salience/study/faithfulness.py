"""Explainers by metrics: which of them tell the truth about a model, with chance beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from transformers import PreTrainedModel

from salience.explain.chance import random
from salience.explain.corpus import explain_words
from salience.explain.explanations import Text
from salience.explain.word_tokens import WordTokens, encode_words
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
from salience.training.predicting import predict_probabilities

DRAWS = 5  # of random scores


@dataclass(frozen=True)
class Reader:
    """A model, its tokenizer, and how much of a text it reads."""

    model: PreTrainedModel
    tokenizer: object
    longest: int

    def encode(self, texts: Sequence[Text]) -> WordTokens:
        pairs = None if texts[0].pair is None else [own.pair or "" for own in texts]
        labels = None if texts[0].label is None else [own.label for own in texts]
        return encode_words(self.tokenizer, [own.text for own in texts], pairs, labels, self.longest)

    def judge(self, encoded) -> np.ndarray:
        return predict_probabilities(self.model, encoded, "fp32")

    @property
    def labels(self) -> list[str]:
        return [self.model.config.id2label[number] for number in range(self.model.config.num_labels)]

    @property
    def empty(self) -> int:
        """What a text is left with that would have no token."""
        unknown = self.tokenizer.unk_token_id
        return self.tokenizer.pad_token_id if unknown is None else unknown


@dataclass(frozen=True)
class Row:
    """One explainer: each metric with its mean over texts and a 95 % bootstrap interval; the curves over K."""

    explainer: str
    metrics: dict[str, tuple[float, float, float]]
    without: list[float]  # the judge's accuracy without the K top words, K = 0, 1, ...
    alone: list[float]  # on the K top words alone; K = 0 is the whole text
    values: dict[str, np.ndarray] = field(repr=False, default_factory=dict)  # of each text, for other comparisons


def evaluate(
    reader: Reader,
    judge: Reader,
    texts: Sequence[Text],
    explainers: Mapping[str, Callable],
    most: int = 20,
    at: int = 5,
    tau_texts: int = 200,
    marked: Sequence[Sequence[int]] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """The table of explainers by metrics, "random" always among them.

    Args:
        reader: the model that is explained, for the class that it predicts.
        judge: the model whose decisions are watched while words go, over labels in the same order.
        texts: with labels.
        most, at: words go one by one up to `most`; single numbers are given at `at`.
        tau_texts: of how many texts, the first ones, leave-one-out of the explained model is computed.
        marked: the numbers of the words in each text that a person has marked.
    """
    own, judged = reader.encode(texts), judge.encode(texts)
    apart = leave_one_out(reader.judge, own.take(range(min(tau_texts, len(texts)))), reader.empty)
    rows = []
    chosen = {name: explainer for name, explainer in explainers.items() if name != "random"} | {"random": random}
    for name in chosen:
        draws = DRAWS if name == "random" else 1
        found = [
            one_draw(explain_words(reader.model, own, chosen[name]), judge, judged, apart, most, at, marked)
            for _ in range(draws)
        ]
        values = {metric: np.mean([draw[0][metric] for draw in found], axis=0) for metric in found[0][0]}
        without, alone = (np.mean([draw[part] for draw in found], axis=0).tolist() for part in (1, 2))
        metrics = {metric: (mean_of(all_of), *interval(all_of)) for metric, all_of in values.items()}
        rows.append(Row(name, metrics, without, alone, values))
        say(f"{name}: AOPC@{at} {metrics[f'AOPC@{at}'][0]:.1f}")
    return rows


def one_draw(
    scores: list[np.ndarray], judge: Reader, judged: WordTokens, apart: list[np.ndarray], most: int, at: int,
    marked: Sequence[Sequence[int]] | None,
) -> tuple[dict[str, np.ndarray], list[float], list[float]]:  # fmt: skip
    """Each metric's values over texts, and the two curves of accuracy, for one scoring of the words."""
    rank = ranks([fitted(own, count) for own, count in zip(scores, judged.counts, strict=True)])
    without = without_top(judge.judge, judged, rank, most, judge.empty)
    alone = top_alone(judge.judge, judged, rank, most, judge.empty)
    values = {
        f"AOPC@{at}": 100 * accuracy_drop(without, at),
        "AOPC over K": 100 * mean_accuracy_drop(without),
        "AOPC, probability": 100 * probability_drop(without),
        f"post-hoc@{at}": 100 * post_hoc_accuracy(alone, at),
        "words to flip": np.minimum(flips_after(without), most + 1),
        "tau": agreement(scores[: len(apart)], apart),
    }
    if marked is not None:
        for count in (1, at):
            for name, found in zip(("P", "R", "F1"), detection(scores, marked, count), strict=True):
                values[f"{name}@{count}"] = 100 * found
    return values, without.right.mean(1).tolist(), alone.right.mean(1).tolist()


def mean_of(values: np.ndarray) -> float:
    """The mean of what is a number; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def fitted(scores: np.ndarray, count: int) -> np.ndarray:
    """Scores for as many words as the judge reads: words that the explained model has not read come last."""
    return np.concatenate([scores[:count], np.full(max(count - len(scores), 0), -np.inf)])
