"""How faithful the explanations of a trained model are, in excess over random scores of the same model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from salience.data.drawing import drawn
from salience.data.task import Task
from salience.errors import InputError
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.chance import random_words
from salience.explainers.named import functions_named
from salience.faithfulness import Metric, metrics_named
from salience.faithfulness.evaluation import DRAWS
from salience.faithfulness.explained_labels import asked_of
from salience.faithfulness.measuring import Measured, measure
from salience.faithfulness.results import mean_of
from salience.faithfulness.whole_texts import reading_of, scores_of
from salience.inference import TextClassifier
from salience.settings import COUNT
from salience.training.measured_scores import Column

EXPLAINED: dict[str, Callable] = {
    "gradient": EXPLAINERS["gradient"], "integrated-gradients": IntegratedGradients(8)
}  # fmt: skip
ERASER = ("comprehensiveness", "sufficiency")
DRAWN_BY = 0  # the seed of the texts: every run is judged on the same ones


@dataclass(frozen=True)
class Faithfulness:
    """The measure "faithfulness": a model judges its own explanations of test texts by `salience.METRICS`.

    The number of an explainer and a metric is the excess: the mean over the texts, minus the same of random scores,
    which is the mean over 5 draws. So a model that fails as soon as any words are removed does not count as better
    explained. For a metric of which lower values are better, such as sufficiency, a lower excess is better.

    As in `salience.evaluate`, the class that the model predicts is explained, explanations are computed in the
    precision of the classifier, and the judge computes in fp32. Where a text can have several labels, its right ones
    are explained, each by itself, so that the explanations of all models are of the same texts and labels.

    Args:
        explainers: names of `salience.EXPLAINERS`, or functions by name; those of a comparison with several jobs must
            be picklable. The default is the gradient and integrated gradients with 8 steps.
        metrics: names of `salience.METRICS`, with a number in place of `k`, or metrics by name.
        texts: number of test texts, drawn at random, the same for every run. A smaller test set is taken whole.
        most: the largest number of words that metrics over all numbers of words remove.
        leave_one_out_texts: number of these texts for which "loo-tau" is computed.

    Raises:
        InputError: an unknown explainer or metric, none at all, a metric that needs marks of words, or a number that
            is no count.
    """

    explainers: Sequence[str] | Mapping[str, Callable] = field(default_factory=lambda: dict(EXPLAINED))
    metrics: Sequence[str] | Mapping[str, Metric] = ERASER
    texts: int = 200
    most: int = 20
    leave_one_out_texts: int = 100

    def __post_init__(self):
        if not self.explainers or not self.metrics:
            raise InputError("faithfulness: name at least one explainer and one metric")
        functions_named(self.explainers)  # refuses unknown names
        for name, metric in self.chosen_metrics.items():
            if metric.needs == "marks":
                raise InputError(f"faithfulness: metric {name} needs marked words, which the texts of a run lack")
        for name in ("texts", "most", "leave_one_out_texts"):
            if not COUNT.fits(getattr(self, name)):
                raise InputError(f"faithfulness: {name}={getattr(self, name)}: give {COUNT.words}")

    @property
    def functions(self) -> dict[str, Callable]:
        """The explainers by name."""
        return functions_named(self.explainers)

    @property
    def chosen_metrics(self) -> dict[str, Metric]:
        """The metrics by name."""
        return dict(self.metrics) if isinstance(self.metrics, Mapping) else metrics_named(self.metrics)

    @property
    def one_label(self) -> str | None:
        """Why a metric has no meaning where a text can have several labels; None if all have one."""
        reasons = (f"{name}: {metric.one_label}" for name, metric in self.chosen_metrics.items() if metric.one_label)
        return next(reasons, None)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, with explainers and metrics in words."""
        return {
            "explainers": [described(name, function) for name, function in self.functions.items()],
            "metrics": list(self.chosen_metrics), "texts": self.texts, "most": self.most,
            "leave_one_out_texts": self.leave_one_out_texts,
        }  # fmt: skip

    @property
    def columns(self) -> dict[str, Column]:
        """The excess of each metric and explainer; probabilities in points."""
        table = "faithfulness of the explanations: excess over random scores of the same model"
        return {
            excess_of(name, explainer): Column(
                name, explainer, "points" if metric.unit == "probability" else metric.unit,
                100 if metric.unit == "probability" else 1, metric.higher_is_better, table, apart=True,
            )
            for name, metric in self.chosen_metrics.items() for explainer in self.functions
        }  # fmt: skip

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The excess of each metric and explainer, and what it is made of.

        Args:
            seed: of the random scores.

        Returns:
            The names of `columns` to numbers, None where a metric is undefined for all texts; "judged", the number of
            texts; "means", the means over texts by metric of "random" and of each explainer; and the settings.
        """
        texts = drawn(task.test, self.texts, DRAWN_BY)
        asked = asked_of(classifier, texts, "gold" if classifier.multi_label else "predicted")
        reading = reading_of(classifier, asked, np.flatnonzero(asked.owners < self.leave_one_out_texts))
        generator = np.random.default_rng(seed)
        draws = [random_words(reading.texts.words.counts, generator) for _ in range(DRAWS)]
        scores = [scores_of(classifier, asked, reading, function) for function in self.functions.values()]
        measured = measure(reading, reading, [*scores, *draws], self.chosen_metrics, self.most)
        chance = [self.means(each) for each in measured[len(scores) :]]
        random = {name: float(np.mean([draw[name] for draw in chance])) for name in self.chosen_metrics}
        means = {name: self.means(each) for name, each in zip(self.functions, measured, strict=False)}
        found = {
            excess_of(name, explainer): of_explainer[name] - random[name]
            for name in self.chosen_metrics for explainer, of_explainer in means.items()
        }  # fmt: skip
        of_each = {"random": random} | means
        return (
            defined(found)
            | {
                "judged": len(np.unique(asked.owners)),
                "means": {name: defined(each) for name, each in of_each.items()},
            }
            | self.settings
        )

    def means(self, measured: Measured) -> dict[str, float]:
        """The mean of each metric over the texts for which it is defined; NaN where there is none."""
        return {name: mean_of(measured.values[name]) for name in self.chosen_metrics}


def excess_of(metric: str, explainer: str) -> str:
    """The name of an excess: "comprehensiveness_gradient_over_random"."""
    return f"{metric}_{explainer}_over_random".replace("-", "_")


def described(name: str, function: Callable) -> str:
    """An explainer in words: its name, with its settings if they are not the catalogue's."""
    usual = EXPLAINERS.get(name) == function
    return name if usual else f"{name}: {getattr(function, '__qualname__', None) or function!r}"


def defined(values: Mapping[str, float]) -> dict[str, float | None]:
    """The values with None, which JSON knows, in place of NaN."""
    return {name: value if isfinite(value) else None for name, value in values.items()}
