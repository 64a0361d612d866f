"""Two cheap baselines that every trained model should beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salience.training.metrics import scores

FEATURES = 200_000  # most frequent words and word pairs used: they fit into a laptop's memory for 500,000 texts


def baseline_scores(
    train: Sequence[str], train_labels: np.ndarray, test: Sequence[str], labels: np.ndarray, classes: int
) -> dict[str, dict[str, float]]:
    """The scores of the majority class, and of logistic regression on TF-IDF features of words and word pairs.

    Args:
        train: the training texts.
        train_labels: their class numbers; every class occurs.
        test: the texts on which both are evaluated.
        labels: their class numbers.
        classes: number of classes.

    Returns:
        Name of the baseline to its scores, as `salience.training.metrics.scores` gives them.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    true_labels = np.asarray(labels)
    frequencies = np.bincount(train_labels, minlength=classes) / len(train_labels)
    words = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, max_features=FEATURES, token_pattern=r"(?u)\w+|[^\w\s]"
    )
    regression = make_pipeline(words, LogisticRegression(C=10, max_iter=1000)).fit(train, train_labels)
    # Every class has a training row, so the columns of the regression are all classes, in order.
    return {
        "majority class": scores(np.tile(frequencies, (len(true_labels), 1)), true_labels),
        "TF-IDF + logistic regression": scores(regression.predict_proba(test), true_labels),
    }
