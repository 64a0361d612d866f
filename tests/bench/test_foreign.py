"""The recognition of foreign texts: a worked example, and a loop over all pairs."""

import numpy as np
import pytest

from foreign import Foreign
from salience.data.task import Task
from salience.data.texts import Texts
from salience.training.measures import measures_named


def measured(own, foreign) -> dict:
    """The measure of a classifier with these largest probabilities of two classes."""
    test, others = Texts(["own"] * len(own), labels=[0] * len(own)), Texts.of(["foreign"] * len(foreign))

    class Classifier:
        def predict_proba(self, texts):
            largest = np.array(own if texts is test else foreign)
            return np.stack([largest, 1 - largest], 1)

    measure = Foreign("weather", others)
    assert measures_named({"foreign": measure}) == {"foreign": measure}
    return measure(Classifier(), Task(["a", "b"], test, Texts([]), test), 0)


def test_a_worked_example():
    # Own against foreign: 0.9 is above both, 0.6 is even with 0.6 and below 0.8, 0.8 is above 0.6 and even with 0.8.
    found = measured([0.9, 0.6, 0.8], [0.6, 0.8])
    assert found == {"foreign_auroc": pytest.approx((2 + 0.5 + 1.5) / 6), "texts": "weather", "count": 2}


def test_against_a_loop_over_pairs():
    random = np.random.default_rng(0)
    own, foreign = (random.uniform(0.5, 1, count) for count in (30, 20))
    pairs = [(one > other) + (one == other) / 2 for one in own for other in foreign]
    assert measured(own, foreign)["foreign_auroc"] == pytest.approx(np.mean(pairs))
