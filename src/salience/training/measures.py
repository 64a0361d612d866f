"""The measures: what `salience compare` can measure of a run beside its scores on test rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np

from salience.classify import TextClassifier
from salience.data.splitting import drawn
from salience.data.task import Task
from salience.errors import InputError, unknown
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.chance import random_words
from salience.explainers.explain import functions_named
from salience.faithfulness import Metric, metrics_named
from salience.faithfulness.evaluation import DRAWS, asked_of, measure, reading_of, scores_of
from salience.faithfulness.results import mean_of
from salience.settings import COUNT

EXPLAINED: dict[str, Callable] = {
    "gradient": EXPLAINERS["gradient"], "integrated-gradients": IntegratedGradients(8)
}  # fmt: skip
ERASER = ("comprehensiveness", "sufficiency")
DRAWN_BY = 0  # the seed of the texts: every run is judged on the same ones


@dataclass(frozen=True)
class Column:
    """A number of a measure as comparisons show it.

    Attributes:
        score, of: what is measured, and of what: "sufficiency" of "gradient".
        unit: what the shown values count.
        scale: the shown value of a measured 1, such as 100 for percent.
        higher_is_better: whether a larger value is better.
        table: the title of the table that shows it, and the differences from the baseline.
    """

    score: str
    of: str
    unit: str
    scale: int
    higher_is_better: bool
    table: str

    @property
    def title(self) -> str:
        return f"{self.score}, {self.of}"

    @property
    def direction(self) -> str:
        return f"{self.unit}, {'higher' if self.higher_is_better else 'lower'} is better"


class Measure(Protocol):
    """Measures a trained classifier. `salience.training.measures.MEASURES` is the catalogue.

    A measure that has no meaning where texts are multi-label says why, in a `one_label`.
    """

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on, as JSON holds it. It is kept with the numbers.

        A finished run with other settings is not taken for one that was measured.
        """
        ...

    @property
    def columns(self) -> dict[str, Column]:
        """The numbers that a comparison shows, by their names in metrics.json."""
        ...

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The numbers by name, and the settings. There are test rows; the seed is that of the run."""
        ...


@dataclass(frozen=True)
class Faithfulness:
    """The measure "faithfulness": a model judges its own explanations of test texts by `salience.METRICS`.

    The number of an explainer and a metric is the excess: the mean over the texts, minus the same of random scores,
    which is the mean over 5 samples. So a model that fails as soon as any words are removed does not count as better
    explained. For a metric of which lower values are better, such as sufficiency, a lower excess is better.

    As in `salience.evaluate`, the class that the model predicts is explained, explanations are computed in the
    precision of the classifier, and the judge computes in fp32. Where texts are multi-label, its right ones
    are explained, each by itself, so that the explanations of all models are of the same texts and labels.

    Args:
        explainers: names of `salience.EXPLAINERS`, or functions by name; those of a comparison with several jobs must
            be picklable. The default is the gradient and integrated gradients with 8 steps.
        metrics: names of `salience.METRICS`, with a number in place of `k`, or metrics by name.
        texts: number of test texts, sampled at random, the same for every run. A smaller test set is taken whole.
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
        return functions_named(self.explainers)

    @property
    def chosen_metrics(self) -> dict[str, Metric]:
        return dict(self.metrics) if isinstance(self.metrics, Mapping) else metrics_named(self.metrics)

    @property
    def one_label(self) -> str | None:
        """Why a metric has no meaning where texts are multi-label; None if all have one."""
        reasons = (f"{name}: {metric.one_label}" for name, metric in self.chosen_metrics.items() if metric.one_label)
        return next(reasons, None)

    @property
    def settings(self) -> dict[str, Any]:
        explainers = []
        for name, function in self.functions.items():
            usual = EXPLAINERS.get(name) == function
            explainers.append(name if usual else f"{name}: {getattr(function, '__qualname__', None) or function!r}")
        return {
            "explainers": explainers, "metrics": list(self.chosen_metrics), "texts": self.texts, "most": self.most,
            "leave_one_out_texts": self.leave_one_out_texts,
        }  # fmt: skip

    @property
    def columns(self) -> dict[str, Column]:
        table = "faithfulness of the explanations: excess over random scores of the same model"
        return {
            excess_of(name, explainer): Column(
                name, explainer, "points" if metric.unit == "probability" else metric.unit,
                100 if metric.unit == "probability" else 1, metric.higher_is_better, table,
            )
            for name, metric in self.chosen_metrics.items() for explainer in self.functions
        }  # fmt: skip

    def __call__(self, classifier: TextClassifier, task: Task, seed: int) -> dict[str, Any]:
        """The numbers of `columns`, None where a metric is undefined for all texts, and what they are made of.

        "judged" is the number of texts; "means" are those over texts by metric, of "random" and of each explainer. The
        seed is that of the random scores.
        """
        texts = drawn(task.test, self.texts, DRAWN_BY)
        asked = asked_of(classifier, texts, "gold" if classifier.multi_label else "predicted")
        reading = reading_of(classifier, asked, np.flatnonzero(asked.owners < self.leave_one_out_texts))
        generator = np.random.default_rng(seed)
        draws = [random_words(reading.texts.words.counts, generator) for _ in range(DRAWS)]
        scores = [scores_of(classifier, asked, reading, function) for function in self.functions.values()]
        computations = {name: metric.compute for name, metric in self.chosen_metrics.items()}
        measured = measure(reading, reading, [*scores, *draws], computations, self.most)
        means = [{name: mean_of(each[name]) for name in self.chosen_metrics} for each in measured]
        chance = means[len(scores) :]
        random = {name: float(np.mean([draw[name] for draw in chance])) for name in self.chosen_metrics}
        of_each = {"random": random} | dict(zip(self.functions, means, strict=False))
        found = {
            excess_of(name, explainer): of_each[explainer][name] - random[name]
            for name in self.chosen_metrics for explainer in self.functions
        }  # fmt: skip
        judged = {
            "judged": len(np.unique(asked.owners)),
            "means": {name: defined(each) for name, each in of_each.items()},
        }
        return defined(found) | judged | self.settings


