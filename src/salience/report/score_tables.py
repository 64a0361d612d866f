"""The table of scores of a run: the model with 95 % intervals, and the baselines."""

from __future__ import annotations

from typing import Any

from salience.models.thresholds import HALF
from salience.report.run_words import CORRECTED, intervals_in_words
from salience.training.calibration_evidence import Calibration
from salience.training.finished_run import FinishedRun, JudgedRows
from salience.training.label_intervals import label_scores_of_rows
from salience.training.score_intervals import Score, scores_of_rows
from salience.training.scoring import OF_SEVERAL

SCORES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "log_loss": "log loss",
          "calibration_error": "calibration error"}  # fmt: skip


def score_parts(run: FinishedRun, judged: JudgedRows, calibration: Calibration) -> dict[str, Any]:
    """What the page shows of the scores.

    Returns:
        "heads" and "rows", the table; "intervals", how these were made; and "several", whether a text can have several
        labels.
    """
    several = judged.decided is not None
    shown = OF_SEVERAL.shown if several else SCORES
    models = model_scores(judged, calibration, int(run.recipe["seed"]))
    rows = [(name, [score_cell(scores[each]) for each in shown]) for name, scores in models.items()]
    metrics = run.metrics["estimate"] if judged.kind == "estimate" else run.metrics
    for baseline, values in metrics["baselines"].items():
        rows.append((baseline, [(f"{values[score]:.3f}" if score in values else "-", "") for score in shown]))
    beside = any(not_within(scores["calibration_error"]) for scores in models.values())
    return {
        "heads": list(shown.values()), "rows": rows,
        "intervals": intervals_in_words(judged, calibration) + CORRECTED * beside, "several": several,
    }  # fmt: skip


def model_scores(judged: JudgedRows, calibration: Calibration, seed: int) -> dict[str, dict[str, Score]]:
    """The scores of the model by name, also of what it would be without temperature or thresholds of the labels.

    Args:
        seed: of the bootstrap.
    """
    name = "models like this one" if judged.kind == "estimate" else "this model"
    deployed, labels, groups = calibration.deployed, judged.labels, judged.groups
    if judged.decided is None:
        found = {name: scores_of_rows(deployed, labels, groups, seed)}
        if deployed is not judged.probabilities:
            found[f"{name}, before the temperature"] = scores_of_rows(judged.probabilities, labels, groups, seed)
        return found
    decisions = {name: deployed >= HALF}
    if (judged.decided != decisions[name]).any():
        decisions[f"{name}, thresholds of the labels"] = judged.decided
    return {each: label_scores_of_rows(deployed, labels, decided, groups, seed) for each, decided in decisions.items()}


def not_within(score: Score) -> bool:
    """Whether a score is outside its own interval, as a reader of the table sees it: with three digits."""
    if score.interval is None:
        return False
    low, value, high = (round(number, 3) for number in (score.interval[0], score.value, score.interval[1]))
    return not low <= value <= high


def score_cell(score: Score) -> tuple[str, str]:
    """The value of a score, and its interval as a text, empty if there is none."""
    value, interval = score
    return f"{value:.3f}", "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
