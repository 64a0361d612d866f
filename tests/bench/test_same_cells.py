"""The spread of trainings that two machines have made."""

import json

import same_cells


def results(folder, accuracies):
    """A results file of DropMix's table, of trainings by their seeds."""
    folder.mkdir()
    lines = [
        {"set": "trec", "method": "Bert", "rows": 200, "seed": seed, "model": "minilm", "accuracy": accuracy}
        for seed, accuracy in accuracies.items()
    ]
    (folder / "dropmix-table3.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return folder


def test_differences_are_of_the_trainings_that_both_folders_have(tmp_path):
    one = results(tmp_path / "one", {0: 0.9, 1: 0.8, 2: 0.7})
    other = results(tmp_path / "other", {3: 0.5, 1: 0.79, 0: 0.93})
    found = same_cells.report(one, other).splitlines()[2:]
    assert found == ["| dropmix-table3 | 2 | +1.00 | 2.83 | 3.0 |"]  # +3 and -1 points


def test_a_table_that_only_one_folder_has_is_left_out(tmp_path):
    one, other = results(tmp_path / "one", {0: 0.9, 1: 0.8}), tmp_path / "other"
    other.mkdir()
    assert len(same_cells.report(one, other).splitlines()) == 2
