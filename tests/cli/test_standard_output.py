"""Standard output of any encoding, or a closed one: data are UTF-8, text for people is readable, errors are a line."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import salience.classify.classifier
from labelled import labelled_rows, write_csv
from salience.cli.main import main, program
from salience.models.loading import load_trained

NAMES = {"sport": "größe", "music": "悪い", "food": "naïve 🙂"}
ROWS = [(f"{text} – 悪い 🙂", NAMES[label]) for text, label in labelled_rows(36)]
ENCODINGS = ["ascii", "latin-1", "cp1252", "koi8-r", "shift_jis", "utf-16", "cp037", "utf-8"]
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12)
# What the commands read and write stands for itself in capitals.
DATA = {
    "predict": ["predict", "RUN", "ROWS"],
    "explain": ["explain", "RUN", "ROWS", "--format", "jsonl"],
    "suggest": ["suggest", "MODEL", "ROWS", "--count", "5"],
}
PEOPLE = {
    "explain": ["explain", "RUN", "ROWS"],
    "explainers": ["explain", "--list-explainers"],
    "faithfulness": ["faithfulness", "RUN", "ROWS", "--explainer", "gradient", "--most", "2", "--at", "1"],
    "test": ["test", "RUN", "ROWS"],
    "correct": ["correct", "RUN", "ROWS", "--output", "OUT.html", "--overwrite"],
    "demo-data": ["demo-data", "NEW"],
    "tables": ["reproduce", "--list-tables"],
    "audit": ["audit", "ROWS", "--folds", "2", "--model", "MODEL", "--output", "OUT", "--overwrite"],
    "describe": ["describe", "LABELS", "--model", "MODEL", "--output", "DESCRIBED", "--overwrite"],
    "encoders": ["encoders", "TRAINED", "--models", "MODEL", "--label", "label"],
    "push": ["push", "RUN", "me/reviews", "--dry-run"],
    "methods": ["methods"],
    "card": ["methods", "ssmix"],
    "version": ["--version"],
    "help": ["train", "--help"],
    "report": ["report", "RUN"],
    "thresholds": ["thresholds", "ESTIMATED"],
    "distill": ["distill", "RUN", "ROWS", "--model", "MODEL", "--steps", "2", "--output", "NEW"],
    "compare": ["compare", "TRAINED", "--test", "ROWS", "--model", "MODEL", "--methods", "plain,ssmix", "--seeds",
                "0,1", "--steps", "2", "--label", "label", "--output", "NEW"],
    "analyse": ["analyse", "attention", "TRAINED", "--text", "text", "--label", "label", "--epochs", "1", "--output",
                "NEW"],
}  # fmt: skip
LONG = ("report", "thresholds", "distill", "compare", "analyse")
SLOW = [pytest.param(name, marks=pytest.mark.whole) for name in LONG]
QUICK = [name for name in PEOPLE if name not in LONG]


@pytest.fixture(scope="module")
def given_files(place, tmp_path_factory) -> dict[str, Path]:
    """A run whose labels and texts are in no encoding but UTF-8, and rows for it."""
    folder = tmp_path_factory.mktemp("made")
    files = {
        "RUN": folder / "run", "MODEL": place.model, "TRAINED": write_csv(folder / "train.csv", ROWS),
        "ROWS": write_csv(folder / "rows.csv", ROWS[:6]), "LABELS": folder / "labels.yaml", "OUT": folder / "悪い",
        "DESCRIBED": folder / "naïve", "OUT.html": folder / "悪い.html", "NEW": folder / "größe",
    }  # fmt: skip
    files["LABELS"].write_text("".join(f"{name}: [{name}]\n" for name in NAMES.values()), encoding="utf-8")
    assert main(place.train("--test", files["ROWS"], "--output", files["RUN"], data=files["TRAINED"])) == 0
    return files


@pytest.fixture
def loaded_once(monkeypatch):
    """Loading the same tiny model for every example would take most of the time."""
    monkeypatch.setattr(salience.classify.classifier, "load_trained", cache(load_trained))


@pytest.fixture
def files(request, given_files, loaded_once) -> dict[str, Path]:
    """The files of a command of this test, which makes a new folder; an estimate only where it is read."""
    shutil.rmtree(given_files["NEW"], ignore_errors=True)
    own = request.getfixturevalue("command") if "command" in request.fixturenames else ""
    return given_files | ({"ESTIMATED": request.getfixturevalue("run")} if own == "thresholds" else {})


def asked(arguments, files) -> list[str]:
    return [str(files.get(argument, argument)) for argument in arguments]


def printed(arguments, encoding: str) -> tuple[int, bytes, str]:
    """The exit code of a command, what it writes to a standard output of this encoding, and its errors."""
    raw, said = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, encoding=encoding)
    with redirect_stdout(out), redirect_stderr(said):
        code = main(arguments)
    out.flush()
    return code, raw.getvalue(), said.getvalue()


fuzzed = settings(
    max_examples=int(os.environ.get("SALIENCE_EXAMPLES", 6)),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@fuzzed
@given(
    command=st.sampled_from(list(DATA)), encoding=st.sampled_from(ENCODINGS), texts=st.lists(TEXTS, max_size=4)
)  # fmt: skip
def test_data_are_utf_8_whatever_the_encoding(command, encoding, texts, given_files, loaded_once, tmp_path):
    texts = ["bread – 悪い 🙂", *texts]
    rows = write_csv(tmp_path / "rows.csv", [(text,) for text in texts], ("text",))
    code, out, said = printed(asked(DATA[command], given_files | {"ROWS": rows}), encoding)
    assert code == 0, said
    text = out.decode("utf-8")
    if command == "explain":
        found = [json.loads(line) for line in text.splitlines()]
        assert found[0]["words"] == ["bread", "–", "悪", "い", "🙂"]
        assert set(found[0]["probabilities"]) == set(NAMES.values())
        return
    found = [row["text"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    if command == "predict":
        assert found == texts
    else:  # no text twice, and none without words
        assert texts[0] in found and set(found) <= set(texts)


def test_every_command_is_here():
    """But for two: the demo serves pages, and export prints nothing to standard output."""
    here = {arguments[0] for arguments in (DATA | PEOPLE).values()} - {"--version"}
    assert here | {"demo", "export"} == {*program().commands}


@pytest.mark.parametrize("command", [*QUICK, *SLOW])
def test_text_for_people_is_printed_in_any_encoding(command, files):
    for encoding in ("ascii", "cp1252", "shift_jis", "cp037"):
        shutil.rmtree(files["NEW"], ignore_errors=True)
        code, out, said = printed(asked(PEOPLE[command], files), encoding)
        assert code == 0, (encoding, said)
        assert out.decode(encoding).strip(), encoding


@pytest.mark.parametrize("encoding", ["ascii", "shift_jis"])
def test_a_training_says_what_it_says(encoding, place, given_files, tmp_path):
    asked = place.train("--test", given_files["ROWS"], "--output", tmp_path / "悪い", data=given_files["TRAINED"])
    code, out, said = printed(asked, encoding)
    assert code == 0, said
    text = out.decode(encoding)
    assert "3 test texts" in text and "\\U0001f642" in text and "saved: " in text


def to_no_reader(arguments, monkeypatch, capsys) -> tuple[int, str]:
    """The exit code and the errors of a command whose output goes to a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with monkeypatch.context() as patch, open(writing, "w") as pipe:
        patch.setattr(sys, "stdout", pipe)
        capsys.readouterr()
        code = main(arguments)
        return code, capsys.readouterr().err


