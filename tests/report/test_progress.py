"""The progress of a training: one count over all models of a run, and lines where the output is no terminal.

And that of other work, which loops over texts count."""

import os
import re
import sys
from contextlib import contextmanager
from io import StringIO
from threading import Thread
from time import sleep
from types import SimpleNamespace

import pytest
from rich.console import Console

from salience.errors import duration
from salience.report import progress as module
from salience.report import training_progress
from salience.report.progress import Shown
from salience.report.terminal import say
from salience.report.training_progress import Progress
from salience.work import doing, tracked


@pytest.fixture
def shown(monkeypatch):
    """A progress outside a terminal whose clock the test sets, and what it has printed."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(training_progress, "monotonic", lambda: clock.now)
    progress, out = Progress(), StringIO()
    progress.console = Console(file=out, width=200)
    return progress, clock, out


def trained(progress, clock, steps, seconds, begin=0):
    state = SimpleNamespace(max_steps=steps, global_step=begin)
    progress.callback.on_train_begin(None, state, None)
    for step in range(begin + 1, steps + 1):
        clock.now += seconds
        state.global_step = step
        progress.callback.on_step_end(None, state, None)
    progress.callback.on_train_end(None, state, None)


def test_a_line_every_ten_seconds_over_all_models(shown):
    progress, clock, out = shown
    with progress:
        progress.planned(30)
        trained(progress, clock, 10, 4.0)
        trained(progress, clock, 20, 4.0)
    assert out.getvalue().splitlines() == [
        f"step {done} of 30, about {duration(4 * (30 - done))} left" for done in range(3, 30, 3)
    ]


def test_what_an_interrupted_run_has_made_took_no_time(shown):
    progress, clock, out = shown
    progress.planned(20)
    trained(progress, clock, 20, 5.0, begin=10)
    assert out.getvalue().splitlines()[0] == "step 12 of 20, about 40 s left"


def test_a_training_that_nobody_has_planned_has_its_own_steps(shown):
    progress, clock, out = shown
    trained(progress, clock, 4, 10.0)
    assert out.getvalue().splitlines()[-1] == "step 3 of 4, about 10 s left"


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (59, "59 s"), (100, "2 min"), (9000, "2.5 h")])
def test_about_how_long(seconds, words):
    assert duration(seconds) == words


# ------------------------------------------------------------------------------------------------ work that is counted


@pytest.fixture
def soon(monkeypatch):
    """What takes seconds takes hundredths of them."""
    monkeypatch.setattr(module, "INTERVAL", 0.02)
    monkeypatch.setattr(module, "DELAY", 0.02)


def test_work_that_takes_long_has_lines_on_standard_error(soon, capsys):
    """Also while a single step takes long, and of what cannot be counted; standard output stays clean."""
    with Shown(stderr=True):
        for text in tracked(range(4), 4, "predicting"):
            sleep(0.1 if text == 2 else 0.01)
        with doing("tracing the model"):
            sleep(0.1)
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    counts = [line for line in lines if line.startswith("predicting: 2 of 4 texts, ")]
    assert len(counts) > 1 and counts[0].endswith(" texts/s, about 1 s left")
    assert lines.count("tracing the model ...") > 1 and not printed.out


def test_work_that_is_done_soon_says_nothing(capsys):
    with Shown(stderr=True):
        list(tracked(range(4), 4, "predicting"))
    assert capsys.readouterr() == ("", "")


@contextmanager
def terminal(monkeypatch):
    """Inside the `with`, a terminal gets standard output and standard error; a function gives what it was sent."""
    master, slave = os.openpty()
    sent, end = [], "the end"

    def receive():
        while end not in "".join(sent[-2:]):
            sent.append(os.read(master, 1 << 12).decode(errors="replace"))

    reader = Thread(target=receive, daemon=True)
    reader.start()
    with open(slave, "w", buffering=1) as file:
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, file)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")

        def everything() -> str:
            file.write(end)
            file.flush()
            reader.join(20)
            return "".join(sent).removesuffix(end)

        yield everything
    os.close(master)


def test_a_terminal_has_a_bar_with_rate_and_time_left_which_goes_away(soon, monkeypatch):
    with terminal(monkeypatch) as everything:
        with Shown(stderr=True):
            for _ in tracked([100] * 10, 1000, "predicting", "rows", float):
                sleep(0.05)
        sent = everything()
    drawn = re.sub(r"\x1b\[[\d;?]*\w", "", sent)
    assert re.search(r"predicting .* \d+/1000 [\d,]+ rows/s 0:00:0\d", drawn), drawn
    assert sent.endswith("\x1b[2K") and "\x1b[?25h" in sent  # the line is empty, and the cursor is back


def test_a_bar_makes_room_for_what_is_printed(soon, monkeypatch):
    with terminal(monkeypatch) as everything:
        with Shown(stderr=True) as shown:
            drawn = []
            for _ in tracked(range(2), 2, "predicting"):
                sleep(0.2)
                drawn.append(shown.bars.live.is_started)
                say("a row")
        sent = everything()
    assert drawn == [True, True] and sent.count("\x1b[2Ka row\r\n") == 2
