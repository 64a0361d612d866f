"""Accuracy on corrupted rows: a worked example, and the same texts for every run."""

import numpy as np
import pytest

from labelled import labelled_rows
from salience.data.corruptions import corrupted
from salience.data.texts import Texts
from salience.training.measures import Robustness


def test_a_worked_example():
    labels = np.array([0, 1, 1, 0])
    always_first, right = np.tile([0.9, 0.1], (4, 1)), np.eye(2)[labels]
    found = Robustness().of_predictions({"typos": always_first, "dropped-words": right}, labels)
    assert found == {"accuracy_typos": 0.5, "accuracy_dropped_words": 1.0, "rate": 0.1}


def test_the_texts_depend_on_the_rows_alone():
    texts = [f"{text} and {text}" for text, _ in labelled_rows(40)]
    test = Texts(texts, labels=[0] * 40, rows=list(range(1, 41)))
    whole, part = (Robustness().further_texts(each) for each in (test, test.take([30, 7])))
    assert list(whole) == ["typos", "dropped-words"]
    for name, found in whole.items():
        assert found == corrupted(test, name, 0.1, 0)
        assert part[name] == found.take([30, 7])
        assert found.labels.tolist() == test.labels.tolist()
        changed = sum(one != other for one, other in zip(found.texts, texts, strict=True)) / 40
        assert changed == pytest.approx(0.7, abs=0.3)  # a tenth of some 13 words
