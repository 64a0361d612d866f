"""On which rows a run is judged, and the scores there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.training.label_metrics import AT_THRESHOLDS
from salience.training.scoring import scoring_in


def judge_of(metrics: Mapping[str, Any]) -> str | None:
    """The rows that a run is judged on: "test", else "estimate", else "validation"; None if nothing was measured.

    The rows of an estimate are new to the models that predict them. Validation rows have chosen the checkpoint, so
    that their scores are too high.
    """
    if metrics.get("judged_on") == "test":
        return "test"
    return "estimate" if "estimate" in metrics else metrics.get("judged_on")


def judged_scores(metrics: dict) -> tuple[str, dict[str, dict]] | None:
    """The rows that a run is judged on, in words, and the scores on them by name: of the model and of the baselines.

    Which they are, `judge_of` says. The calibration error of an estimate is that after temperature scaling if the
    model is calibrated.

    Args:
        metrics: of the run, as metrics.json has them.

    Returns:
        None if nothing was measured.
    """
    judge = judge_of(metrics)
    if judge in ("test", "validation"):
        caution = ", on which the checkpoint was chosen" if judge == "validation" else ""
        own = with_thresholds("this model", metrics[judge])
        return f"{metrics['rows'][judge]:,} {judge} rows{caution}", own | metrics["baselines"]
    if judge == "estimate":
        estimate = metrics["estimate"]
        scaled = estimate["temperature_scaling"]["calibration_error_scaled"]
        own = estimate | ({"calibration_error": scaled} if estimate["calibrated"] and scaled is not None else {})
        return (
            f"estimate by {estimate['kind']}: {estimate['rows']:,} labelled rows, each new to the model",
            with_thresholds("models like this one", own) | estimate["baselines"],
        )
    return None


def baseline_ahead(models: Mapping[str, dict]) -> str:
    """A line that says which baseline has a higher main score than the model, and what to do; empty if none has.

    Args:
        models: as `judged_scores` gives them, the model first.
    """
    (name, own), *others = models.items()
    scoring = scoring_in(own)
    baselines = {each: scores[scoring.main] for each, scores in others if not each.startswith(name)}
    best = max(baselines, key=baselines.__getitem__)
    if baselines[best] <= own[scoring.main]:
        return ""
    return (
        f"{best} is ahead of {name}: {scoring.main_title} {baselines[best]:.3f}, and {own[scoring.main]:.3f} by the "
        "model. More rows, another --model or, if texts are cut, --long windows may change that"
    )


def at_thresholds(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of decisions by the thresholds of the labels, named as those at 0.5; empty if there are none."""
    return {name.removesuffix(AT_THRESHOLDS): value for name, value in scores.items() if name.endswith(AT_THRESHOLDS)}


def with_thresholds(name: str, scores: dict) -> dict[str, dict]:
    """The scores of a model by its name; and where thresholds of its labels decide otherwise than 0.5, those, too."""
    decided = at_thresholds(scores)
    differ = any(scores[each] != value for each, value in decided.items())
    return {name: scores} | ({f"{name}, thresholds of the labels": scores | decided} if differ else {})
