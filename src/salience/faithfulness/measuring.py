"""The metrics of several scorings of the same texts, with as few questions to the judge as there can be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from salience.faithfulness import Metric
from salience.faithfulness.accuracy import right_alone, right_without
from salience.faithfulness.erasure import Erasure
from salience.faithfulness.reading import Reading

WINDOW = 512  # texts that are measured at a time
Scores = Sequence[np.ndarray]  # of each text's words (W,)


@dataclass(frozen=True, eq=False)
class Measured:
    """What is measured of N texts whose words one explainer has scored.

    Args:
        values: each metric's value of each text (N,).
        without: whether the judge is right (K + 1, N) without the 0, 1, ..., K top words; (0, N) if not asked for.
        alone: the same on the top words alone, where K = 0 is the whole text.
    """

    values: dict[str, np.ndarray]
    without: np.ndarray
    alone: np.ndarray

    @classmethod
    def mean(cls, draws: Sequence[Measured]) -> Measured:
        """The mean over draws of random scores, text by text."""
        return cls._from(draws, lambda arrays: np.mean(arrays, axis=0))

    @classmethod
    def joined(cls, parts: Sequence[Measured]) -> Measured:
        """One after the other."""
        return cls._from(parts, lambda arrays: np.concatenate(arrays, axis=-1))

    @classmethod
    def _from(cls, parts: Sequence[Measured], combined: Callable) -> Measured:
        values = {name: combined([part.values[name] for part in parts]) for name in parts[0].values}
        return cls(values, *(combined([getattr(part, curve) for part in parts]) for curve in ("without", "alone")))


def measure(
    judging: Reading, explained: Reading, scorings: Sequence[Scores], metrics: Mapping[str, Metric], most: int,
    marked: Sequence[Sequence[int]] | None = None, curves: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> list[Measured]:  # fmt: skip
    """What is measured of each scoring of N texts, `WINDOW` texts at a time.

    Metrics are computed twice. The first time they only tell which erased texts they need. Each of these is judged
    once, in batches of texts of similar length over all scorings, metrics and numbers of words. What the judge says is
    held for one window at a time: C probabilities for each erased text, of which there are at most about 2 * `most`
    for each text and scoring, and one for each word.

    Args:
        judging: the texts as the judge reads them.
        explained: the texts as the explained classifier reads them; it may be `judging`.
        scorings: the scores of the words of all texts, by each explainer or draw.
        metrics: by name.
        most, marked: as in `Erasure`.
        curves: also ask whether the judge is right over the number of words.
        say: is given progress messages.
    """
    windows = []
    for start in range(0, len(judging), WINDOW):
        rows = slice(start, start + WINDOW)
        windows.append(
            _measure_window(
                judging.part(rows), None if explained is judging else explained.part(rows),
                [scores[rows] for scores in scorings], metrics, most, None if marked is None else marked[rows], curves,
            )
        )  # fmt: skip
        if len(judging) > WINDOW:
            what = "texts" if judging.targets is None else "labels of texts"
            say(f"{min(rows.stop, len(judging))} of {len(judging)} {what} judged")
    return [Measured.joined(of_scoring) for of_scoring in zip(*windows, strict=True)]


def _measure_window(
    judging: Reading, explained: Reading | None, scorings: Sequence[Scores], metrics: Mapping[str, Metric], most: int,
    marked: Sequence[Sequence[int]] | None, curves: bool,
) -> list[Measured]:  # fmt: skip
    erasures = [Erasure(judging, scores, explained, most, marked) for scores in scorings]

    def measured(erasure: Erasure) -> Measured:
        none = np.zeros((0, len(judging)))
        return Measured(
            {name: metric.compute(erasure) for name, metric in metrics.items()},
            right_without(erasure) if curves else none, right_alone(erasure) if curves else none,
        )  # fmt: skip

    with judging.together(), (judging if explained is None else explained).together(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is computed here is no result
        for erasure in erasures:
            measured(erasure)
    return [measured(erasure) for erasure in erasures]
