"""The folder of a run: what is replaced and resumed, and what is left alone."""

import json

import pytest

from salience.errors import InputError
from salience.runs.folder import (
    MANIFEST,
    RECIPE,
    RunFolder,
    add_to_manifest,
    check_replaceable,
    kept_precision,
    trained_columns,
    written_by_run,
)

SETTINGS = {"data": "rows.csv", "seed": 0, "checksums": {"rows.csv": "1"}, "precision": "bf16", "text": "review",
            "text_pair": None, "label": "stars"}  # fmt: skip


def write_run(output, **settings) -> None:
    folder = RunFolder(output, **settings)
    with folder.held():
        folder.open(SETTINGS)
        folder.model.mkdir()
        (folder.model / RECIPE).write_text((folder.work / RECIPE).read_text())
        folder.publish()


def test_a_run_is_published_whole_and_replaced_only_on_request(tmp_path):
    output = tmp_path / "run"
    write_run(output)
    assert written_by_run(output) == {MANIFEST, RECIPE} and list(tmp_path.iterdir()) == [output]
    assert trained_columns(output).text == "review" and kept_precision(output) == "bf16"
    with pytest.raises(InputError, match="exists: choose another"):
        write_run(output)
    write_run(output, overwrite=True)
    add_to_manifest(output, "report.html")
    assert "report.html" in written_by_run(output)
    (output / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        write_run(output, overwrite=True)


def test_what_killed_commands_and_python_left_in_a_folder_does_not_count(tmp_path):
    """Folders of its own temporary names, and compiled files; others are somebody's."""
    output = tmp_path / "export"
    write_run(output)
    for name, counts in (
        (".export.0123abcd.unfinished", False), ("__pycache__", False), (".export.unfinished", True),
    ):  # fmt: skip
        (output / name).mkdir()
        (output / name / "model.onnx").write_text("half")
        if counts:
            with pytest.raises(InputError, match=r"did not write .*model\.onnx"):
                check_replaceable(output, "export", "a run")
        else:
            check_replaceable(output, "export", "a run")


def test_what_no_run_wrote_is_not_touched(tmp_path):
    output = tmp_path / "run"
    output.write_text("a file")
    with pytest.raises(InputError, match="is not a run of salience"):
        write_run(output, overwrite=True)
    output.unlink()
    output.mkdir()
    (output / "mine").write_text("")
    with pytest.raises(InputError, match="is not a run of salience"):
        write_run(output, overwrite=True)
    work = RunFolder(tmp_path / "other").work
    work.write_text("")
    with pytest.raises(InputError, match="is in the way"):
        write_run(tmp_path / "other")
    work.unlink()
    work.mkdir()
    (work / "mine").write_text("")
    with pytest.raises(InputError, match="is in the way and was not written"):
        write_run(tmp_path / "other")
    with pytest.raises(InputError, match="--data reads"):
        RunFolder(tmp_path, inputs={"--data": tmp_path / "rows.csv"})
    with pytest.raises(InputError, match="cannot be replaced by a run"):
        RunFolder("/")


def test_an_interrupted_run_is_resumed_with_its_own_settings(tmp_path):
    output = tmp_path / "run"
    first = RunFolder(output)
    with first.held():
        first.open(SETTINGS)
        (first.checkpoints / "step").write_text("kept")
    with pytest.raises(InputError, match="--resume it, or --overwrite it"):
        write_run(output)
    resumed = RunFolder(output, resume=True)
    for name, value in (("seed", 1), ("checksums", {"rows.csv": "2"})):
        with pytest.raises(InputError, match=name if name == "seed" else "rows.csv"), resumed.held():
            resumed.open(SETTINGS | {name: value})
    with resumed.held():
        resumed.open(SETTINGS)
    assert (resumed.checkpoints / "step").read_text() == "kept" and kept_precision(output) == "bf16"
    resumed.discard_work()
    assert not resumed.work.exists() and kept_precision(output) is None


def test_an_older_run_that_was_moved_away_comes_back(tmp_path):
    output = tmp_path / "run"
    write_run(output)
    killed = RunFolder(output, overwrite=True)
    with killed.held():
        killed.open(SETTINGS)
        output.rename(killed.replaced)
    with RunFolder(output, overwrite=True).held():
        assert written_by_run(output) == {MANIFEST, RECIPE}


@pytest.mark.parametrize("content", [b"\xff", b"text", b"- a", b"{text: 3, text_pair: null, label: a}", b"a: ["])
def test_a_recipe_that_names_no_columns_names_none(content, tmp_path):
    (tmp_path / RECIPE).write_bytes(content)
    assert trained_columns(tmp_path) is None and kept_precision(tmp_path) is None


def test_a_manifest_of_something_else_lists_nothing(tmp_path):
    for content in ("", "[]", '{"written by": "make"}', json.dumps({"written by": 3, "files": []})):
        (tmp_path / MANIFEST).write_text(content)
        assert written_by_run(tmp_path) == set()
    content = {"written by": "salience 0", "files": ["a", "../b", "/c"]}
    (tmp_path / MANIFEST).write_text(json.dumps(content))
    assert written_by_run(tmp_path) == {MANIFEST, "a"}
