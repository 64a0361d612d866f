"""What the rows that a run is judged on say of its probabilities, before and after the temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.training.finished_run import FinishedRun
from salience.training.scoring import scoring_of

# How "after" was obtained, or "before" where the model has the temperature already.
FOLDED, VALIDATION, HALVES = "folded into the model", "validation rows", "halves"


@dataclass(frozen=True)
class Calibration:
    """Probabilities of the judged rows, all (N, C).

    Attributes:
        before: without the temperature.
        after: with it; None if there are too few rows.
        temperature: of the run; None if each half of the rows has its own and none is stored.
        source: `FOLDED`, the model of the run has the temperature of the estimate, which was taken out again for
            `before`; `VALIDATION`, it was fitted on the validation rows; `HALVES`, each half of the rows is scaled by
            the temperature of the other half.
        deployed: the probabilities that stand for those of the model in the run folder.
    """

    before: np.ndarray
    after: np.ndarray | None
    temperature: float | None
    source: str
    deployed: np.ndarray


def calibration_of(run: FinishedRun) -> Calibration:
    """The probabilities of the judged rows before and after the temperature.

    Raises:
        ValueError: the run is judged on no rows.
    """
    judged, metrics = run.judged, run.metrics
    if judged is None:
        raise ValueError("the run is judged on no rows")
    own, labels = judged.probabilities, judged.labels
    scoring, estimate = scoring_of(labels), metrics.get("estimate", {})
    calibrated = bool(estimate.get("calibrated"))
    if judged.kind == "estimate":
        after = scoring.cross_scaled(own, labels, judged.groups, int(run.recipe["seed"]))
        deployed = after if calibrated and after is not None else own
        return Calibration(own, after, estimate["temperature_scaling"]["temperature"], HALVES, deployed)
    if calibrated:
        temperature = estimate["temperature_scaling"]["temperature"]
        return Calibration(scoring.with_temperature(own, 1 / temperature), own, temperature, FOLDED, own)
    if judged.kind == "test" and "validation" in metrics:
        temperature = metrics["temperature_scaling"]["temperature"]
        return Calibration(own, scoring.with_temperature(own, temperature), temperature, VALIDATION, own)
    temperature = metrics.get("temperature_scaling", {}).get("temperature")
    return Calibration(own, scoring.cross_scaled(own, labels), temperature, HALVES, own)
