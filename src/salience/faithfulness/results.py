"""What an evaluation of explanations gives: means with intervals, values of each text, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from salience.errors import unknown
from salience.faithfulness import Metric
from salience.runs.sentences import with_intervals
from salience.templating import render

CURVES = ("without", "alone")
DRAWS = 2000  # of texts, for an interval
DRAWN_AT_ONCE = 1_000_000  # texts that are drawn at a time


class Estimate(NamedTuple):
    """The mean over texts, and its 95 % bootstrap interval; NaN where the metric is undefined for every text."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Row:
    """One explainer's results."""

    explainer: str
    metrics: Mapping[str, Estimate]
    values: Mapping[str, np.ndarray]  # of each text (N,), NaN where it is undefined; of "random" the mean over draws
    without: np.ndarray  # accuracy (K + 1,) without the K top words, from 0 to 1; empty if not asked for
    alone: np.ndarray  # accuracy on the K top words alone, where K = 0 is the whole text
    marked: Mapping[str, Mapping[str, float]]  # of marked words by class, as of `detection_by_class`; may be empty


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Explainers by metrics. `evaluation["gradient"]` is the row of an explainer; the last one is "random".

    Args:
        texts: where texts are multi-label, the number of the text (N,) that each value is of, from 0 on.
        targets: the labels (N) that the values are about; both are None where each text has one value.
        scores: how good the classifier is on the texts, by the names in metrics.json of a run, such as "accuracy" and
            "accuracy_interval"; None if their labels are not known.
    """

    rows: Sequence[Row]
    metrics: Mapping[str, Metric]
    texts: np.ndarray | None = None
    targets: Sequence[str] | None = None
    scores: Mapping[str, Any] | None = None

    @property
    def scored(self) -> str:
        """The scores of the classifier that have intervals, in words; empty without labels."""
        return "" if self.scores is None else f"the classifier on these texts: {with_intervals(self.scores)}"

    def __getitem__(self, explainer: str) -> Row:
        for row in self.rows:
            if row.explainer == explainer:
                return row
        raise unknown("explainer", explainer, [row.explainer for row in self.rows])

    def to_rows(self) -> list[dict[str, object]]:
        """A dictionary for each explainer and metric, as `pandas.DataFrame` takes them: explainer, metric, mean, low,
        high, unit, higher_is_better."""
        return [
            {
                "explainer": row.explainer, "metric": name, **estimate._asdict(), "unit": self.metrics[name].unit,
                "higher_is_better": self.metrics[name].higher_is_better,
            }
            for row in self.rows
            for name, estimate in row.metrics.items()
        ]  # fmt: skip

    def to_value_rows(self) -> list[dict[str, object]]:
        """A dictionary for each explainer and value: explainer, the number of the text, the label if a text can have
        several, and the value of each metric by its name; NaN where it is undefined."""
        return [
            {
                "explainer": row.explainer, "text": place if self.texts is None else int(self.texts[place]),
                **({} if self.targets is None else {"label": self.targets[place]}),
                **{name: float(values[place]) for name, values in row.values.items()},
            }
            for row in self.rows
            for place in range(len(next(iter(row.values.values()))))
        ]  # fmt: skip

    def __repr__(self) -> str:
        """A table with a line for each metric and a column for each explainer: means and intervals.

        A line about the classifier comes first, if the labels are known.
        """
        head = ["metric", *(row.explainer for row in self.rows), "unit", "better"]
        lines = [head]
        for name, metric in self.metrics.items():
            cells = [shown(row.metrics[name]) for row in self.rows]
            lines.append([name, *cells, metric.unit, "higher" if metric.higher_is_better else "lower"])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join(line.rstrip() for line in (*filter(None, [self.scored]), *table))

    def _repr_html_(self) -> str:
        """The same table in a notebook."""
        return render(
            "salience.faithfulness", "evaluation.html.jinja", scored=self.scored,
            explainers=[row.explainer for row in self.rows],
            metrics=[
                (name, metric, [shown(row.metrics[name]) for row in self.rows])
                for name, metric in self.metrics.items()
            ],
        )  # fmt: skip


def shown(estimate: Estimate) -> str:
    if isnan(estimate.mean):
        return "-"
    return f"{estimate.mean:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"


def row_of(
    explainer: str, measured: Mapping[str, np.ndarray], marked: Mapping[str, Mapping[str, float]],
    groups: np.ndarray | None = None,
) -> Row:  # fmt: skip
    """The row of an explainer, from the values (N,) of its metrics and the values (K + 1, N) of its `CURVES`."""
    values = {name: of_texts for name, of_texts in measured.items() if name not in CURVES}
    without, alone = (measured[curve].mean(1) if curve in measured else np.zeros(0) for curve in CURVES)
    estimates = {
        metric: Estimate(mean_of(of_texts), *interval(of_texts, groups=groups)) for metric, of_texts in values.items()
    }
    return Row(explainer, estimates, values, without, alone, marked)


def mean_of(values: np.ndarray) -> float:
    """The mean over the texts for which a metric is defined; NaN where there is none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def interval(values: np.ndarray, groups: np.ndarray | None = None) -> tuple[float, float]:
    """A 95 % percentile bootstrap interval of the mean over texts (Efron and Tibshirani, 1993, chapter 13).

    Texts for which the metric is undefined are left out; NaN where there is no other. With `groups` (N,), the number
    of the text of each value, texts are sampled with all of their values, and the mean is that of all sampled values.
    """
    finite = np.isfinite(values)
    values = values[finite]
    if not len(values):
        return float("nan"), float("nan")
    counts = None
    if groups is not None:
        _, places, counts = np.unique(groups[finite], return_inverse=True, return_counts=True)
        values = np.bincount(places, values)
    random, at_once = np.random.default_rng(0), -(-DRAWN_AT_ONCE // len(values))
    means = []
    for start in range(0, DRAWS, at_once):
        drawn = random.integers(len(values), size=(min(at_once, DRAWS - start), len(values)))
        means.append(values[drawn].sum(1) / (len(values) if counts is None else counts[drawn].sum(1)))
    low, high = np.quantile(np.concatenate(means), [(1 - 0.95) / 2, (1 + 0.95) / 2])
    return float(low), float(high)
