"""Labels of texts without labels: every formula against a slow loop, and numbers worked by hand."""

import math
from statistics import mean, variance

import numpy as np
import pytest

from salience.training.self_training.aligning import aligned
from salience.training.self_training.blending import blended
from salience.training.self_training.labelling import labelled, labelled_sets, read_labels, write_labels
from salience.training.self_training.sharpening import sharpened
from salience.training.self_training.weighting import weights

RANDOM = np.random.default_rng(0)


def drawn(rows: int = 7, classes: int = 3) -> np.ndarray:
    return RANDOM.dirichlet(np.full(classes, 0.7), rows)


def test_a_blend_of_two_rows():
    found = blended(np.array([[0.9, 0.1]]), np.array([[0.3, 0.7]]), 0.25)
    np.testing.assert_allclose(found, [[0.45, 0.55]])
    np.testing.assert_allclose(blended(np.array([[0.9, 0.1]]), np.array([[0.3, 0.7]])), [[0.6, 0.4]])


def aligned_slowly(rows, prior):
    classes = range(len(prior))
    means = [sum(row[c] for row in rows) / len(rows) for c in classes]
    found = []
    for row in rows:
        shifted = [row[c] * prior[c] / means[c] for c in classes]
        found.append([value / sum(shifted) for value in shifted])
    return found


def test_aligned_probabilities():
    rows, prior = drawn(), np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(aligned(rows, prior), aligned_slowly(rows.tolist(), prior.tolist()))
    np.testing.assert_allclose(aligned(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0.5, 0.5])),
                               [[8 / 11, 3 / 11], [4 / 13, 9 / 13]])  # fmt: skip


def test_rows_of_the_prior_itself_stay_as_they_are():
    prior = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(aligned(np.tile(prior, (4, 1)), prior), np.tile(prior, (4, 1)))


def test_a_class_that_no_text_is_given_stays_without_texts():
    """A class without a labelled row, too; a text that only such a class admits keeps its row."""
    rows = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    found = aligned(rows, np.array([0.5, 0.0, 0.5]))
    np.testing.assert_allclose(found, [[1, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_sharpened_probabilities():
    rows = drawn()
    for temperature in (0.5, 0.2, 1.0):
        expected = [
            [value ** (1 / temperature) / sum(each ** (1 / temperature) for each in row) for value in row]
            for row in rows.tolist()
        ]
        np.testing.assert_allclose(sharpened(rows, temperature), expected)
    np.testing.assert_allclose(sharpened(np.array([[0.75, 0.25]])), [[0.9, 0.1]])


def weights_slowly(rows):
    confidences = [max(row) for row in rows]
    centre, spread = mean(confidences), variance(confidences)
    return [1.0 if each >= centre else math.exp(-((each - centre) ** 2) / (2 * spread / 2**2)) for each in confidences]


def test_weights_fall_with_the_confidence():
    rows = drawn(20)
    found = weights(rows)
    np.testing.assert_allclose(found, weights_slowly(rows.tolist()))
    assert np.ptp(found) > 0.3
    in_order = found[rows.max(1).argsort()]
    assert (np.diff(in_order) >= 0).all()


@pytest.mark.parametrize("rows", [[[0.6, 0.4]], [[0.6, 0.4], [0.4, 0.6]]])
def test_texts_of_one_confidence_have_the_weight_1(rows):
    np.testing.assert_array_equal(weights(np.array(rows)), np.ones(len(rows)))


def test_labels_are_blended_aligned_and_sharpened():
    first, second, prior = drawn(9), drawn(9), np.array([0.2, 0.2, 0.6])
    found = labelled(first.astype(np.float32), second.astype(np.float32), prior, 5)
    pairs = zip(first, second, strict=True)
    middle = aligned_slowly([[(a + b) / 2 for a, b in zip(*rows, strict=True)] for rows in pairs], prior)
    expected = [[value**2 / sum(each**2 for each in row) for value in row] for row in middle]
    np.testing.assert_allclose(found.labels, expected, atol=1e-6)
    np.testing.assert_allclose(found.weights, weights_slowly(middle), atol=1e-6)
    same = [row.index(max(row)) for row in first.tolist()], [row.index(max(row)) for row in second.tolist()]
    assert found.agreement == pytest.approx(sum(a == b for a, b in zip(*same, strict=True)) / 9)
    assert (found.labels.dtype, found.weights.dtype, found.teacher_steps) == (np.float32, np.float32, 5)


def test_of_several_labels_each_is_labelled_as_no_and_yes():
    """By the formulas of docs/unlabelled.md, for two classes each."""
    first, second, prior = RANDOM.random((9, 3)), RANDOM.random((9, 3)), [0.2, 0.5, 0.05]
    found = labelled_sets(first, second, np.array(prior), 5)
    for label, share in enumerate(prior):
        both = zip(first[:, label].tolist(), second[:, label].tolist(), strict=True)
        yes = [(p + q) / 2 for p, q in both]
        mean_yes = sum(yes) / 9
        odds = [b / (1 - b) * (share / mean_yes) * (1 - mean_yes) / (1 - share) for b in yes]
        np.testing.assert_allclose(found.labels[:, label], [o**2 / (1 + o**2) for o in odds], atol=1e-6)
        middle = [[1 / (1 + o), o / (1 + o)] for o in odds]
        np.testing.assert_allclose(found.weights[:, label], weights_slowly(middle), atol=1e-6)
    assert found.agreement == pytest.approx(((first > 0.5) == (second > 0.5)).mean())
    assert (found.labels.shape, found.weights.shape, found.teacher_steps) == ((9, 3), (9, 3), 5)


def test_a_label_that_no_labelled_row_has_is_given_to_no_text():
    found = labelled_sets(RANDOM.random((5, 2)), RANDOM.random((5, 2)), np.array([0.0, 1.0]))
    assert found.labels.tolist() == [[0.0, 1.0]] * 5


def test_written_labels_are_read_again(tmp_path):
    file = tmp_path / "checkpoints" / "labels.npz"
    assert read_labels(file) is None
    written = labelled(drawn(), drawn(), np.full(3, 1 / 3), 4)
    write_labels(file, written)
    found = read_labels(file)
    np.testing.assert_array_equal(found.labels, written.labels)
    np.testing.assert_array_equal(found.weights, written.weights)
    assert (found.agreement, found.teacher_steps) == (written.agreement, 4)
    assert [each.name for each in file.parent.iterdir()] == ["labels.npz"]
