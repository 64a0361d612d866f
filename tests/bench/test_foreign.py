"""The recognition of foreign texts: a worked example, and a loop over all pairs."""

import numpy as np
import pytest

from foreign import Foreign
from salience.data.texts import Texts
from salience.training.measures import MeasureOfPredictions, measures_named


def certain(largest) -> np.ndarray:
    """Probabilities of two classes with these maxima."""
    return np.stack([largest, 1 - np.array(largest)], 1)


def test_a_worked_example():
    measure = Foreign("weather", Texts.of(["rain", "snow"]))
    # Own against foreign: 0.9 is above both, 0.6 is even with 0.6 and below 0.8, 0.8 is above 0.6 and even with 0.8.
    found = measure.of_predictions(
        {"own": certain([0.9, 0.6, 0.8]), "foreign": certain([0.6, 0.8])}, np.array([0, 1, 0])
    )
    assert found == {"foreign_auroc": pytest.approx((2 + 0.5 + 1.5) / 6), "texts": "weather", "count": 2}


def test_against_a_loop_over_pairs():
    random = np.random.default_rng(0)
    probabilities = {name: certain(random.uniform(0.5, 1, count)) for name, count in (("own", 30), ("foreign", 20))}
    found = Foreign("any", Texts.of(["a"])).of_predictions(probabilities, np.zeros(30))
    pairs = [
        (own > foreign) + (own == foreign) / 2
        for own in probabilities["own"].max(1) for foreign in probabilities["foreign"].max(1)
    ]  # fmt: skip
    assert found["foreign_auroc"] == pytest.approx(np.mean(pairs))


def test_it_is_a_measure_of_predictions():
    """So the references of a comparison have it too, and `compare` takes it by a name of its own."""
    measure = Foreign("weather", Texts.of(["rain", "snow"]))
    assert isinstance(measure, MeasureOfPredictions)
    assert measures_named({"foreign": measure}) == {"foreign": measure}
    test = Texts.of(["one", "two", "three"])
    assert measure.further_texts(test) == {"own": test, "foreign": measure.texts}
