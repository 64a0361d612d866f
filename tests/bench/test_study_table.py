"""bench/study_table.py: paired differences and their intervals over sets, from the scores of a study's runs."""

from statistics import stdev

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import study
import study_table


def runs_of(scores: dict[tuple[str, str, int, int], float]) -> pd.DataFrame:
    """Runs by (data set, method, size, seed)."""
    return pd.DataFrame([
        {"table": 0, "data": data, "model": "tiny", "size": size, "method": method, "seed": seed, "accuracy": value}
        for (data, method, size, seed), value in scores.items()
    ])  # fmt: skip


RUNS = runs_of({
    ("a", "plain", 50, 0): 70, ("a", "other", 50, 0): 72, ("a", "plain", 50, 1): 60, ("a", "other", 50, 1): 66,
    ("b", "plain", 50, 0): 80, ("b", "other", 50, 0): 81, ("c", "plain", 50, 0): 50, ("c", "other", 50, 0): 48,
    ("c", "other", 50, 1): 99,  # has no partner
})  # fmt: skip


def test_sets_count_alike_and_their_seeds_are_averaged():
    mean, low, high, p = study_table.over_sets(study_table.paired(RUNS, "plain", "accuracy"))
    half = t.ppf(0.975, 2) * stdev([4, 1, -2]) / 3**0.5
    assert (mean, low, high) == pytest.approx((1, 1 - half, 1 + half))
    assert p == pytest.approx(2 * t.sf(1 / (stdev([4, 1, -2]) / 3**0.5), 2))


def test_runs_are_compared_within_their_table(tmp_path):
    files = [tmp_path / "one.csv", tmp_path / "other.csv"]
    runs_of({("a", "plain", 50, 0): 70, ("a", "other", 50, 0): 72}).drop(columns="table").to_csv(files[0], index=False)
    runs_of({("a", "plain", 50, 0): 50, ("a", "other", 50, 0): 56}).drop(columns="table").to_csv(files[1], index=False)
    found = study_table.paired(study_table.runs_in(files), "plain", "accuracy")
    assert found["difference"].tolist() == [2, 6]
    assert study_table.over_sets(found).mean == 4


def test_means_are_of_the_seeds_that_all_variants_of_a_set_have():
    lines = study_table.means(RUNS, "accuracy").splitlines()
    assert lines[0] == "| rows | accuracy | a | b | c |"
    assert lines[2:] == [
        "| 50 | samples | 2 | 1 | 1 |", "| 50 | plain | 65.0 | 80.0 | 50.0 |", "| 50 | other | 69.0 | 81.0 | 48.0 |",
    ]  # fmt: skip
    without = study_table.means(RUNS[(RUNS["data"] != "b") | (RUNS["method"] == "plain")], "accuracy").splitlines()
    assert without[-1] == "| 50 | other | 69.0 | - | 48.0 |"


def test_a_star_is_given_after_the_correction_over_the_variants_of_a_size():
    """p-values of 0.02 and 0.03 are beyond chance, alone and together; beside a third variant neither is."""
    sets = "abcdefgh"
    noise = np.array([1.0, -1, 2, -2, 3, -3, 0, 0])
    clear, near = (noise + shift_of(p, noise) for p in (0.02, 0.03))
    scores = {(name, "plain", 50, 0): 0.0 for name in sets} | {
        (name, "near", 50, 0): v for name, v in zip(sets, near, strict=True)
    }
    alone = study_table.table(runs_of(scores), "plain", ["accuracy"]).splitlines()
    assert alone[2].endswith("]* |")
    scores |= {(name, "clear", 50, 0): v for name, v in zip(sets, clear, strict=True)} | {("a", "one set", 50, 0): 9.0}
    both = study_table.table(runs_of(scores), "plain", ["accuracy"]).splitlines()
    assert [line.endswith("]* |") for line in both[2:]] == [True, True, False]
    scores |= {(name, "nothing", 50, 0): v for name, v in zip(sets, noise, strict=True)}
    three = study_table.table(runs_of(scores), "plain", ["accuracy"]).splitlines()
    assert [line.endswith("]* |") for line in three[2:]] == [False, False, False, False]


def shift_of(p: float, noise: np.ndarray) -> float:
    """What is added to values of mean 0 so that their t-test has this p-value."""
    return t.isf(p / 2, len(noise) - 1) * noise.std(ddof=1) / len(noise) ** 0.5


def test_a_line_for_each_size_and_one_for_all():
    more = pd.concat([RUNS, runs_of({("a", "plain", 100, 0): 80, ("a", "other", 100, 0): 90})])
    lines = study_table.table(more, "plain", ["accuracy"]).splitlines()
    assert lines[2] == "| other | 50 | 3 | 4 | +1.0 [-6.5, +8.5] |"
    assert lines[3] == "| other | 100 | 1 | 1 | +10.0 [-inf, +inf] |"
    assert lines[4].startswith("| other | all | 3 | 5 | +1.7 [")  # 6 of set a, 1 and -2


def test_sets_and_sizes_are_chosen(tmp_path, monkeypatch, capsys):
    RUNS.to_csv(tmp_path / "runs.csv", index=False)
    command = [
        "study_table.py",
        str(tmp_path / "runs.csv"),
        "--sizes",
        "50",
        "--scores",
        "accuracy",
        "--sets",
        "a",
        "b",
    ]
    monkeypatch.setattr("sys.argv", command)
    study_table.main()
    assert capsys.readouterr().out.splitlines()[2].startswith("| other | 50 | 2 | ")


def test_runs_are_added_and_replace_earlier_ones(tmp_path):
    place, table = tmp_path / "new.csv", tmp_path / "table.csv"
    RUNS.to_csv(place, index=False)
    study.add_runs(place, table)
    runs_of({("a", "plain", 50, 0): 71, ("d", "plain", 50, 0): 40}).to_csv(place, index=False)
    study.add_runs(place, table)
    found = pd.read_csv(table)
    assert len(found) == len(RUNS) + 1
    assert found[(found["data"] == "a") & (found["method"] == "plain")]["accuracy"].tolist() == [60, 71]
