"""Benches go on where they were interrupted."""

from kept_rows import keep, kept_rows, missing_runs


def test_runs_that_a_file_has_are_not_made_again(tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    keep(file, [{"set": "b", "seed": 0, "score": 1.0}])
    made = []
    for run in missing_runs(file, seed=[0, 1], set=["a", "b"]):
        keep(file, [run | {"score": 2.0}])
        made.append((run["seed"], run["set"]))
    assert made == [(0, "a"), (1, "a"), (1, "b")]
    assert capsys.readouterr().out.splitlines() == ["0 a", "1 a", "1 b"]
    assert not list(missing_runs(file, seed=[0, 1], set=["a", "b"]))
    assert kept_rows(file)[0] == {"set": "b", "seed": 0, "score": 1.0}


def test_without_a_file_all_runs_are_missing(tmp_path):
    assert list(missing_runs(tmp_path / "none.jsonl", seed=[0])) == [{"seed": 0}]
