"""Thresholds for a target precision: against a slow loop, and how often they keep it among simulated texts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binomtest
from sklearn.metrics import precision_recall_curve

from salience.scores.labels import ONE_LABEL
from salience.scores.thresholds import (
    Curve,
    find_thresholds,
    least_rows,
    lowest_threshold,
    one_row_of_each,
    pools,
    reachable_for_label,
    reachable_precision,
)


def slow_threshold(confidence: list[float], right: list[bool], target: float, error: float) -> float:
    """By the words: rows of equal confidence together, scipy's exact test, one candidate after the other."""
    rows = sorted(zip(confidence, right, strict=True), reverse=True)
    found = 1.0
    for cut in sorted({0.0, *confidence}, reverse=True):
        decided = [is_right for value, is_right in rows if value > cut]
        if len(decided) < len(rows) / 4 or target ** len(decided) > error:
            continue
        if binomtest(sum(decided), len(decided), target, alternative="greater").pvalue > error:
            break
        found = cut
    return found


@pytest.mark.parametrize("seed", range(12))
def test_against_a_slow_loop(seed):
    digits = (1, 2, 8)[seed % 3]
    random = np.random.default_rng(seed)
    confidence = random.beta(4, 1, size=random.integers(1, 300)).round(digits)
    right = random.random(len(confidence)) < 0.4 + 0.6 * confidence
    target, error = random.choice([0.6, 0.8, 0.9]), random.choice([0.05, 0.01])
    expected = slow_threshold(confidence.tolist(), right.tolist(), target, error)
    assert lowest_threshold(confidence, right, target, error) == expected


def test_worked_numbers():
    """0.95^59 = 0.0485 and 0.95^58 = 0.0510, so 59 right rows are enough; with one wrong row it takes 93."""
    assert least_rows(0.95) == 59 and 0.95**59 <= 0.05 < 0.95**58
    confidence = np.linspace(0.99, 0.6, 93)
    right = np.ones(93, bool)
    assert lowest_threshold(confidence[:58], right[:58], 0.95, 0.05) == 1
    assert lowest_threshold(confidence[:59], right[:59], 0.95, 0.05) == 0
    right[-1] = False
    assert lowest_threshold(confidence, right, 0.95, 0.05) == 0  # all 93
    assert lowest_threshold(confidence[1:], right[1:], 0.95, 0.05) == confidence[-1]  # all but the wrong one
    right[0] = False  # the first 59 rows have an error, and the sequence ends with them
    assert lowest_threshold(confidence, right, 0.95, 0.05) == 1


@pytest.mark.parametrize(("right", "rows"), [(59, 59), (92, 93), (91, 93), (180, 200)])
def test_a_candidate_passes_where_the_clopper_pearson_bound_does(right, rows):
    bound = beta.ppf(0.05, right, rows - right + 1)
    is_right = np.arange(rows) < right
    for target in (bound - 1e-6, bound + 1e-6):
        found = lowest_threshold(np.full(rows, 0.9), is_right, target, 0.05)
        assert found == (0.0 if target < bound else 1.0)


def violations(precision_of, draw, lowest, target: float, times: int = 600) -> float:
    """How often the true precision above the threshold is too low."""
    random = np.random.default_rng(0)
    failures = 0
    for _ in range(times):
        confidence, right = draw(random)
        threshold = lowest(confidence, right, target, 0.05)
        failures += threshold < 1 and precision_of(threshold) < target
    return failures / times


def naive(confidence: np.ndarray, right: np.ndarray, target: float, error: float) -> float:
    """The lowest threshold whose own test passes, as if it were the only one."""
    order = np.argsort(-confidence)
    below, rows = np.append(confidence[order], 0.0), np.arange(1, len(order) + 1)
    bounds = beta.ppf(error, hits := np.cumsum(right[order]), rows - hits + 1)
    passed = np.flatnonzero(bounds >= target)
    return float(below[passed[-1] + 1]) if len(passed) else 1.0


def test_the_certainty_where_confidence_says_nothing():
    """All texts are right with a probability just below the target: any threshold below 1 is a failure."""

    def draw(random):
        return random.random(200), random.random(200) < 0.899

    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)
    assert violations(lambda threshold: 0.899, draw, lowest_threshold, 0.9) <= limit
    assert violations(lambda threshold: 0.899, draw, naive, 0.9) > 2 * limit  # the test can fail


@pytest.mark.parametrize("rows", [60, 400])
def test_the_certainty_where_it_says_something(rows):
    """Confidence is uniform on [0, 1] and a text is right with its probability: (1 + t) / 2 above the threshold t."""

    def draw(random):
        confidence = random.random(rows)
        return confidence, random.random(rows) < confidence

    found = violations(lambda threshold: (1 + threshold) / 2, draw, lowest_threshold, 0.8)
    assert found <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


