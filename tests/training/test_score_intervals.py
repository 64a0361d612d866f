"""The intervals of log loss and calibration error, against slow loops and against new draws of the rows."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from salience.scores.intervals import RESAMPLES, calibration_error_interval, log_loss_interval
from salience.scores.metrics import calibration_error


def rows(count: int, seed: int, sharper: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of three classes (N, 3), and labels that are drawn from them, if they are not made sharper."""
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.ones(3), count)
    labels = np.array([generator.choice(3, p=row) for row in probabilities])
    powers = probabilities**sharper
    return powers / powers.sum(1, keepdims=True), labels


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(20), 3)])
def test_they_are_those_of_a_slow_loop(groups):
    probabilities, labels = rows(60, seed=0, sharper=3.0)
    numbers = np.arange(60) if groups is None else groups
    generator, losses, errors = np.random.default_rng(7), [], []
    for _ in range(RESAMPLES):
        drawn = generator.integers(numbers.max() + 1, size=numbers.max() + 1)
        chosen = np.concatenate([np.flatnonzero(numbers == number) for number in drawn])
        losses.append(log_loss(labels[chosen], probabilities[chosen], labels=[0, 1, 2]))
        errors.append(calibration_error(probabilities[chosen], labels[chosen]))
    assert log_loss_interval(probabilities, labels, groups, 7) == pytest.approx(np.quantile(losses, [0.025, 0.975]))
    low, high = np.quantile(errors, [0.025, 0.975])
    own = calibration_error(probabilities, labels)
    assert calibration_error_interval(probabilities, labels, groups, 7) == pytest.approx(
        [max(2 * own - high, 0), 2 * own - low]
    )


def test_they_cover_the_truth_about_as_often_as_they_say():
    """The truth is the score of very many rows; 95 % of 60 intervals are 57, and fewer than 48 would be no chance."""
    many = rows(200_000, seed=1, sharper=3.0)
    truth = {log_loss_interval: log_loss(many[1], many[0]), calibration_error_interval: calibration_error(*many)}
    covered = dict.fromkeys(truth, 0)
    for seed in range(60):
        sample = rows(300, seed=100 + seed, sharper=3.0)
        for interval, value in truth.items():
            low, high = interval(*sample, None)
            covered[interval] += low <= value <= high
    assert all(count >= 48 for count in covered.values()), covered.values()


def test_one_row_and_one_group_have_no_interval():
    probabilities, labels = rows(4, seed=2)
    for interval in (log_loss_interval, calibration_error_interval):
        assert interval(probabilities[:1], labels[:1], None) is None
        assert interval(probabilities, labels, np.zeros(4, int)) is None
