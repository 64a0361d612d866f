"""The progress of a training: one count over all models of a run, and lines where the output is no terminal."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from salience.errors import duration
from salience.report import progress as module
from salience.report.progress import Progress


@pytest.fixture
def shown(monkeypatch):
    """A progress outside a terminal whose clock the test sets, and what it has printed."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "monotonic", lambda: clock.now)
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
