"""The constructed texts with several labels, and the strategies that were measured on them."""

import numpy as np
import pytest

import suggest_labels
from development import joined


def test_every_row_is_used_once_and_its_labels_are_those_of_the_text():
    rows = [{"text": f"text{number}", "label": "abc"[number % 3]} for number in range(31)]
    found = joined(rows, 20, seed=0)
    label_of = {row["text"]: row["label"] for row in rows}
    used = [part for each in found for part in each["text"].split(" ")]
    assert len(found) == 20 and len(used) == len(set(used)) == 30  # half of the texts are joined
    for each in found:
        assert each["label"] == sorted({label_of[part] for part in each["text"].split(" ")})
    everything = joined(rows, 1000, seed=1)
    assert sum(len(each["text"].split(" ")) for each in everything) == 31


def test_uncertainty_is_the_mean_or_the_largest_of_binary_entropies():
    probabilities = np.array([[0.5, 0.0, 1.0], [0.25, 0.25, 0.25], [0.0, 1.0, 0.0]])
    entropies = suggest_labels.label_entropies(probabilities)
    quarter = 2 - 0.75 * np.log2(3)
    assert entropies == pytest.approx(np.array([[1, 0, 0], [quarter] * 3, [0, 0, 0]]))
    vectors, generator = np.eye(3), np.random.default_rng(0)
    chosen = {
        name: rule(probabilities, vectors, 2, generator, vectors[:1]).tolist()
        for name, rule in suggest_labels.RULES.items()
    }
    assert chosen["mean entropy"] == [1, 0] and chosen["maximum entropy"] == [0, 1]
    assert all(len(set(places)) == 2 for places in chosen.values())


def test_every_strategy_begins_with_the_same_texts():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, (120, 3)), generator.integers(0, 2, (40, 3))
    vectors = tuple(part + generator.normal(0, 0.1, part.shape) for part in labels)
    found = [suggest_labels.curve(rule, 0, vectors, labels) for rule in suggest_labels.RULES.values()]
    assert np.isfinite(found).all() and np.min(found) > 90  # the vectors show the labels
