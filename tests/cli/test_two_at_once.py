"""Two commands on one folder, started together: one wins, the other says so, and what is left is whole.

Two comparisons share the runs instead, so that both end well.

`SALIENCE_REPEATS` says how often every pair is started; `make test-faults` starts them many times.
"""

import os
import random
from collections import Counter

import pytest

from labelled import started, untimed
from salience.cli.main import main

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("reported")]

REPEATS = int(os.environ.get("SALIENCE_REPEATS", 1))
REFUSALS = ("is being written by another process", "exists: choose another", "an interrupted run of")


@pytest.fixture
def commands(place, run, tmp_path):
    """The commands that write, each on the same place as its twin."""
    output = tmp_path / "out"
    seeds = ["--seeds", "0,1", "--methods", "plain,embedmix", "--steps", "2", "--device", "cpu"]
    return {
        "train": place.train("--estimate", "none", "--output", output),
        "train --overwrite": place.train("--estimate", "none", "--output", output, "--overwrite"),
        "train --resume": place.train("--estimate", "none", "--output", output, "--resume"),
        "predict": ["predict", run, place.test, "--output", output / "labels.csv"],
        "predict --overwrite": ["predict", run, place.test, "--output", output / "labels.csv", "--overwrite"],
        "predict --resume": ["predict", run, place.test, "--output", output / "labels.csv", "--resume"],
        "compare": ["compare", place.data, "--test", place.test, "--model", place.model, "--output", output, *seeds],
        "export": ["export", run, "--output", output],
        "explain": ["explain", run, place.test, "--output", output / "page.html"],
        "faithfulness": ["faithfulness", run, place.test, "--explainer", "gradient", "--rows", "5", "--output",
                         output],
    }  # fmt: skip


def together(first, second, tmp_path, delay: float) -> list[tuple[int, str]]:
    """Starts two commands, the second one later by `delay` seconds; gives exit codes and what was said."""
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    processes = [started(*first, log=logs[0])]
    processes[0].join(delay)
    processes.append(started(*second, log=logs[1]))
    for process in processes:
        process.join(120)
    said = [(process.exitcode, log.read_text()) for process, log in zip(processes, logs, strict=True)]
    for log in logs:
        log.unlink()
    return said


PAIRS = ["train", "train --overwrite", "train --resume", "predict", "predict --overwrite", "predict --resume",
         "compare", "export", "explain", "faithfulness"]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_one_wins_and_the_other_says_so(pair, commands, tmp_path):
    command = list(map(str, commands[pair]))
    assert main(command) == 0
    expected = untimed(tmp_path / "out")
    draw, outcomes = random.Random(pair), Counter()
    for _ in range(REPEATS):
        for name in expected:
            (tmp_path / "out" / name).unlink()
        for folder in sorted((tmp_path / "out").rglob("*"), reverse=True):
            folder.rmdir()
        (tmp_path / "out").rmdir()
        answers = together(command, command, tmp_path, draw.choice([0, 0, 0.05, 0.3, 1]))
        codes = sorted(code for code, _ in answers)
        assert codes in ([0, 0], [0, 2]) and (pair != "compare" or codes == [0, 0]), answers
        for code, said in answers:
            if code == 2:
                assert any(refusal in said.splitlines()[-1] for refusal in REFUSALS), said
                assert "Traceback" not in said
        outcomes[codes[1]] += 1
        assert untimed(tmp_path / "out") == expected
        assert os.listdir(tmp_path) == ["out"]  # no lock and no working folder is left
    print(f"{pair}: {REPEATS} pairs, {outcomes[2]} times one was refused")


def test_a_run_that_is_replaced_is_read_whole(place, tmp_path):
    """Predicting while the run is trained again reads the old one or the new one, or says that none is there."""
    run, labels = tmp_path / "run", tmp_path / "labels.csv"
    for _ in range(REPEATS):
        answers = []
        for seed in ("1", "2"):
            assert main(place.train("--output", run, "--overwrite", "--seed", seed)) == 0
            assert main(["predict", str(run), str(place.test), "--output", str(labels), "--overwrite"]) == 0
            answers.append(labels.read_text())
        said = together(
            place.train("--output", run, "--overwrite", "--seed", "1"),
            ["predict", run, place.test, "--output", labels, "--overwrite"], tmp_path, 0.5,
        )  # fmt: skip
        assert said[0][0] == 0, said
        assert said[1][0] == 0 or (said[1][0] == 2 and "model" in said[1][1]), said
        assert labels.read_text() in answers
