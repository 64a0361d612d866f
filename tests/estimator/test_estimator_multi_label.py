"""Texts with several labels: a matrix of 0 and 1, or lists of names, as scikit-learn's multilabel classifiers."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer

from labelled import WORDS, labelled_rows, write_csv
from salience import SalienceClassifier
from salience.cli.main import main
from salience.errors import InputError


@pytest.fixture(scope="module")
def several():
    """Texts of one, two or no subject, and their labels."""
    one, other = labelled_rows(32), labelled_rows(32, seed=7)
    rows = []
    for place, ((text, label), (further, second)) in enumerate(zip(one, other[1:] + other[:1], strict=True)):
        if place % 8 == 7:
            rows.append(("the a one some this", []))
        else:
            rows.append((f"{text} {further}", sorted({label, second})) if place % 2 else (text, [label]))
    return [text for text, _ in rows], [labels for _, labels in rows]


@pytest.fixture(scope="module")
def matrix(several):
    return MultiLabelBinarizer().fit_transform(several[1])


@pytest.fixture(scope="module")
def several_fitted(short, several, matrix):
    return short(steps=60).fit(several[0], matrix)


def test_predictions_are_a_matrix_as_y(several_fitted, several, matrix):
    texts = several[0]
    assert several_fitted.multilabel_ and several_fitted.classes_.tolist() == [0, 1, 2]
    probabilities = several_fitted.predict_proba(texts)
    assert probabilities.shape == (32, 3) and not np.allclose(probabilities.sum(1), 1, atol=0.01)
    predicted = several_fitted.predict(texts)
    assert predicted.shape == matrix.shape and predicted.dtype == matrix.dtype
    assert np.array_equal(predicted, probabilities >= 0.5)
    assert label_ranking_average_precision_score(matrix, probabilities) > 0.8  # it has learnt
    assert several_fitted.score(texts, matrix) == accuracy_score(matrix, predicted)
    assert several_fitted.predict([]).shape == (0, 3) and several_fitted.predict([]).dtype == matrix.dtype
    weights = np.arange(32)
    assert several_fitted.score(texts, matrix, weights) == accuracy_score(matrix, predicted, sample_weight=weights)


@pytest.mark.whole
def test_every_form_of_y_gives_the_same_model(several_fitted, several, matrix):
    texts, names = several
    estimator, expected = clone(several_fitted), several_fitted.predict_proba(texts)
    table = pd.DataFrame(matrix.astype(np.int8), columns=list("xyz"))
    lists = pd.Series([tuple(reversed(each)) for each in names])
    for y, classes, dtype in [
        (matrix.astype(bool), [0, 1, 2], bool),
        (csr_matrix(matrix), [0, 1, 2], matrix.dtype),
        (table, ["x", "y", "z"], np.int8),
        (names, sorted(WORDS), np.int64),
        (lists, sorted(WORDS), np.int64),
        ([set(each) for each in names], sorted(WORDS), np.int64),
    ]:
        estimator.set_params(steps=60 if y is names else 2).fit(texts, y)
        assert estimator.classes_.tolist() == classes
        assert estimator.predict(texts).dtype == dtype
        if y is names:
            assert np.array_equal(estimator.predict_proba(texts), expected)
            assert estimator.classifier_.predict(texts[:1]) == [
                [name for name, chosen in zip(classes, estimator.predict(texts[:1])[0], strict=True) if chosen]
            ]
            assert estimator.score(texts, names) == several_fitted.score(texts, matrix)
            one_each = [["food"], ["sport"]]  # which to fit would be a column of labels
            assert estimator.score(texts[:2], one_each) == estimator.score(texts[:2], [[1, 0, 0], [0, 0, 1]])
            with pytest.raises(InputError, match='unknown label in y: "tea"'):
                estimator.score(texts[:2], [["food"], ["tea"]])


@pytest.mark.whole
def test_cross_validation_and_searches_with_scores_of_several_labels(short, several, matrix):
    texts = np.array(several[0])
    estimator = short(method="plain", steps=8)
    found = cross_val_score(estimator, texts, matrix, cv=2, scoring="f1_micro")
    predicted = cross_val_predict(estimator, texts, matrix, cv=2)
    halves = [slice(0, 16), slice(16, 32)]
    assert found.tolist() == [f1_score(matrix[half], predicted[half], average="micro") for half in halves]
    assert np.isfinite(cross_val_score(estimator, texts, matrix, cv=2, scoring="roc_auc_ovr")).all()
    search = GridSearchCV(estimator, {"method": ["plain", "ssmix"]}, cv=2, scoring="average_precision").fit(
        texts, matrix
    )
    assert search.best_estimator_.multilabel_


def test_thresholds_of_the_estimate_decide(short, several, tmp_path, monkeypatch):
    texts, names = several
    # Two steps teach little, so that whether the thresholds of an estimate help is left to no chance here.
    monkeypatch.setattr("salience.scores.thresholds.thresholds_help", lambda *_: True)
    estimator = short(estimate="folds:2").fit(texts, names)
    thresholds = estimator.classifier_.thresholds
    assert estimator.estimate_["label_thresholds"] and not np.allclose(thresholds, 0.5)
    expected = estimator.predict_proba(texts) >= thresholds
    assert np.array_equal(estimator.predict(texts), expected)
    assert estimator.out_of_fold_[1].shape == (len(estimator.out_of_fold_[0]), 3)
    estimator.save(tmp_path / "model")
    loaded = SalienceClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(texts), expected)


def test_saved_and_loaded(several_fitted, several, matrix, tmp_path):
    texts = several[0]
    small = clone(several_fitted).set_params(steps=2).fit(texts, matrix.astype(np.uint8))
    small.save(tmp_path / "model")
    loaded = SalienceClassifier.load(tmp_path / "model")
    assert loaded.get_params() == small.get_params() and loaded.multilabel_
    assert loaded.classes_.tolist() == [0, 1, 2]
    assert loaded.predict(texts).dtype == np.uint8
    assert np.array_equal(loaded.predict(texts), small.predict(texts))
    settings = json.loads((tmp_path / "model" / "salience.json").read_text())
    for broken in ("nonsense", "<U3"):
        (tmp_path / "model" / "salience.json").write_text(json.dumps(settings | {"predicted_type": broken}))
        with pytest.raises(InputError, match=r"salience\.json is damaged"):
            SalienceClassifier.load(tmp_path / "model")


def test_a_run_of_several_labels_is_loaded(tiny, several, tmp_path, capsys):
    texts, names = several
    data = write_csv(
        tmp_path / "train.csv", [(text, json.dumps(each)) for text, each in zip(texts, names, strict=True)]
    )
    options = ("--model", tiny, "--steps", "2", "--estimate", "none", "--device", "cpu")
    assert main(["train", str(data), *options, "--output", str(tmp_path / "run")]) == 0, capsys.readouterr().err
    loaded = SalienceClassifier.load(tmp_path / "run")
    assert loaded.multilabel_ and loaded.classes_.tolist() == sorted(WORDS)
    assert loaded.predict(texts).shape == (32, 3)


def test_validation_texts_and_groups(short, several, matrix):
    texts = several[0]
    held = short(validation_share=0.25).fit(texts, matrix)
    assert held.predict(texts).shape == (32, 3)
    groups = [f"author {place // 2}" for place in range(32)]
    grouped = short(estimate="folds:2").fit(texts, matrix, groups=groups)
    assert grouped.estimate_["groups"] == 16


def test_what_needs_one_label_is_refused_by_name(short, several, matrix):
    with pytest.raises(InputError, match="--model lstm-vat is not available for multi-label texts"):
        short(model="lstm-vat").fit(several[0], matrix)


def test_a_label_without_a_text_is_learnt_as_absent(short, several, matrix):
    """As happens in folds of a cross-validation."""
    without = matrix.copy()
    without[:, 1] = 0
    assert short().fit(several[0], without).predict_proba(several[0]).shape == (32, 3)
