"""Every command that can take long counts its work, to its end; standard output has none of it."""

import pytest

import salience.cli.main as command_line
from displays import Seen
from labelled import labelled_rows, write_csv
from salience.report import progress

COMMANDS = {  # with the work that is counted, and its number of units
    "predict": (["{run}", "{test}", "--output", "{tmp}/out.csv"], {("predicting", "rows"): 30}),
    "predict to a pipe": (["{run}", "{test}"], {("predicting", "rows"): 30}),
    "suggest": (["{run}", "{tmp}/pool.csv"], {("reading", "rows"): 20}),
    "explain": (["{run}", "{test}"], {("explaining", "texts"): 30}),
    "correct": (["{run}", "{test}", "--output", "{tmp}/page.html"], {("explaining", "texts"): 30}),
    "faithfulness": (
        ["{run}", "{test}", "--explainer", "gradient"],
        {("explaining", "texts"): 30, ("predicting shortened texts", "texts"): 30},
    ),
    "test": (["{run}", "{test}"], {("predicting", "texts"): 30}),
    "audit": (
        ["{data}", "--model", "{model}", "--output", "{tmp}/audit", "--explain"],
        {("encoding", "texts"): 60, ("fitting regressions", "folds"): 5, ("comparing texts", "texts"): 60,
         ("explaining", "texts"): 60},
    ),
    "encoders": (
        ["{data}", "--models", "{model}"], {("tokenising", "texts"): 60, ("fitting regressions", "folds"): 5}
    ),
    "report": (["{run}"], {("explaining", "texts"): 30}),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_work_of_a_command_is_counted(command, place, run, salience, monkeypatch, tmp_path):
    given, expected = COMMANDS[command]
    places = {"run": run, "test": place.test, "data": place.data, "model": place.model, "tmp": tmp_path}
    write_csv(
        tmp_path / "pool.csv", [(f"{text} {number}",) for number, (text, _) in enumerate(labelled_rows(20))], ["text"]
    )
    seen = Seen()
    monkeypatch.setattr(command_line, "progress", lambda: seen)
    answer = salience(command.split()[0], *(each.format(**places) for each in given))
    assert answer.code == 0, answer.err
    moved = {(name, unit): (total, end) for (name, total, unit), end in seen.moved_to().items()}
    for work, units in expected.items():
        assert moved.get(work) == (units, pytest.approx(units)), seen.told
    assert seen.closed and seen.told.count("end") == 0


def test_a_pipe_has_lines_on_standard_error_and_the_same_output(place, run, salience, monkeypatch):
    quiet = salience("explain", run, place.test, "--explainer", "occlusion", "--format", "jsonl")
    monkeypatch.setattr(progress, "INTERVAL", 0.005)
    told = salience("explain", run, place.test, "--explainer", "occlusion", "--format", "jsonl")
    assert told.out == quiet.out and told.code == 0
    lines = [line for line in told.err.splitlines() if line.startswith("explaining: ")]
    assert lines and lines[-1].split(", ")[0].endswith("of 30 texts")
