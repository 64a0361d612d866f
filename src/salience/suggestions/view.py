"""What a classifier says of texts: probabilities, and the vectors that its head reads."""

from __future__ import annotations

import numpy as np

from salience.data.long_texts import merged
from salience.data.texts import TextsLike
from salience.errors import InputError
from salience.inference import TextClassifier
from salience.inference.onnx_classifier import OnnxClassifier
from salience.inference.sentence_vectors import probabilities_and_vectors


def check_view(classifier: TextClassifier, with_vectors: bool) -> None:
    """Checks that a classifier can give the vectors of texts.

    Raises:
        InputError: they are wanted, and it has none.
    """
    if with_vectors and isinstance(classifier, OnnxClassifier):
        other = "" if classifier.multi_label else ", or a --strategy that reads probabilities alone, such as margin"
        raise InputError(
            "a classifier that was exported to ONNX gives no vectors, which this strategy reads: name the run "
            f"that was exported{other}"
        )


def view_of(classifier: TextClassifier, texts: TextsLike, with_vectors: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """The probabilities (N, C) of N texts, and their vectors (N, D), both in float32.

    Of a text that is read in windows, the vector is the mean over the windows. Through a linear map it gives the mean
    of their logits, from which the probabilities are.

    Args:
        with_vectors: whether vectors are wanted; without, they are None.

    Raises:
        InputError: as of `check_view` and `TextClassifier.predict_proba`.
    """
    check_view(classifier, with_vectors)
    if not with_vectors:
        return classifier.predict_proba(texts), None
    encoded = classifier.read(texts)
    probabilities, vectors = probabilities_and_vectors(classifier.model, encoded, classifier.precision)
    if encoded.owners is None:
        return probabilities, vectors
    counts = np.bincount(encoded.owners)
    starts = np.cumsum(counts) - counts
    means = np.add.reduceat(vectors, starts, axis=0) / counts[:, None]
    return merged(probabilities, encoded.owners, classifier.multi_label), means.astype(np.float32)