def excess_of(metric: str, explainer: str) -> str:
    """The name of an excess: "comprehensiveness_gradient_over_random"."""
    return f"{metric}_{explainer}_over_random".replace("-", "_")


def defined(values: Mapping[str, float]) -> dict[str, float | None]:
    """The values with None, which JSON knows, in place of NaN."""
    return {name: value if isfinite(value) else None for name, value in values.items()}


# Name -> measure. The name is that of an option of the command line, and of the numbers in metrics.json.
MEASURES: dict[str, Measure] = {"faithfulness": Faithfulness()}

Measures = Sequence[str] | Mapping[str, Measure]


def measures_named(measures: Measures) -> dict[str, Measure]:
    """The measures by name: those of `MEASURES`, or in a mapping measures of one's own, as Faithfulness(texts=50).

    Raises:
        InputError: a name is unknown, or one string is given.
    """
    if isinstance(measures, str):
        raise InputError(f"give a sequence of measures, not one string: for example [{measures!r}]")
    if isinstance(measures, Mapping):
        return dict(measures)
    for name in measures:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    return {name: MEASURES[name] for name in measures}


def check_measured(measures: Mapping[str, Measure], metrics: Mapping[str, Any], folder: object) -> None:
    """Raises an `InputError` if a finished run in a folder lacks a measure, or has one with other settings."""
    for name, wanted in measures.items():
        if name not in metrics:
            raise InputError(
                f"{folder} was run without --{name}, which is measured during a run: choose another --output"
            )
        for setting, value in wanted.settings.items():
            if (found := metrics[name].get(setting)) != value:
                raise InputError(
                    f"{folder} was run with {name}: {setting}={found!r}, not {value!r}: choose another --output"
                )
