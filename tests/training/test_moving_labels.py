"""Labels that a student gives itself, with moving averages: against a slow loop over steps and numbers by hand."""

import math
from dataclasses import replace
from statistics import mean, variance

import numpy as np
import pytest
import torch
from test_unlabelled_labels import aligned_slowly, drawn, weights_slowly

from families import FAMILIES, batch
from salience.hooks.hooks import forward
from salience.training.self_training.moving import Averages, MovingLabels

PRIOR = [0.5, 0.3, 0.2]


def sharpened_slowly(rows):
    return [[value**2 / sum(each**2 for each in row) for value in row] for row in rows]


class Slowly:
    """The formulas of `moving.py`, number by number."""

    def __init__(self, prior, rows, decay):
        self.prior, self.decay = prior, decay
        self.shares = [mean(row[c] for row in rows) for c in range(len(prior))]
        confidences = [max(row) for row in aligned_slowly(rows, prior)]
        self.mean, self.variance = mean(confidences), variance(confidences)

    def label(self, rows):
        d = self.decay
        self.shares = [d * m + (1 - d) * mean(row[c] for row in rows) for c, m in enumerate(self.shares)]
        shifted = [[q * p / m for q, p, m in zip(row, self.prior, self.shares, strict=True)] for row in rows]
        found = [[value / sum(row) for value in row] for row in shifted]
        confidences = [max(row) for row in found]
        self.mean = d * self.mean + (1 - d) * mean(confidences)
        self.variance = d * self.variance + (1 - d) * variance(confidences)
        weights = [
            1.0 if each >= self.mean else math.exp(-((each - self.mean) ** 2) / (2 * self.variance / 4))
            for each in confidences
        ]
        return sharpened_slowly(found), weights


def test_labels_and_weights_over_three_steps():
    first, steps = drawn(20), [drawn(6) for _ in range(3)]
    averages, slowly = Averages(np.array(PRIOR), first, 0.7), Slowly(PRIOR, first.tolist(), 0.7)
    for rows in steps:
        labels, weights = averages.label(rows)
        expected = slowly.label(rows.tolist())
        np.testing.assert_allclose(labels, expected[0])
        np.testing.assert_allclose(weights, expected[1])
        assert np.ptp(weights) > 0.1
    np.testing.assert_allclose(averages.shares, slowly.shares)
    np.testing.assert_allclose(averages.confidence, [slowly.mean, slowly.variance])


def test_a_step_worked_by_hand():
    """Two texts after four; d = 1/2."""
    averages = Averages(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9], [0.7, 0.3], [0.3, 0.7]]), 0.5)
    np.testing.assert_allclose(averages.shares, [0.5, 0.5])
    np.testing.assert_allclose(averages.confidence, [0.8, 0.04 / 3])  # 0.9, 0.9, 0.7 and 0.7
    labels, weights = averages.label(np.array([[0.9, 0.1], [0.3, 0.7]]))
    np.testing.assert_allclose(averages.shares, [0.55, 0.45])
    first, second = (0.9 / 0.55) / (0.9 / 0.55 + 0.1 / 0.45), (0.7 / 0.45) / (0.3 / 0.55 + 0.7 / 0.45)
    assert (first, second) == pytest.approx((0.880435, 0.740385), abs=1e-6)
    np.testing.assert_allclose(labels[0, 0], first**2 / (first**2 + (1 - first) ** 2))
    centre = (0.8 + (first + second) / 2) / 2
    spread = (0.04 / 3 + (first - second) ** 2 / 2) / 2
    np.testing.assert_allclose(averages.confidence, [centre, spread])
    np.testing.assert_allclose(weights, [1, math.exp(-((second - centre) ** 2) / (spread / 2))])


def test_all_texts_in_every_step_are_labelled_as_by_a_teacher():
    """Then nothing is left of earlier steps."""
    moving = MovingLabels.beginning(np.array(PRIOR), drawn(8), 8, several=False)
    rows = drawn(8)
    labels, weights = moving.averages[0].label(rows)
    middle = aligned_slowly(rows.tolist(), PRIOR)
    np.testing.assert_allclose(labels, sharpened_slowly(middle))
    np.testing.assert_allclose(weights, weights_slowly(middle))


@pytest.mark.parametrize(("texts", "decay"), [(8, 0.6), (20, 0.0)])
def test_averages_reach_back_over_as_many_texts_as_there_are(texts, decay):
    moving = MovingLabels.beginning(np.array(PRIOR), drawn(20), texts, several=False)
    assert moving.averages[0].decay == pytest.approx(decay)


@pytest.fixture
def model():
    return FAMILIES["bert"](classes=3, dropout=0.3).double()


def own_texts():
    return replace(batch([4, 7, 2, 5, 3]), labels=None)


def test_the_model_labels_texts_as_they_are(model):
    """Without dropout, gradient or random numbers; every module keeps its mode."""
    first = drawn(20)
    moving = MovingLabels.beginning(np.array(PRIOR), first, 5, several=False)
    model.train()
    next(model.children()).eval()
    modes, state = [each.training for each in model.modules()], torch.get_rng_state()
    labels, weights = moving.of(model, own_texts())
    assert [each.training for each in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert not labels.requires_grad and (labels.dtype, weights.dtype) == (torch.float32, torch.float32)
    model.eval()
    logits = forward(model, own_texts()).tolist()
    rows = [[math.exp(value) / sum(math.exp(each) for each in row) for value in row] for row in logits]
    expected = Slowly(PRIOR, first.tolist(), 0.75).label(rows)
    np.testing.assert_allclose(labels, expected[0], atol=1e-6)
    np.testing.assert_allclose(weights, expected[1], atol=1e-6)


def test_each_of_several_labels_is_a_decision_of_its_own(model):
    model.config.problem_type = "multi_label_classification"
    prior, first = np.array([0.2, 0.5, 0.05]), np.random.default_rng(1).random((20, 3))
    moving = MovingLabels.beginning(prior, first, 5, several=True)
    labels, weights = moving.of(model, own_texts())
    model.eval()
    yes = 1 / (1 + np.exp(-forward(model, own_texts()).detach().numpy()))
    assert labels.shape == weights.shape == (5, 3)
    for label, share in enumerate(prior.tolist()):
        slowly = Slowly([1 - share, share], [[1 - each, each] for each in first[:, label].tolist()], 0.75)
        expected = slowly.label([[1 - each, each] for each in yes[:, label].tolist()])
        np.testing.assert_allclose(labels[:, label], [row[1] for row in expected[0]], atol=1e-6)
        np.testing.assert_allclose(weights[:, label], expected[1], atol=1e-6)


def test_a_step_that_overflows_moves_nothing():
    first, other, rows = drawn(20), drawn(6), drawn(6)
    averages, untouched = Averages(np.array(PRIOR), first, 0.7), Averages(np.array(PRIOR), first, 0.7)
    other[1] = np.nan
    labels, weight = averages.label(other)
    assert weight.tolist() == [0.0] * 6 and np.isfinite(labels).all()
    for found, expected in zip(averages.label(rows), untouched.label(rows), strict=True):
        np.testing.assert_array_equal(found, expected)