def test_the_certainty_of_all_pools_together():
    """Three classes, two of which have thresholds of their own; precision 0.79 each: no threshold is allowed."""
    random = np.random.default_rng(1)
    failures = 0
    for _ in range(400):
        predicted = random.choice(3, size=300, p=[0.45, 0.45, 0.1])
        probabilities = np.full((300, 3), 0.1)
        probabilities[np.arange(300), predicted] = 0.5 + random.random(300) / 2
        labels = np.where(random.random(300) < 0.79, predicted, (predicted + 1) % 3)
        failures += (find_thresholds(probabilities, labels, 0.8) < 1).any()
    assert failures / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_it_decides_nearly_all_that_it_could():
    """With 20,000 rows, nearly the share above the threshold 0.6, at which the precision is 0.8: 40 %."""
    random = np.random.default_rng(2)
    confidence = random.random(20_000)
    threshold = lowest_threshold(confidence, random.random(20_000) < confidence, 0.8, 0.05)
    assert 0.6 < threshold < 0.65


def test_frequent_classes_are_alone_and_the_others_have_enough_rows():
    predicted = np.repeat([0, 1, 2, 3], [50, 100, 5, 30])
    assert pools(predicted, 4, 30) == [
        [1],
        [0],
        [2, 3],
    ]  # 5 rows are too few, so the least frequent of the others joins
    assert pools(predicted, 4, 36) == [[1], [0, 2, 3]]
    assert pools(predicted, 4, 5) == [[1], [0], [3], [2]]
    assert pools(predicted, 4, 1000) == [[0, 1, 2, 3]]
    assert pools(predicted, 5, 5) == [[1], [0], [3], [2, 4]]  # nothing can be said of a class without rows


def test_a_class_that_is_often_wrong_has_a_higher_threshold():
    random = np.random.default_rng(0)
    predicted = np.repeat([0, 1], 400)
    confidence = 0.5 + random.random(800) / 2
    probabilities = np.stack([confidence, 1 - confidence], 1)
    probabilities[predicted == 1] = probabilities[predicted == 1, ::-1]
    right = np.where(predicted == 0, True, random.random(800) < 2 * confidence - 1)
    found = find_thresholds(probabilities, np.where(right, predicted, 1 - predicted), 0.8)
    assert found[0] == 0 and found[1] > 0.6


def test_what_is_reachable():
    """90 of 100 rows are right, whatever their confidence: the lower bound at 5 % is 0.836."""
    probabilities = np.tile([0.9, 0.1], (100, 1))
    labels = (np.arange(100) >= 90).astype(int)
    assert beta.ppf(0.05, 90, 11) == pytest.approx(0.8363, abs=1e-4)
    assert reachable_precision(probabilities, labels, 0.95) == 0.83
    assert reachable_precision(probabilities, labels, 0.83) == 0.82
    assert reachable_precision(probabilities, 1 - labels, 0.95) is None


def test_one_row_of_each_group():
    groups = np.array([3, 3, 1, 7, 3, 1])
    drawn = [one_row_of_each(groups, seed) for seed in range(40)]
    assert all(sorted(groups[rows]) == [1, 3, 7] and (np.diff(rows) > 0).all() for rows in drawn)
    assert {row for rows in drawn for row in rows.tolist()} == set(range(6))
    assert np.array_equal(drawn[3], one_row_of_each(groups, 3))


# ------------------------------------------------------------------------------------------------- one label's curve


