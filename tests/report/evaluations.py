"""Evaluations of explainers that are made up."""

import numpy as np

from salience.faithfulness import Metric, metrics_named
from salience.faithfulness.results import Estimate, Evaluation, Row

NAMES = ["attention", "gradient", "gradient-x-input", "integrated-gradients", "occlusion", "random"]
MOST = 20


def row(name: str, level: float = 0.5, most: int = MOST, **metrics) -> Row:
    """An explainer whose curves fall to `level` and rise from it."""
    falling = np.linspace(0.9, level, most + 1)
    metrics = metrics or {"accuracy-drop@5": (12.345, 10.0, 14.5), "decision-flip": (7.0, 6.25, 8.125),
                          "loo-tau": (-0.5, -1, 0)}  # fmt: skip
    return Row(name, estimates(metrics), {}, falling, np.array([0.9, *falling[:0:-1]]), {})


def estimates(metrics) -> dict[str, Estimate]:
    return {name: Estimate(*values) for name, values in metrics.items()}


def evaluation_of(rows) -> Evaluation:
    """The catalogue's metrics; what it does not know is taken to be something in percent."""
    strange = Metric(lambda erasure: np.zeros(0), "<i>percent & more</i>", True, "")
    known = metrics_named(["accuracy-drop@5", "decision-flip", "loo-tau", "aopc"])
    return Evaluation(rows, {name: known.get(name, strange) for name in rows[0].metrics})


ROWS = [row(name, 0.2 + 0.1 * number) for number, name in enumerate(NAMES)]
