"""The two cheap answers that every trained model should beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salience.training.metrics import scores

FEATURES = 200_000  # words and pairs of words kept: what a laptop holds for 500,000 texts


def baseline_scores(
    train: Sequence[str], train_labels: np.ndarray, test: Sequence[str], labels: np.ndarray, classes: int
) -> dict[str, dict[str, float]]:
    """The scores of the majority class, and of a logistic regression on TF-IDF of words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    share = np.bincount(train_labels, minlength=classes) / len(train_labels)
    words = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, max_features=FEATURES, token_pattern=r"(?u)\w+|[^\w\s]"
    )
    regression = make_pipeline(words, LogisticRegression(C=10, max_iter=1000)).fit(train, train_labels)
    # Every class has a training row, so the regression's columns are all classes in order.
    return {
        "majority class": scores(np.tile(share, (len(labels), 1)), labels),
        "TF-IDF + logistic regression": scores(regression.predict_proba(test), labels),
    }
