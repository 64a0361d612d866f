"""Successive halving: which candidates go on, what is compared, and when the baseline stays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss

from salience.training.halving import affordable, candidates_of_rounds, cost_of, halve, row_losses

LABELS = np.random.default_rng(0).integers(0, 3, 200)


def predictions(skill: float, seed: int, spread: float = 1.0) -> np.ndarray:
    """Probabilities (200, 3) of a model that knows the labels the better the larger its skill is."""
    noise = np.random.default_rng(seed).normal(size=(200, 3))
    return softmax((noise + skill * np.eye(3)[LABELS]) * spread, axis=1)


def halves(number: int) -> np.ndarray:
    """The rows of a round: each two rounds are the halves of a division of its own."""
    order = np.random.default_rng(number // 2).permutation(200)
    return order[number % 2 :: 2]


def compared(skills: dict[str, float], labels=LABELS, spread: float = 1.0):
    asked = []

    def predict(name, number):
        asked.append((name, number))
        rows = halves(number)
        return rows, predictions(skills[name], seed=100 * list(skills).index(name) + number, spread=spread)[rows]

    baseline, *others = skills
    return halve(baseline, others, predict, labels), asked


@pytest.mark.parametrize(
    ("count", "rounds"), [(1, [1, 1]), (2, [2, 1]), (3, [3, 2, 1]), (4, [4, 2, 1]), (9, [9, 5, 3, 2, 1])]
)
def test_half_of_the_candidates_go_on(count, rounds):
    assert candidates_of_rounds(count) == rounds


def test_the_cost_is_that_of_the_dearest_candidates():
    """Rounds of 3, 2 and 1 candidates; the baseline takes part in all of them."""
    assert cost_of([1.0, 2.0, 4.0], 0.5) == pytest.approx(7 + 6 + 4 + 3 * 0.5)


@pytest.mark.parametrize(("budget", "count"), [(2.9, 0), (3.0, 1), (9.9, 1), (10.0, 2), (16.4, 2), (16.5, 3)])
def test_a_budget_admits_candidates_in_their_order(budget, count):
    """One: 1 + 1 + 2 * 0.5 = 3. Two: 5 + 4 + 2 * 0.5 = 10. Three: 6 + 5 + 4 + 3 * 0.5 = 16.5."""
    assert affordable([1.0, 4.0, 1.0], 0.5, budget) == count


def test_the_best_candidate_is_chosen_and_the_worse_half_is_not_asked_again():
    choice, asked = compared({"plain": 1.0, "bad": 0.2, "good": 2.5, "fair": 1.5, "poor": 0.5})
    assert choice.chosen == choice.rival == "good"
    assert [sorted(names) for names in choice.rounds] == [
        ["bad", "fair", "good", "plain", "poor"], ["fair", "good", "plain"], ["good", "plain"]
    ]  # fmt: skip
    assert asked == [(name, number) for number, names in enumerate(choice.rounds) for name in names]


def test_plain_stays_where_the_rival_is_not_better_beyond_chance():
    """The rival's gain on 200 rows is small beside its standard error; with ten times the skill it is not."""
    near, _ = compared({"plain": 1.0, "rival": 1.02})
    assert near.chosen == "plain" and near.rival == "rival"
    assert near.difference < 1.645 * near.standard_error
    far, _ = compared({"plain": 1.0, "rival": 3.0})
    assert far.chosen == "rival" and far.difference > 1.645 * far.standard_error


def test_the_difference_is_that_of_the_losses_of_rows_with_its_standard_error():
    found = {name: {} for name in ("plain", "rival")}

    def predict(name, number):
        rows = halves(number)
        found[name].update(zip(rows.tolist(), predictions(1.0 + (name == "rival"), number)[rows], strict=True))
        return rows, predictions(1.0 + (name == "rival"), number)[rows]

    choice = halve("plain", ["rival"], predict, LABELS)
    losses = {}
    for name, rows in found.items():
        logs = np.log(np.array([rows[row] for row in range(200)]))

        def loss(log_t, logs=logs):
            return log_loss(LABELS, softmax(logs / np.exp(log_t), axis=1))

        best = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-8}).x
        losses[name] = -log_softmax(logs / np.exp(best), axis=1)[np.arange(200), LABELS]
        assert choice.rounds[-1][name] == pytest.approx(losses[name].mean(), abs=1e-5)
    gains = losses["plain"] - losses["rival"]
    assert choice.difference == pytest.approx(gains.mean(), abs=1e-5)
    assert choice.standard_error == pytest.approx(gains.std(ddof=1) / 200**0.5, abs=1e-5)


def test_confidence_alone_does_not_decide():
    """The same predictions, five times as sure: a temperature takes it away again."""
    rows = np.arange(200)
    even = row_losses([(rows, predictions(2.0, 1))], LABELS)
    sure = row_losses([(rows, predictions(2.0, 1, spread=5.0))], LABELS)
    np.testing.assert_allclose(sure, even, atol=1e-4)
    untempered = [log_loss(LABELS, predictions(2.0, 1, spread=spread)) for spread in (1.0, 5.0)]
    assert untempered[1] > 1.3 * untempered[0]


def test_a_row_that_is_predicted_twice_counts_once():
    first, second = predictions(1.0, 1), predictions(1.0, 2)
    half = np.arange(100)
    both = row_losses([(half, first[:100]), (half, second[:100])], LABELS)
    assert len(both) == 100
    logs = np.log(np.concatenate([first[:100], second[:100]]))
    twice = np.concatenate([LABELS[:100]] * 2)
    scaled = minimize_scalar(
        lambda t: log_loss(twice, softmax(logs / np.exp(t), axis=1)), bounds=(-3, 3), method="bounded"
    ).x
    losses = -log_softmax(logs / np.exp(scaled), axis=1)[np.arange(200), twice]
    np.testing.assert_allclose(both, (losses[:100] + losses[100:]) / 2, atol=1e-3)


def test_the_standard_error_is_that_of_groups():
    """By a loop over the groups (Liang and Zeger, 1986), where rows of a group gain and lose together."""
    groups = np.random.default_rng(3).permutation(np.repeat(np.arange(20), 10))
    shift = np.random.default_rng(4).normal(size=(20, 3))[groups]
    found = {"plain": predictions(1.0, 1), "rival": softmax(np.log(predictions(1.2, 1)) + shift, axis=1)}

    def predict(name, number):
        return halves(number), found[name][halves(number)]

    over_rows, over_groups = (halve("plain", ["rival"], predict, LABELS, each) for each in (None, groups))
    parts = {name: [predict(name, number) for number in range(2)] for name in found}
    gains = row_losses(parts["plain"], LABELS) - row_losses(parts["rival"], LABELS)
    squares = 0.0
    for group in range(20):
        squares += sum(gains[row] - gains.mean() for row in range(200) if groups[row] == group) ** 2
    assert over_groups.standard_error == pytest.approx((20 / 19 * squares) ** 0.5 / 200)
    assert over_groups.standard_error > 1.2 * over_rows.standard_error
    assert over_groups.difference == over_rows.difference
