"""The estimate of a run in words, for the terminal and the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.training.calibrating import calibration_sentence
from salience.training.scoring import scoring_in


def estimate_sentence(metrics: dict) -> str:
    """What the estimate of a run says, and in which direction it errs, in one line.

    Args:
        metrics: of the run, as metrics.json has them.
    """
    estimate, trained = metrics["estimate"], metrics["rows"]["training"]
    seen = sorted(set(estimate["training_rows"]))
    rows = f"{seen[0]:,}" if len(seen) == 1 else f"{seen[0]:,} to {seen[-1]:,}"
    unit = "rows" if "groups" not in estimate else f"rows of {estimate['groups']:,} groups"
    calibrated = f"; {calibration_sentence(estimate['temperature_scaling'])}" * estimate["calibrated"]
    share = estimate.get("trained_share", 1.0)  # earlier runs have none
    chosen = "" if share == 1 else f"; {share_words(share)}"
    told = ", ".join(
        f"{title} {with_interval(estimate, name)}" for name, title in scoring_in(estimate).estimated.items()
    )
    return (
        f"estimated on {estimate['rows']:,} labelled {unit} by {estimate['kind']}: {told} (95 % intervals over "
        f"{'groups' if 'groups' in estimate else 'rows'}), by models trained on {rows} rows; the model itself is "
        f"trained on {trained:,}{', and is likely to be a little better' * (trained > seen[-1])}{chosen}{calibrated}"
    )


def share_words(share: float) -> str:
    """Which weights between those before and after its training a model has."""
    return (
        f"its weights are {share:.0%} trained ones and {1 - share:.0%} those before training, with which these rows "
        "are predicted better"
    )


def with_interval(estimate: Mapping[str, Any], score: str) -> str:
    """A score with its interval, if it has one: "0.842 [0.758, 0.901]"."""
    bounds = estimate[f"{score}_interval"]
    interval = "" if bounds is None else f" [{bounds[0]:.3f}, {bounds[1]:.3f}]"
    return f"{estimate[score]:.3f}{interval}"
