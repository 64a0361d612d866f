"""The simulation of `--method auto`: what it takes for better and for worse, and the log loss it counts with."""

import math

import numpy as np
import pytest

from auto_choice import OF_MODEL, OF_ROUND, OF_TEXT, choices, chosen, true_log_loss


def test_a_far_better_method_is_chosen_and_a_hopeless_one_is_not():
    assert choices((0.5, 6.0, 0.5, 0.5), 100, 10).tolist() == [6.0] * 10
    assert np.isnan(choices((0.0, 0.0), 100, 10)).all()


def test_methods_that_are_equal_are_seldom_chosen():
    found = choices((2.0, 2.0, 2.0, 2.0), 50, 60)
    assert 0 <= (~np.isnan(found)).sum() <= 18  # 5 % for a single one, and the best of four is looked at


def test_all_rows_are_predicted_in_two_rounds():
    choice = chosen((2.0,), 60, seed=1)
    assert len(choice.rounds) == 2 and set(choice.rounds[-1]) == {"plain", "method 0"}


def test_the_true_log_loss_is_the_mean_over_texts_at_the_best_temperature():
    """By a grid of temperatures over texts that are drawn anew."""
    random = np.random.default_rng(7)
    labels = random.integers(0, 3, 20_000)
    noise = random.normal(0, math.hypot(OF_TEXT, OF_ROUND, OF_MODEL), (20_000, 3))
    logits = 2.0 * np.eye(3)[labels] + noise
    losses = []
    for temperature in np.linspace(0.5, 4, 71):
        scaled = logits / temperature
        losses.append((np.log(np.exp(scaled).sum(1)) - scaled[np.arange(20_000), labels]).mean())
    assert true_log_loss(2.0) == pytest.approx(min(losses), abs=0.015)
    assert true_log_loss(1.7) > true_log_loss(2.0) > true_log_loss(2.4)
