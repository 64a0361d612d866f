"""What a run found: the rows that it is judged on, the points of its curves, and its files."""

from math import inf, nan

import pytest

from salience.runs.results import history_of
from salience.runs.sentences import baseline_ahead, judge_of, judged_scores

BASELINES = {"majority class": {"accuracy": 0.4}}
ESTIMATE = {
    "kind": "folds:2", "rows": 1200, "accuracy": 0.8, "calibration_error": 0.2, "baselines": BASELINES,
    "calibrated": True, "temperature_scaling": {"calibration_error_scaled": 0.05},
}  # fmt: skip


def test_test_rows_come_first():
    scores = {"accuracy": 0.9, "calibration_error": 0.1}
    of_run = {"rows": {"training": 50, "test": 4000}, "test": scores, "judged_on": "test", "baselines": BASELINES}
    assert judged_scores(of_run | {"estimate": ESTIMATE}) == ("4,000 test rows", {"this model": scores} | BASELINES)


def test_validation_rows_have_chosen_the_checkpoint():
    of_run = {"rows": {"validation": 10}, "validation": {}, "judged_on": "validation", "baselines": BASELINES}
    rows, models = judged_scores(of_run)
    assert rows == "10 validation rows, on which the checkpoint was chosen" and next(iter(models)) == "this model"


@pytest.mark.parametrize(
    ("changed", "error"),
    [({}, 0.05), ({"calibrated": False}, 0.2), ({"temperature_scaling": {"calibration_error_scaled": None}}, 0.2)],
)
def test_an_estimate_is_of_other_models_and_scaled_as_the_model_is(changed, error):
    rows, models = judged_scores({"rows": {"training": 1200}, "estimate": ESTIMATE | changed})
    assert rows == "estimate by folds:2: 1,200 labelled rows, each new to the model"
    assert models == {"models like this one": ESTIMATE | changed | {"calibration_error": error}} | BASELINES


def test_a_baseline_that_is_ahead_is_named():
    own = {"accuracy": 0.6, "macro_f1": 0.5}
    models = {"this model": own, "majority class": {"accuracy": 0.4}, "TF-IDF": {"accuracy": 0.74}}
    assert baseline_ahead(models).startswith("TF-IDF is ahead of this model: accuracy 0.740, and 0.600 by the model. ")
    assert baseline_ahead(models | {"TF-IDF": {"accuracy": 0.6}}) == ""


def test_of_several_labels_the_rankings_are_compared():
    """The decisions by thresholds are those of the same model, and have the same rankings."""
    own = {"subset_accuracy": 0.1, "ranking_precision": 0.6}
    models = {
        "this model": own, "this model, thresholds of the labels": own | {"ranking_precision": 0.9},
        "shares": {"ranking_precision": 0.5}, "TF-IDF": {"ranking_precision": 0.7},
    }  # fmt: skip
    assert baseline_ahead(models).startswith("TF-IDF is ahead of this model: ranking precision 0.700, and 0.600")
    assert baseline_ahead(models | {"TF-IDF": own}) == ""


def test_nothing_is_measured():
    assert judged_scores({"rows": {"training": 3}}) is None


def test_an_estimate_comes_before_validation_rows_which_have_chosen_something():
    of_run = {"rows": {"validation": 10}, "validation": {}, "judged_on": "validation", "baselines": BASELINES}
    assert judge_of(of_run) == "validation" and judge_of(of_run | {"estimate": ESTIMATE}) == "estimate"
    assert judged_scores(of_run | {"estimate": ESTIMATE})[0].startswith("estimate by folds:2: ")
    assert judge_of(of_run | {"judged_on": "test", "estimate": ESTIMATE}) == "test"
    assert judge_of({"rows": {"training": 50}}) is None


def test_what_is_measured_at_one_step_is_one_point():
    logs = [
        {"loss": 0.7, "learning_rate": 1e-4, "epoch": 0.5, "step": 2},
        {"eval_accuracy": 0.5, "eval_macro_f1": 0.4, "eval_log_loss": 0.9, "eval_runtime": 3.1, "step": 2},
        {"loss": nan, "step": 4},
        {"eval_log_loss": inf, "step": 5},
        {"train_runtime": 8.0, "train_loss": 0.6, "step": 5},
    ]
    scores = {"validation_accuracy": 0.5, "validation_macro_f1": 0.4, "validation_log_loss": 0.9}
    assert history_of(logs) == [
        {"step": 2, "loss": 0.7} | scores,
        {"step": 4, "loss": None},
        {"step": 5, "validation_log_loss": None},
    ]
    assert history_of([]) == []
