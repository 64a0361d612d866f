"""Ctrl-C ends a command with one line, which says how it is continued where it can be."""

import os
import signal
import subprocess
import sys
import time

import pytest

from salience.cli import main as command_line


@pytest.mark.whole
def test_a_training_that_is_interrupted_says_how_it_is_continued(place, tmp_path):
    output, work = tmp_path / "run", tmp_path / ".run.partial"
    arguments = place.train("--steps", "100000", "--estimate", "none", "--output", output)
    process = subprocess.Popen(
        [sys.executable, "-m", "salience", *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        while process.poll() is None and not (work / "recipe.yaml").exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, said) == (
        130, "salience: interrupted; the same command with --resume continues the run\n"
    )  # fmt: skip


@pytest.mark.parametrize("as_code", [True, False], ids=["an exit code", "the exception"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "rows.csv"], "interrupted; the same command with --resume continues the run"),
        (["compare", "rows.csv"], "interrupted; the same command continues the comparison"),
        (["reproduce", "ssmix-table1"], "interrupted; the same command continues the table"),
        (["predict", "run", "train"], "interrupted"),
    ],
)
def test_the_line_names_what_the_command_has(arguments, said, as_code, monkeypatch, capsys):
    def app(**options):
        if as_code:
            return 130
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "program", lambda: app)
    assert command_line.main(arguments) == 130
    assert capsys.readouterr().err == f"salience: {said}\n"


def test_sigterm_is_as_ctrl_c_and_afterwards_as_before(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "program", lambda: lambda **options: signal.raise_signal(signal.SIGTERM))
    assert command_line.main(["train", "rows.csv"]) == 143
    said = "salience: terminated; the same command with --resume continues the run\n"
    assert capsys.readouterr().err == said
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_processes_that_train_together_end_at_once(monkeypatch):
    """One that waits for the others would not see the signal."""
    seen = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(
        command_line, "program", lambda: lambda **options: seen.append(signal.getsignal(signal.SIGTERM))
    )
    command_line.main(["train", "rows.csv"])
    assert seen == [signal.SIG_DFL]
