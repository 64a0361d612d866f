"""The points of the curves of a run."""

from math import inf, nan

from salience.runs.results import history_of


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
