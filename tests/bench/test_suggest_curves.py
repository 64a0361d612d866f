"""bench/suggest.py: the curves, and the differences that the report states."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import ttest_1samp

import suggest


def trained(places):
    """A stand-in for a classifier: it is as good as the labelled places are high."""
    return lambda: (np.full((40, 2), 0.5), np.arange(40.0)[:, None]), float(np.mean(places)) / 40


def test_a_curve_labels_other_texts_in_each_round(monkeypatch):
    seen = []
    monkeypatch.setitem(suggest.RULES, "last", lambda pool, count, generator: np.argsort(-pool.vectors[:, 0])[:count])

    def watched(places):
        seen.append(places.tolist())
        return trained(places)

    found = list(suggest.curve(watched, 40, "last", seed=0, start=5, step=10, stop=25))
    assert [labels for labels, _ in found] == [5, 15, 25] == [len(set(places)) for places in seen]
    assert seen[1][:5] == seen[0] and seen[2][:15] == seen[1]
    assert seen[1][5:] == sorted(set(range(40)) - set(seen[0]))[::-1][:10]
    first, other = (next(suggest.curve(trained, 40, rule, 0, 5, 10, 25)) for rule in ("last", "random"))
    assert first == other


def rows_of(strategy, name, seed, *accuracies):
    return [
        {"set": name, "seed": seed, "strategy": strategy, "labels": 50 * number, "accuracy": accuracy}
        for number, accuracy in enumerate(accuracies, 1)
    ]


def test_differences_are_paired_by_set_and_seed():
    """The first round, which is the same for all, does not count."""
    rows = [
        *rows_of("random", "trec", 0, 0.3, 0.5, 0.7), *rows_of("margin", "trec", 0, 0.3, 0.6, 0.8),
        *rows_of("random", "trec", 1, 0.2, 0.4, 0.4), *rows_of("margin", "trec", 1, 0.2, 0.4, 0.6),
        *rows_of("random", "sst2", 0, 0.2, 0.5, 0.5), *rows_of("margin", "sst2", 0, 0.2, 0.4, 0.4),
        *rows_of("random", "sst2", 1, 0.2, 0.5, 0.5), *rows_of("margin", "sst2", 1, 0.2, 0.4, 0.4),
    ]  # fmt: skip
    found = suggest.differences(rows, "margin")
    assert found["trec"] == pytest.approx([10, 10]) and found["sst2"] == pytest.approx([-10, -10])
    lines = suggest.report(rows).splitlines()
    assert "| margin | 22.5 | 45.0 | 55.0 |" in lines
    assert any(line.startswith("| margin | +10.0 | -10.0 | ") for line in lines)


def test_each_round_has_its_own_difference_and_interval():
    rows = [
        *rows_of("random", "trec", 0, 0.3, 0.5, 0.7), *rows_of("margin", "trec", 0, 0.3, 0.6, 0.7),
        *rows_of("random", "trec", 1, 0.2, 0.4, 0.4), *rows_of("margin", "trec", 1, 0.2, 0.54, 0.44),
        *rows_of("random", "trec", 2, 0.2, 0.4, 0.4), *rows_of("margin", "trec", 2, 0.2, 0.46, 0.38),
    ]  # fmt: skip
    head, _, line = suggest.of_rounds(rows).splitlines()
    assert head == "| strategy | 100 labels | 150 labels |"
    cells = []
    for values in ([10, 14, 6], [0, 4, -2]):
        low, high = ttest_1samp(values, 0).confidence_interval(0.95)
        cells.append(f"{np.mean(values):+.1f} [{low:.1f}, {high:.1f}]")
    assert line == f"| margin | {cells[0]} | {cells[1]} |"
    panels = Figure().subplots(2, 3)
    suggest.draw(panels, rows, ["margin"])
    drawn = panels[0, 0].lines[0]
    assert drawn.get_xydata() == pytest.approx(np.array([[100, 10], [150, 2 / 3]]))
    assert [axes.get_visible() for axes in panels.flat] == [True, False, False, False, False, False]


def test_the_first_round_is_made_once():
    made = []

    def watched(places):
        made.append(len(places))
        return trained(places)

    kept = suggest.first_kept(watched)
    for places in ([1, 2], [1, 2, 3], [1, 2], [1, 2, 3]):
        kept(np.array(places))
    assert made == [2, 3, 3]


def test_the_set_that_carries_a_difference_is_left_out():
    small, large = np.array([0.9, 1.1, 1.0]), np.array([9.0, 11.0, 10.0])
    assert suggest.without_one_set([small, small, large], 1).startswith("+1.0 [")
    assert suggest.without_one_set([large], 1) == ""
