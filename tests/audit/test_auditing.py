"""Out-of-fold probabilities are those of scikit-learn's own cross-validation; and which rows are judged."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from salience.audit.auditing import audit_folds, by_regression
from salience.audit.wrong_labels import of_each_label, wrong_labels
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.scores.predictions import Predictions


def task_of(labels, groups=None, texts=None) -> Task:
    names = [f"class {number}" for number in range(max(labels) + 1)]
    texts = texts or [f"text {number}" for number in range(len(labels))]
    return Task(names, Texts(texts, labels=list(labels), rows=list(range(1, len(labels) + 1)), groups=groups))


def unit(rows: int, labels) -> np.ndarray:
    vectors = np.random.default_rng(0).normal(size=(rows, 6)) + 0.8 * np.eye(6)[labels]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_probabilities_are_those_of_cross_val_predict():
    labels = np.arange(60) % 3
    task, vectors = task_of(labels), unit(60, labels)
    folds, places = audit_folds(task, 4, 5, pytest.fail)
    found = by_regression(folds, places, vectors, 3)
    regression = LogisticRegression(C=10, max_iter=1000)
    split = PredefinedSplit(folds.numbers - 1)
    expected = cross_val_predict(regression, vectors, labels, cv=split, method="predict_proba")
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-6)
    assert found.rows.tolist() == list(range(1, 61)) and found.labels.tolist() == labels.tolist()


def test_equal_texts_and_rows_of_a_group_are_in_one_fold():
    texts = [f"text {number // 2}" for number in range(40)]
    folds, _ = audit_folds(task_of([number // 2 % 2 for number in range(40)], texts=texts), 5, 0, pytest.fail)
    assert (folds.numbers[::2] == folds.numbers[1::2]).all()
    groups = [f"author {number // 4}" for number in range(40)]
    folds, _ = audit_folds(task_of([number % 2 for number in range(40)], groups), 5, 0, pytest.fail)
    assert all(len(set(folds.numbers[start : start + 4])) == 1 for start in range(0, 40, 4))


def test_rows_of_a_class_that_no_other_fold_has_are_not_judged():
    labels = [0] * 10 + [1] * 9 + [2]
    notes = []
    folds, places = audit_folds(task_of(labels), 5, 0, notes.append)
    assert places.tolist() == list(range(19)) and 'in one fold: "class 2"' in notes[-1]
    assert by_regression(folds, places, unit(20, labels), 3).probabilities.shape == (19, 3)


def test_labels_of_which_none_can_be_checked_are_refused():
    labels = [number % 3 for number in range(30)]
    with pytest.raises(InputError, match=r"no label can be checked.* leave out --group"):
        audit_folds(task_of(labels, [f"author {label}" for label in labels]), 5, 0, lambda line: None)


def test_rows_that_cannot_be_divided_are_refused():
    with pytest.raises(InputError, match="the rows cannot be divided into 2 folds: no class has more than 1 row"):
        audit_folds(task_of([0, 1]), 5, 0, lambda line: None)


def test_findings_name_the_rows_of_the_file_where_some_rows_are_not_judged():
    task = task_of([0, 0, 0, 1, 1, 1, 0])
    probabilities = np.array([[0.9, 0.1]] * 2 + [[0.2, 0.8]] * 2 + [[0.05, 0.95]])
    found = Predictions(probabilities, np.array([0, 0, 1, 1, 0]), rows=np.array([1, 3, 4, 6, 7]))
    (finding,) = wrong_labels(task, found)
    assert finding.rows == [7] and finding.score == pytest.approx(0.9)
    assert finding.details["label"] == "class 0" and finding.details["suggested"] == "class 1"


SETS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]] * 6)  # the third label is of one row only, below


def several_of(labels) -> Task:
    texts = Texts([f"text {number}" for number in range(len(labels))], labels=labels)
    return Task(["joy", "fear", "anger"], texts, Texts([]), Texts([]))


def test_each_of_several_labels_is_judged_by_itself():
    """One finding a row, with all labels that are likely wrong in it; labels that no other fold has are left out."""
    labels = SETS.copy()
    labels[[5, 6], 2] = 1
    probabilities = np.where(SETS == 1, 0.9, 0.1)
    probabilities[0] = [0.05, 0.97, 0.1]  # lacks "joy", which it has, and has "fear", which it lacks
    probabilities[10] = [0.2, 0.08, 0.1]  # lacks "fear"
    rows, folds = np.arange(1, 25), np.arange(24) % 4
    folds[[5, 6]] = 1  # all rows of "anger" are in one fold
    found = wrong_labels(several_of(labels), Predictions(probabilities, labels, folds=folds, rows=rows))
    assert [(each.rows, each.details["label"], each.details["suggested"]) for each in found] == [
        ([1], ["joy"], ["fear"]), ([11], ["fear"], [])
    ]  # fmt: skip
    assert found[0].details["probabilities"] == {"joy": 0.05, "fear": 0.97}
    assert [each.score for each in found] == pytest.approx([0.94, 0.84])
    seen = wrong_labels(several_of(labels), Predictions(probabilities, labels, rows=rows))
    assert any("anger" in each.details["probabilities"] for each in seen)


def test_regressions_of_several_labels_are_those_of_each_label():
    labels = SETS.copy()
    labels[5, 2] = 1
    notes, vectors = [], unit(24, SETS[:, 0] + 2 * SETS[:, 1])
    folds, places = audit_folds(several_of(labels), 4, 0, notes.append)
    found = by_regression(folds, places, vectors, 3)
    assert places.tolist() == list(range(24)) and '"anger"' in notes[-1]
    assert [number for number, _, _ in of_each_label(found)] == [0, 1]
    split, regression = PredefinedSplit(folds.numbers - 1), LogisticRegression(C=10, max_iter=1000)
    for number in (0, 1):
        expected = cross_val_predict(regression, vectors, labels[:, number], cv=split, method="predict_proba")[:, 1]
        np.testing.assert_allclose(found.probabilities[:, number], expected, atol=1e-6)
