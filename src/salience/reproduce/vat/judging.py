"""Explanations of ATT and VAT judged by another model: Tables 3 to 5 of Zhou et al. (Findings of ACL-IJCNLP 2021).

Words are deleted from the texts (Table 3) or kept alone (Table 4) by descending scores, and base classifies the
result. On data sets with marks of people, the words with the highest scores are compared with the marks (Table 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salience.data.encoding import Encoded
from salience.data.texts import Texts
from salience.explainers.chance import random_words
from salience.faithfulness.accuracy import (
    accuracy_alone,
    accuracy_drop,
    accuracy_without,
    mean_accuracy_drop,
    post_hoc_accuracy,
)
from salience.faithfulness.detection import detection_by_class
from salience.faithfulness.erasure import Erasure
from salience.faithfulness.evaluation import DRAWS
from salience.faithfulness.reading import Reading
from salience.inference import TextClassifier

AT = 5  # number of words deleted in Table 3, kept in Table 4 and compared with the marks in Table 5


def judge(scores: list[np.ndarray], base: TextClassifier, encoded: Encoded, texts: Texts, most: int) -> dict:
    """The metrics of one explainer, judged by base.

    Args:
        scores: for each text, the scores of its words (W,).
        base: the model that classifies the texts without words, or with these words alone.
        encoded: the N texts as base reads them, with their words.
        texts: the same texts with their labels, and with their marks if there are any.
        most: largest number of deleted or kept words, K.

    Returns:
        By name: the AOPC in percent after 5 words ("AOPC@5") and as the mean over 0 to K words ("AOPC over K"), the
        post-hoc accuracy in percent ("post-hoc@5"), base's accuracy "without" 0 to K words and on these words "alone"
        (K + 1,), and the entries of `detection`.
    """
    erasure = Erasure(Reading(encoded, base.probabilities, base.empty_token), scores, most=most)
    curves = {"without": accuracy_without(erasure).tolist(), "alone": accuracy_alone(erasure).tolist()}
    metrics = {
        f"AOPC@{AT}": float(accuracy_drop(erasure, AT).mean()),
        "AOPC over K": float(mean_accuracy_drop(erasure).mean()),
        f"post-hoc@{AT}": float(post_hoc_accuracy(erasure, AT).mean()),
    }
    return metrics | curves | detection(scores, texts, base.labels)


def judge_chance(base: TextClassifier, encoded: Encoded, texts: Texts, most: int, seed: int) -> dict:
    """As `judge`, for random scores: the mean of every metric over draws.

    Args:
        seed: of the random scores.
    """
    generator = np.random.default_rng(seed)
    draws = [judge(random_words(encoded.words.counts, generator), base, encoded, texts, most) for _ in range(DRAWS)]
    return {name: np.mean([draw[name] for draw in draws], axis=0).tolist() for name in draws[0]}


def detection(scores: list[np.ndarray], texts: Texts, labels: Sequence[str]) -> dict[str, list[float]]:
    """Table 5: precision, recall and F1 @1 and @5 in percent, for positive words in positive texts, and negative ones.

    "Very positive" counts as positive. A text is left out if its number of marks differs from its number of words.

    Args:
        scores: for each text, the scores of its words (W,).
        texts: the texts with their labels, and with a mark for every word if there are any.
        labels: the names of the classes.

    Returns:
        Class to the values of `detection_by_class`, in their order there; empty if the data set has no marks.
    """
    if texts.marks is None:
        return {}
    rows = [row for row, text in enumerate(texts.texts) if len(texts.marks[row]) == len(text.split())]
    marks = [[label.removeprefix("very ") for label in texts.marks[row]] for row in rows]
    true_labels = [labels[texts.known_labels[row]].removeprefix("very ") for row in rows]
    table = detection_by_class([scores[row] for row in rows], marks, true_labels, ("positive", "negative"), AT)
    return {name: list(values.values()) for name, values in table.items()}
