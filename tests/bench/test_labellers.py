"""The labellers of texts without labels: on vectors whose classes are known."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from labellers import BASELINE, clustered, scores, spread, table, taught

CLASSES, DIMENSIONS = 3, 8


def vectors(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors (N, D) around the axes of their classes, and the classes (N,)."""
    random = np.random.default_rng(seed)
    classes = random.integers(CLASSES, size=count)
    return normalize(np.eye(CLASSES, DIMENSIONS)[classes] + random.normal(0, 0.15, (count, DIMENSIONS))), classes


OTHERS, TRUTH = vectors(200, seed=0)
LABELLED = normalize(np.eye(CLASSES, DIMENSIONS) + 0.05)  # one text of each class
KNOWN = np.eye(CLASSES)
DOUBTFUL = np.where(np.eye(CLASSES)[TRUTH] > 0, 0.4, 0.3)  # barely right


@pytest.mark.parametrize(
    "found",
    [
        spread(LABELLED, OTHERS, KNOWN),
        clustered(LABELLED, OTHERS, KNOWN, DOUBTFUL),
        taught(LABELLED, OTHERS, KNOWN, DOUBTFUL, rounds=1),
        taught(LABELLED, OTHERS, KNOWN, DOUBTFUL),
    ],
)
def test_labels_of_separate_classes_are_right(found):
    assert found.shape == (200, CLASSES)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-6)
    assert (found.argmax(1) == TRUTH).mean() > 0.95


def test_clusters_mend_wrong_labels_of_the_beginning():
    start = np.eye(CLASSES)[np.where(np.arange(200) % 4 == 0, (TRUTH + 1) % CLASSES, TRUTH)]
    assert (start.argmax(1) == TRUTH).mean() == 0.75
    assert (clustered(LABELLED, OTHERS, KNOWN, start).argmax(1) == TRUTH).mean() > 0.95


def test_a_vector_that_no_label_reaches_has_the_shares_of_the_classes():
    far = np.concatenate([OTHERS, np.repeat(-np.eye(1, DIMENSIONS), 30, 0)])  # 30 equal ones, with none else near
    np.testing.assert_allclose(spread(LABELLED, far, KNOWN)[-1], [1 / 3] * 3)


def test_scores_of_all_and_of_the_certain_half():
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.45, 0.55]])
    assert scores(probabilities, np.array([0, 0, 0, 1])) == {"right": 75.0, "right_of_certain": 100.0}


def test_the_table_has_differences_from_the_trained_model():
    def run(name: str, model: float, other: float) -> dict:
        return {"set": name, "scores": {BASELINE: both(model), "another": both(other)}}

    def both(right: float) -> dict[str, float]:
        return {"right": right, "right_of_certain": right}

    lines = table([run("a", 70.0, 72.0), run("b", 80.0, 84.0)]).splitlines()
    assert lines[2] == f"| {BASELINE} |  |  | 70.0 | 80.0 |"
    assert lines[3].startswith("| another | +3.00 [") and lines[3].endswith("| 72.0 | 84.0 |")
