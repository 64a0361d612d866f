"""Baselines that every trained model should beat: the majority class, and regressions on frozen features.

Each takes the training rows, the test rows and the number of classes C, and gives the probabilities of the test rows
(N, C) in float32, the type in which classifiers predict. Classes without a training row get the probability 0.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.classify.frozen_encoder import FrozenEncoder, KeptEncoder
from salience.data.task import Task
from salience.data.texts import Texts
from salience.data.words import UNSPACED, word_spans
from salience.scores.labels import labels_of
from salience.scores.predictions import Predictions
from salience.work import doing

FEATURES = 200_000  # most frequent words and word pairs used: they fit into a laptop's memory for 500,000 texts
# Inverse strength of the regressions' L2 penalty. It was chosen once and is not tuned: scikit-learn's 1 is strong for
# features of length 1, whose coefficients must be large.
C = 10


def held_out_scores(task: Task, predictions: Mapping[str, Predictions], seed: int) -> dict[str, Any]:
    """The scores on the parts "validation" and "test", of those that there are, and of the baselines on the last one.

    Args:
        seed: of the bootstrap of the intervals.

    Returns:
        The scores by part, "baselines", and "judged_on", the part on which these are scored; if there are test rows,
        also "temperature_scaling", with a temperature that is fitted on the validation rows, or without these on the
        other half of the test rows. Empty if nothing was held out. Without training rows there are no baselines.
    """
    if not predictions:
        return {}
    scoring = labels_of(next(iter(predictions.values())).labels)
    measured: dict[str, Any] = {role: each.scores(seed) for role, each in predictions.items()}
    judge = "test" if "test" in predictions else "validation"
    if judge == "test":
        tested = predictions["test"].probabilities, predictions["test"].labels
        chosen_by = predictions.get("validation")
        measured["temperature_scaling"] = (
            scoring.cross_fitted(*tested) if chosen_by is None
            else scoring.temperature_scores(chosen_by.probabilities, chosen_by.labels, *tested)
        )  # fmt: skip
    part = task.test if judge == "test" else task.validation
    baselines = baseline_scores([(task.training, part)], len(task.labels)) if len(task.training) else {}
    return measured | {"baselines": baselines, "judged_on": judge}


def baseline_scores(parts: Sequence[tuple[Texts, Texts]], classes: int) -> dict[str, dict[str, float | None]]:
    """The scores of the two baselines that are computed after every run, by name.

    `parts` are training rows with the rows on which a baseline that is fitted to them is evaluated: a pair for the
    test rows of a run, several for the folds of an estimate. The scores are of the evaluated rows of all pairs.
    """
    baselines = {"majority class": majority_probabilities, "TF-IDF + logistic regression": tfidf_probabilities}
    labels = np.concatenate([judged.known_labels for _, judged in parts])
    return {
        name: labels_of(labels).detailed(np.concatenate([baseline(*part, classes) for part in parts]), labels)
        for name, baseline in baselines.items()
    }


def majority_probabilities(training: Texts, test: Texts, classes: int) -> np.ndarray:
    """The shares of the classes in the training rows, the same for every test row (N, C) float32."""
    labels = training.known_labels
    shares = labels_of(labels).support(labels, classes) / len(labels)
    return np.tile(shares.astype(np.float32), (len(test), 1))


def terms(text: str) -> list[str]:
    """Words and signs of a text, each by itself; of scripts without spaces, its words."""
    found = list[str]()
    for start, end in word_spans(text) if UNSPACED.search(text) else [(0, len(text))]:
        word = text[start:end]
        found += [word] if UNSPACED.search(word) else re.findall(r"\w+|[^\w\s]", word)
    return found


@doing("fitting the TF-IDF baseline")
def tfidf_probabilities(training: Texts, test: Texts, classes: int) -> np.ndarray:
    """Logistic regression on TF-IDF features of words and word pairs: probabilities (N, C) float32."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, max_features=FEATURES, tokenizer=terms, token_pattern=None
    )
    features = words.fit_transform(joined(training))
    return regression_probabilities(features, training.known_labels, words.transform(joined(test)), classes)


def encoder_probabilities(
    training: Texts, test: Texts, classes: int, encoder: FrozenEncoder | KeptEncoder
) -> np.ndarray:
    """Logistic regression on the mean vectors of a frozen encoder: probabilities (N, C) float32.

    Vectors are scaled to length 1. They need not be standardised then, and few rows are enough.
    """
    vectors = encoder.vectors(training), encoder.vectors(test)
    return regression_probabilities(vectors[0], training.known_labels, vectors[1], classes)


def regression_probabilities(features, labels: np.ndarray, test_features, classes: int) -> np.ndarray:
    """Multinomial logistic regression with an L2 penalty: the probabilities of the test rows (N, C) float32.

    If all labels (M,) are of one class, it gets the probability 1. With labels (M, C), 0 and 1, there is a regression
    for each label. Features may be a sparse matrix of scipy.
    """
    if labels_of(labels).several:
        of_labels = [regression_probabilities(features, each, test_features, 2)[:, 1] for each in labels.T]
        return np.stack(of_labels, 1)
    found = np.zeros((test_features.shape[0], classes), np.float32)
    known = np.unique(labels)
    if len(known) == 1:  # no regression is fitted to one class
        found[:, known] = 1
    else:
        regression = fitted_regression(features, labels, C)
        found[:, regression.classes_] = regression.predict_proba(test_features)
    return found


def fitted_regression(features, labels: np.ndarray, strength: float, weights: np.ndarray | None = None) -> Any:
    """scikit-learn's logistic regression of labels (M,) with the inverse `strength` of its penalty."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    # The products are so small that several threads of BLAS take ten times as long as one.
    with (
        doing("fitting a regression"),
        threadpool_limits(1, "blas"),
        warnings.catch_warnings(),
    ):  # two rows a class are few, but no mistake
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        return LogisticRegression(C=strength, max_iter=1000).fit(features, labels, weights)


def joined(texts: Texts) -> list[str]:
    """Texts as baselines on words read them: the texts of a pair as one text."""
    if texts.second is None:
        return texts.texts
    return [f"{first} {second}" for first, second in zip(texts.texts, texts.second, strict=True)]
