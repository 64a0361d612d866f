"""The estimate of a run in words, for the terminal and the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salience.training.calibrating import calibration_sentence
from salience.training.scoring import scoring_in


def estimate_sentences(metrics: dict) -> list[str]:
    """What the estimate of a run says, in which direction it errs, and what it has set; sentences without full stops.

    Empty if the run has no estimate.

    Args:
        metrics: of the run, as metrics.json has them.
    """
    if "estimate" not in metrics:
        return []
    estimate = metrics["estimate"]
    units, labelled = "rows", f"{estimate['rows']:,} labelled rows"
    if "groups" in estimate:
        units, labelled = "groups", f"{labelled} of {estimate['groups']:,} groups"
    found = [
        f"estimated on {labelled} by {estimate['kind']}: {with_intervals(estimate)} (95 % intervals over {units})",
        rows_sentence(estimate["training_rows"], metrics["rows"]["training"]),
    ]
    share = estimate.get("trained_share", 1.0)  # it is there where the estimate has chosen it
    if share != 1:
        found.append(share_sentence(share))
    if estimate["calibrated"]:
        found.append(calibration_sentence(estimate["temperature_scaling"]))
    return found


def rows_sentence(of_models: Sequence[int], of_run: int) -> str:
    """On how many rows the models of an estimate are trained, beside the model of the run.

    Args:
        of_models: the training rows of each of them.
        of_run: those of the run's own model.
    """
    least, most = min(of_models), max(of_models)
    rows = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    better = ", and is likely to be better" * (of_run > most)
    return f"the models of the estimate are trained on {rows} rows; the saved model is trained on {of_run:,}{better}"


def share_sentence(share: float) -> str:
    """Which weights between those before and after its training a model has."""
    return (
        f"the saved weights are {share:.0%} of the way from those before training to the trained ones: with them, "
        "these rows are predicted better"
    )


def with_intervals(scores: Mapping[str, Any]) -> str:
    """The two scores that have intervals: "accuracy 0.842 [0.758, 0.901], macro-F1 0.830 [0.741, 0.893]"."""
    return ", ".join(f"{title} {with_interval(scores, name)}" for name, title in scoring_in(scores).estimated.items())


def with_interval(scores: Mapping[str, Any], score: str) -> str:
    """A score with its interval, if it has one: "0.842 [0.758, 0.901]"."""
    bounds = scores[f"{score}_interval"]
    interval = "" if bounds is None else f" [{bounds[0]:.3f}, {bounds[1]:.3f}]"
    return f"{scores[score]:.3f}{interval}"