@pytest.mark.parametrize("command", [*DATA, "explain for people", *QUICK[1:], *SLOW])
def test_a_reader_that_has_stopped_is_a_line(command, files, monkeypatch, capsys):
    arguments = asked(DATA.get(command) or PEOPLE[command.split()[0]], files)
    code, said = to_no_reader(arguments, monkeypatch, capsys)
    last = said.splitlines()[-1]  # of some commands, it also says how they are continued
    assert code == 1 and last.startswith("salience: the reader of the output has stopped before its end"), said


def test_a_training_whose_reader_has_stopped_can_be_continued(place, monkeypatch, capsys, tmp_path):
    code, said = to_no_reader(place.train("--output", tmp_path / "run"), monkeypatch, capsys)
    assert code == 1 and said.splitlines()[-1].endswith("; the same command with --resume continues the run")
    assert main([*place.train("--output", tmp_path / "run"), "--resume"]) == 0


@pytest.mark.parametrize("command", [*DATA, *PEOPLE])
def test_a_closed_output_is_refused_before_any_work(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    code = main([*(DATA.get(command) or PEOPLE[command])])  # of files that are not there
    said = capsys.readouterr().err
    assert code == 2 and len(said.splitlines()) == 1 and "standard output is closed" in said, said


def test_closed_errors_leave_the_data_alone(given_files, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    code = main(asked(DATA["predict"], given_files))
    monkeypatch.undo()
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert code == 0 and [row["text"] for row in rows] == [text for text, _ in ROWS[:6]]


@pytest.mark.whole
@pytest.mark.parametrize("end", [">&-", "| true", "2>&1 | true", ">/dev/full", "2>&-"])
@pytest.mark.parametrize("command", ["predict", "methods"])
def test_a_process_ends_with_a_line_and_its_code(command, end, given_files):
    """Nor does Python complain at its exit, which would make the code 120."""
    arguments = asked(DATA.get(command) or PEOPLE[command], given_files)
    script = f'{{ "$@"; echo "code $?" >&3; }} {end}'.replace("; } |", "; } 3>&3 |")
    reading, writing = os.pipe()
    done = subprocess.run(
        ["bash", "-c", f'exec 3>&{writing}; {script}', "bash", sys.executable, "-m", "salience", *arguments],
        capture_output=True, text=True, pass_fds=[writing], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    os.close(writing)
    with open(reading) as told:
        code = told.read()
    expected, line = {
        ">&-": (2, "standard output is closed"), "| true": (1, "the reader of the output has stopped"),
        "2>&1 | true": (1, ""), ">/dev/full": (2, "the disk is full"), "2>&-": (0, ""),
    }[end]  # fmt: skip
    assert code == f"code {expected}\n", done.stderr
    last = done.stderr.splitlines()[-1] if done.stderr else ""
    assert last.startswith(f"salience: {line}") if line else not done.stderr, done.stderr


@pytest.mark.whole
@pytest.mark.parametrize("locale", [{"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C", "PYTHONUTF8": "0",
                                                                      "PYTHONCOERCECLOCALE": "0"}])  # fmt: skip
def test_a_process_of_another_locale(locale, given_files):
    asked_for = [sys.executable, "-m", "salience", *asked(DATA["predict"], given_files)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | locale
    done = subprocess.run(asked_for, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode("utf-8"), newline="")))
    assert [row["text"] for row in rows] == [text for text, _ in ROWS[:6]]