def drawn(seed: int, rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities in float32 with ties, 0 and 1 among them, and whether the rows have the label."""
    random = np.random.default_rng(seed)
    probabilities = random.beta(0.5, 1, rows).round(1 + seed % 3).astype(np.float32)
    return probabilities, random.random(rows) < probabilities


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_is_that_of_scikit_learn(seed):
    probabilities, has_label = drawn(seed)
    precision, recall, values = precision_recall_curve(has_label, probabilities)
    curve = Curve.of(probabilities, has_label)
    assert curve.values.tolist() == values[::-1].tolist()
    numbers = [curve.numbers(place) for place in range(len(values))]
    assert [each["precision"] for each in numbers] == pytest.approx(precision[:-1][::-1])
    assert [each["recall"] for each in numbers] == pytest.approx(recall[:-1][::-1])
    for place, each in enumerate(numbers):
        predicted = (probabilities >= curve.values[place]).sum()
        assert (each["predicted"], each["share"]) == (predicted, predicted / 200)
        assert each["share_interval"] == pytest.approx(proportion_confint(predicted, 200))


def proportion_confint(count: int, rows: int) -> tuple[float, float]:
    """scipy's interval of Wilson."""
    found = binomtest(int(count), rows).proportion_ci(method="wilson")
    return found.low, found.high


@pytest.mark.parametrize("seed", range(6))
def test_a_threshold_is_the_shortest_number_that_decides_as_its_candidate(seed):
    probabilities, has_label = drawn(seed)
    curve = Curve.of(probabilities, has_label)
    for place, value in enumerate(curve.values):
        threshold = curve.threshold(place)
        assert 0 <= threshold < 1
        decided = probabilities.astype(float) >= threshold
        assert (decided == (probabilities.astype(float) >= value)).all()
        decimals = len(repr(threshold).partition(".")[2])
        for fewer in range(1, decimals):
            assert not any(
                (probabilities.astype(float) >= number / 10**fewer).tolist() == decided.tolist()
                for number in range(1, 10**fewer)
            )
    assert Curve.of(np.array([0.97, 0.3]), np.array([True, False])).threshold(-1) == 0.99


@pytest.mark.parametrize("costs", [(1, 20), (20, 1), (1, 1), (0, 1), (1, 0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_lowest_cost_is_that_of_a_slow_loop(seed, costs):
    probabilities, has_label = drawn(seed)
    if seed == 0:
        probabilities = np.minimum(probabilities, np.float32(0.9))  # then all rows can be left out
    found = []
    for threshold in sorted({float(value) for value in probabilities} | {0.999}):
        if threshold < 1:
            total = 0.0
            for value, right in zip(probabilities.tolist(), has_label.tolist(), strict=True):
                total += costs[0] * (value >= threshold and not right) + costs[1] * (value < threshold and right)
            found.append(total / len(has_label))
    curve = Curve.of(probabilities, has_label)
    place = curve.for_cost(*costs)
    assert curve.costs(*costs)[place + 1] == pytest.approx(min(found))
    predicted = probabilities.astype(float) >= curve.threshold(place)
    mean = np.where(predicted, costs[0] * ~has_label, costs[1] * has_label).mean()
    assert mean == pytest.approx(min(found))


@pytest.mark.parametrize("recall", [0.01, 0.5, 0.9, 1.0])
def test_the_highest_threshold_of_a_recall(recall):
    for seed in range(3):
        probabilities, has_label = drawn(seed)
        curve = Curve.of(probabilities, has_label)
        found = {value: has_label[probabilities >= np.float32(value)].sum() for value in probabilities.tolist()}
        reached = [value for value, right in found.items() if right / has_label.sum() >= recall]
        assert curve.values[curve.for_recall(recall)] == max(reached)


@pytest.mark.parametrize("target", [0.5, 0.7, 0.8])
def test_the_threshold_of_a_precision_passes_the_test_by_a_slow_loop(target):
    for seed in range(4):
        probabilities, has_label = drawn(seed, 300)
        usual = int((probabilities >= 0.5).sum())
        expected = None
        for value in sorted({*probabilities.tolist()}, reverse=True):
            decided = has_label[probabilities >= np.float32(value)]
            if len(decided) < usual / 4 or target ** len(decided) > 0.05:
                continue
            if binomtest(int(decided.sum()), len(decided), target, alternative="greater").pvalue > 0.05:
                break
            expected = value
        place = Curve.of(probabilities, has_label).for_precision(probabilities, has_label, target, usual)
        assert (None if place is None else Curve.of(probabilities, has_label).values[place]) == expected


def test_what_one_label_can_reach():
    """29 right rows of 30: the lower bound at 5 % is 0.851."""
    probabilities, has_label = np.full(30, 0.9), np.arange(30) > 0
    assert beta.ppf(0.05, 29, 2) == pytest.approx(0.8514, abs=1e-4)
    assert reachable_for_label(probabilities, has_label, 0.95, 30) == 0.85
    assert reachable_for_label(probabilities, ~has_label & False, 0.95, 30) is None


def test_a_label_is_predicted_from_its_threshold_on():
    random = np.random.default_rng(0)
    probabilities = random.dirichlet(np.ones(4), 300).round(1).astype(np.float32)
    for threshold in (0.0, 0.1, 0.3, 0.7):
        decided = ONE_LABEL.decisions(probabilities, np.array([np.nan, np.nan, threshold, np.nan]))
        assert (decided.sum(1) == 1).all()
        for row, found in zip(probabilities.tolist(), decided.argmax(1).tolist(), strict=True):
            others = [row[0], row[1], -1, row[3]]
            assert found == (2 if row[2] >= threshold else others.index(max(others)))
    usual = ONE_LABEL.decisions(probabilities)
    assert (ONE_LABEL.decisions(probabilities, np.full(4, 0.5)) == usual).all()
    assert (usual.argmax(1) == probabilities.argmax(1)).all()
