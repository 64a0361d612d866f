"""Where commands write: what cannot be written is refused before any work, and nothing half is ever left."""

import errno
import json
from dataclasses import replace

import pytest
from matplotlib.figure import Figure
from test_analyse import LABELS, saved_model, tags_of
from test_bad_input import refused

from labelled import labelled_rows, write_csv
from salience.papers.tables import TABLES

MODEL, DATA = "MODEL", "DATA"
COMMANDS = {  # the arguments before the place that is written, and its name
    "explain, html": (["explain", MODEL, DATA, "--output"], "out.html"),
    "explain, jsonl": (["explain", MODEL, DATA, "--output"], "out.jsonl"),
    "correct": (["correct", MODEL, DATA, "--output"], "out.html"),
    "faithfulness": (
        [
            "faithfulness",
            MODEL,
            DATA,
            "--explainer",
            "gradient",
            "--rows",
            "4",
            "--most",
            "3",
            "--at",
            "2",
            "--output",
        ],
        "out",
    ),
    "analyse pos": (["analyse", "pos", MODEL, DATA, "--tags", "pos", "--output"], "out"),
    "analyse channels": (["analyse", "channels", MODEL, DATA, "--output"], "out"),
    "analyse embeddings": (["analyse", "embeddings", MODEL, DATA, "--output"], "out"),
    "analyse attention": (["analyse", "attention", DATA, "--epochs", "1", "--output"], "out"),
    "reproduce": (["reproduce", "uaftc-table2", "--sets", "sst2", "--seeds", "0", "--pictures"], "out"),
}
FOLDERS = [command for command, (_, name) in COMMANDS.items() if name == "out"]
OVERWRITING = [command for command in COMMANDS if command != "reproduce"]  # which always writes into a folder


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A model and labelled texts with tags."""
    folder = tmp_path_factory.mktemp("given")
    rows = [(text, label, " ".join(tags_of(text))) for text, label in labelled_rows(60)]
    write_csv(folder / "texts.csv", rows, ("text", "label", "pos"))
    return {MODEL: saved_model(folder / "tiny", labels=LABELS), DATA: folder / "texts.csv"}


@pytest.fixture
def command(salience, given, tmp_path, monkeypatch):
    """Runs one of the commands on what is given, or on a model and texts that are not there."""
    monkeypatch.chdir(tmp_path)
    small = replace(TABLES["uaftc-table2"](), run=lambda cell, data_dir: {"accuracy": 0.5, "published": 0.5})
    monkeypatch.setitem(TABLES, "uaftc-table2", lambda: small)
    monkeypatch.setattr("salience.papers.table.SOURCES", {})  # no set is read

    def run(name, output, *options, there=True):
        values = given if there else {MODEL: tmp_path / "no-model", DATA: tmp_path / "no-texts.csv"}
        arguments = [values.get(argument, argument) for argument in COMMANDS[name][0]]
        return salience(*arguments, output, *options)

    return run


def below_a_file(folder, name):
    (folder / "file").write_text("kept")
    return folder / "file" / name, "has a file in its path, where a folder is needed"


def dangling(folder, name):
    (folder / name).symlink_to(folder / "nowhere" / name)
    return folder / name, "is a broken link"


def long(folder, name):
    return folder / ("x" * 300 + name), "too long"


def unwritable(folder, name):
    """A file system in which nobody can make a file, whatever the rights of who asks."""
    return f"/sys/{name}", "cannot be written (Permission denied)"


PLACES = [below_a_file, dangling, long, unwritable]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_place_that_cannot_be_written_is_refused_first(place, command, tmp_path, monkeypatch):
    """Before anything is computed, such as a cell of a table."""
    nothing = replace(TABLES["uaftc-table2"](), run=None)
    monkeypatch.setitem(TABLES, "uaftc-table2", lambda: nothing)
    for number, (name, (_, file)) in enumerate(COMMANDS.items()):
        (tmp_path / str(number)).mkdir()
        output, said = place(tmp_path / str(number), file)
        before = sorted(tmp_path.rglob("*"))
        refused(command(name, output), said)
        assert sorted(tmp_path.rglob("*")) == before, name


def test_a_fault_of_the_input_is_told_before_one_of_the_output(command, tmp_path):
    """Who is told to --overwrite first has written the wrong thing with the next command."""
    for name in OVERWRITING:
        (tmp_path / COMMANDS[name][1]).write_text("kept")
        refused(
            command(name, tmp_path / COMMANDS[name][1], there=False), ": no" if "attention" in name else "no-model"
        )


def test_what_is_there_is_kept_first_of_all(command, tmp_path):
    for name in OVERWRITING:
        output = tmp_path / COMMANDS[name][1]
        output.write_text("kept")
        refused(command(name, output), "exists: choose another --output, or --overwrite it")
        assert output.read_text() == "kept"


def test_a_file_is_no_folder(command, tmp_path):
    (tmp_path / "out").write_text("kept")
    for name in FOLDERS:
        options = [] if name == "reproduce" else ["--overwrite"]
        refused(command(name, tmp_path / "out", *options), "out is a file, where a folder is needed")
        assert (tmp_path / "out").read_text() == "kept"


def fill_the_disk(name, monkeypatch):
    """What is written last fails."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "out")

    if name.startswith(("analyse", "reproduce")):
        monkeypatch.setattr(Figure, "savefig", full)
    elif name == "explain, jsonl":
        monkeypatch.setattr("salience.explainers.explanation.as_json", full)
    else:
        pages = {"explain, html": "explanation_page.framed", "correct": "correction_page.framed"}
        monkeypatch.setattr(f"salience.report.{pages.get(name, 'faithfulness_page.page_of')}", full)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_fills_up_leaves_nothing_half(name, command, tmp_path, monkeypatch):
    fill_the_disk(name, monkeypatch)
    answer = command(name, tmp_path / COMMANDS[name][1])
    assert answer.code == 2 and "the disk is full" in answer.err.splitlines()[-1], answer
    # what a table has found is kept, and need not be run again
    assert {file.name for file in tmp_path.iterdir()} <= ({"results"} if name == "reproduce" else set())


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("explain, jsonl", "analyse embeddings") else pytest.mark.whole)
     for name in COMMANDS],
)  # fmt: skip
def test_an_earlier_result_is_replaced_as_a_whole_and_nothing_else(name, command, tmp_path):
    output = tmp_path / COMMANDS[name][1]
    options = [] if name == "reproduce" else ["--overwrite"]
    assert command(name, output, *options).code == 0
    if not output.is_dir():
        first = output.read_text()
        assert command(name, output, *options).code == 0
        assert output.read_text() == first
        return
    first = {file.name: file.read_bytes() for file in output.iterdir()}
    for file in output.iterdir():
        file.write_text("old")
    (output / "thesis.txt").write_text("years of work")
    with pytest.MonkeyPatch.context() as patch:
        fill_the_disk(name, patch)
        assert command(name, output, *options).code == 2
    assert {file.read_text() for file in output.iterdir()} == {"old", "years of work"}
    assert command(name, output, *options).code == 0
    assert {file.name: file.read_bytes() for file in output.iterdir()} == first | {"thesis.txt": b"years of work"}
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_link_to_a_folder_stays_a_link(command, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    assert command("analyse channels", tmp_path / "out", "--overwrite").code == 0
    assert (tmp_path / "out").is_symlink()
    assert json.loads((tmp_path / "real" / "channels.json").read_text())["texts"] == 60
