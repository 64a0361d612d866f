"""Metrics of explanations: does the decision change when the words said to have made it are removed?

`METRICS` is the catalogue; `salience.evaluate` computes it for the explainers of a classifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from salience.errors import InputError, quoted, unknown
from salience.faithfulness.accuracy import accuracy_drop, post_hoc_accuracy
from salience.faithfulness.aopc import aopc
from salience.faithfulness.comprehensiveness import comprehensiveness, sufficiency
from salience.faithfulness.decision_flip import decision_flip
from salience.faithfulness.detection import detection_f1
from salience.faithfulness.leave_one_out import loo_tau
from salience.settings import COUNT

__all__ = ["METRICS", "Metric", "default_metrics", "metrics_named"]


@dataclass(frozen=True)
class Metric:
    """A number that says how good an explanation is.

    Args:
        compute: a function of an `Erasure`, that is of a judge, N texts and the scores of their words, that gives one
            value a text (N,), NaN where the metric is undefined. That of a name that ends in `@k` also takes the
            number of words `k`.
        unit: what the values count, such as "probability" or "percent".
        higher_is_better: whether a larger value speaks for the explanation.
        reference: the paper, with its arXiv id or DOI.
        needs: what must be known of the texts: their "labels", or "marks" of words (and labels).
        one_label: why the metric has no meaning where texts are multi-label; None if it has one there.
    """

    compute: Callable[..., np.ndarray]
    unit: str
    higher_is_better: bool
    reference: str
    needs: Literal["labels", "marks"] | None = None
    one_label: str | None = None

    @property
    def direction(self) -> str:
        return "higher is better" if self.higher_is_better else "lower is better"


DEYOUNG = "DeYoung et al. (2020), arXiv:1911.03429, section 4.2"
ZHOU = "Zhou et al. (Findings of ACL 2021), section 5.2"
RIGHT = "it counts texts whose one label is right"

METRICS = {
    "aopc": Metric(aopc, "percentage points", True, "Samek et al. (2016), arXiv:1509.06321"),
    "decision-flip": Metric(decision_flip, "words", False, "Serrano and Smith (2019), arXiv:1906.03731, section 5"),
    "comprehensiveness": Metric(comprehensiveness, "probability", True, DEYOUNG),
    "sufficiency": Metric(sufficiency, "probability", False, DEYOUNG),
    "accuracy-drop@k": Metric(accuracy_drop, "percentage points", True, f"{ZHOU}: AOPC", "labels", RIGHT),
    "post-hoc-accuracy@k": Metric(post_hoc_accuracy, "percent", True, ZHOU, "labels", RIGHT),
    "loo-tau": Metric(loo_tau, "rank correlation", True, "Jain and Wallace (2019), arXiv:1902.10186, section 4.1"),
    "detection@k": Metric(detection_f1, "percent", True, "Rei and Søgaard (2018), arXiv:1805.02214", "marks"),
}


def metrics_named(names: Iterable[str]) -> dict[str, Metric]:
    """The metrics by names such as "aopc" or "accuracy-drop@5", where `k` is given as a number."""
    if isinstance(names, str):
        raise InputError(f"give a sequence of metrics, not one string: for example [{names!r}]")
    return dict(map(_metric_named, names))


def default_metrics(count: int, known: Iterable[str] = (), several: bool = False) -> dict[str, Metric]:
    """All metrics that apply to texts of which "labels" or "marks" are `known`, at `count` words."""
    return metrics_named(
        name.replace("@k", f"@{count}")
        for name, metric in METRICS.items()
        if (metric.needs is None or metric.needs in known) and not (several and metric.one_label)
    )


def _metric_named(name: str) -> tuple[str, Metric]:
    stem, _, count = name.partition("@")
    if f"{stem}@k" in METRICS:
        if not (count.isascii() and count.isdecimal() and COUNT.fits(int(count[:9]))):
            raise InputError(
                f"metric {quoted(name)}: after the @ goes the number of words, {COUNT.words}, such as {stem}@5"
            )
        metric = METRICS[f"{stem}@k"]
        return f"{stem}@{int(count)}", replace(metric, compute=partial(metric.compute, k=int(count)))
    if name not in METRICS:
        raise unknown("metric", name, METRICS)
    return name, METRICS[name]
