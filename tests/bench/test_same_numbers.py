"""What tells two versions of the code apart: numbers that both have, and commands that fail in the second alone."""

import copy

import pytest

import same_numbers

BEFORE = {
    "numbers": {"train plain / metrics.json": {"test": {"accuracy": 0.5}, "steps": 4}, "refused: train": 2},
    "failed": {"export": "exit code 2"},
    "printed": {
        "train plain": {"out": ["saved: PLACE/run"], "err": []},
        "help train": {"out": ["--steps"], "err": []},
    },
}


@pytest.mark.parametrize(
    ("change", "count", "shown"),
    [
        (lambda after: None, 0, "3 numbers are the same"),
        (lambda after: after["numbers"]["train plain / metrics.json"].update(steps=5), 1, "/ steps: 4 -> 5"),
        (lambda after: after["numbers"].pop("refused: train"), 0, "only before: refused: train\n"),
        (lambda after: after["numbers"].update(more=[1, 2]), 0, "only after: more / 0\n"),
        (
            lambda after: after["printed"].update({"train plain": {"out": ["kept: PLACE/run"], "err": []}}),
            0,
            "+kept: ",
        ),
        (lambda after: after["printed"].pop("help train"), 0, "only before: help train"),
        (lambda after: after["failed"].update(report="exit code 1"), 1, "report fails: exit code 1"),
    ],
)
def test_only_numbers_and_failures_count(change, count, shown, capsys):
    after = copy.deepcopy(BEFORE)
    change(after)
    assert same_numbers.compare(BEFORE, after) == count
    assert shown in capsys.readouterr().out


def test_retired_fields_and_times_are_left_out():
    kept = {"steps": 4, "estimate": [{"accuracy": 0.5}]}
    noise = {"r_drop": 0.0, "unlabelled_ratio": 2, "seconds": 3.1, "versions": {"torch": "2"}}
    assert same_numbers.lasting(kept | noise | {"estimate": [{"accuracy": 0.5, "seconds": 1.0}]}) == kept
    assert same_numbers.normal("read  it in 3.2 s\rLoading weights: 10%|#  | 2/3\nsaved\n") == [
        "read it in TIME",
        "saved",
    ]
