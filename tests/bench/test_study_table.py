"""bench/study_table.py: paired differences and their intervals over sets, from the scores of a study's runs."""

import pandas as pd
import pytest
from scipy.stats import ttest_1samp

import study
import study_table


def runs_of(scores: dict[tuple[str, str, int, int], float]) -> pd.DataFrame:
    """Runs by (data set, method, size, seed)."""
    return pd.DataFrame([
        {"data": data, "model": "tiny", "size": size, "method": method, "seed": seed, "accuracy": value}
        for (data, method, size, seed), value in scores.items()
    ])  # fmt: skip


RUNS = runs_of({
    ("a", "plain", 50, 0): 70, ("a", "other", 50, 0): 72, ("a", "plain", 50, 1): 60, ("a", "other", 50, 1): 66,
    ("b", "plain", 50, 0): 80, ("b", "other", 50, 0): 81, ("c", "plain", 50, 0): 50, ("c", "other", 50, 0): 48,
    ("c", "other", 50, 1): 99,  # has no partner
})  # fmt: skip


def test_sets_count_alike_and_their_seeds_are_averaged():
    mean, low, high = study_table.interval_over_sets(study_table.paired(RUNS, "plain", "accuracy"))
    expected = ttest_1samp([4, 1, -2], 0)
    assert mean == pytest.approx(1)
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_a_line_for_each_size_and_one_for_all():
    more = pd.concat([RUNS, runs_of({("a", "plain", 100, 0): 80, ("a", "other", 100, 0): 90})])
    lines = study_table.table(more, "plain", ["accuracy"]).splitlines()
    assert lines[2] == "| other | 50 | 3 | 4 | +1.0 [-6.5, +8.5] |"
    assert lines[3] == "| other | 100 | 1 | 1 | +10.0 [-inf, +inf] |"
    assert lines[4].startswith("| other | all | 3 | 5 | +1.7 [")  # 6 of set a, 1 and -2


def test_runs_are_added_and_replace_earlier_ones(tmp_path):
    place, table = tmp_path / "new.csv", tmp_path / "table.csv"
    RUNS.to_csv(place, index=False)
    study.add_runs(place, table)
    runs_of({("a", "plain", 50, 0): 71, ("d", "plain", 50, 0): 40}).to_csv(place, index=False)
    study.add_runs(place, table)
    found = pd.read_csv(table)
    assert len(found) == len(RUNS) + 1
    assert found[(found["data"] == "a") & (found["method"] == "plain")]["accuracy"].tolist() == [60, 71]
