"""Every format gives back what was written, in bounded memory; a source that is none is named."""

import itertools
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from written import NAMES, ROWS, content

from salience.data.reading import column_names, column_types, stream


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", content(ROWS))
def test_every_format_gives_back_every_text(write, name, packed):
    source = write(name + packed, content(ROWS)[name])
    assert list(stream(source)) == ROWS
    assert list(stream(Path(source))) == ROWS
    assert column_names(source) == NAMES


def test_upper_case_suffixes_are_known_too(write):
    assert list(stream(write("ROWS.CSV", "text,label\na,b\n"))) == [{"text": "a", "label": "b"}]


def test_a_missing_file_suggests_its_neighbour(write, tmp_path, complaint):
    write("train.csv", "text,label\na,b\n")
    missing = tmp_path / "trian.csv"
    assert complaint(stream, missing) == f'{missing}: no such file. Did you mean "train.csv"?'
    assert complaint(stream, tmp_path / "no" / "rows.csv").endswith("rows.csv: no such file.")
    # It has the form of a hub name, but its folder is here.
    assert "no such file" in complaint(stream, tmp_path / "train")


def test_a_missing_file_in_this_folder_is_no_hub_name(write, monkeypatch, tmp_path, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for source in ("train.csv", "train.txt", "data/train", "train.json.gz"):
        assert complaint(stream, source) == f"{source}: no such file."


def test_an_unknown_suffix_lists_the_known_ones(write, complaint):
    known = "known: .csv, .tsv, .jsonl, .json, .parquet, each also with .gz"
    for suffix, remedy in ((".doc", ""), (".xlsx", ". In the spreadsheet, save it as csv")):
        source = write(f"rows{suffix}", "x")
        assert complaint(stream, source) == f'{source}: unknown kind of file "{suffix}"; {known}{remedy}'


def test_a_folder(write, tmp_path, complaint):
    assert complaint(stream, tmp_path) == f"{tmp_path}: this is a folder; give a file"
    write("b.csv", "text\nx")
    write("a.jsonl.gz", "{}")
    assert complaint(stream, tmp_path).endswith('give one of its files: "a.jsonl.gz", "b.csv"')


@pytest.mark.parametrize("name", ["no.csv", "no.tsv", "no.jsonl", "no.json", "no.parquet"])
def test_an_empty_file(write, complaint, name):
    source = write(name, "")
    assert complaint(stream, source) == f"{source}: the file is empty (0 bytes)"


@pytest.mark.parametrize("name", ["no.csv", "no.tsv", "no.csv.gz", "no.jsonl", "no.json", "no.jsonl.gz"])
@pytest.mark.parametrize("content", [" \n\n\t\n", "\ufeff\n"])
def test_a_blank_file(write, complaint, name, content):
    message = complaint(stream, write(name, content))
    assert "empty" in message or "no rows" in message


@pytest.mark.parametrize(
    ("name", "content"), [("no.csv", "text,label\n"), ("no.tsv", "text\tlabel"), ("no.json", "[ ]")]
)
def test_a_header_alone(write, complaint, name, content):
    source = write(name, content)
    assert complaint(stream, source) == f"{source}: no rows; a header alone, or nothing, is in it"


@pytest.mark.parametrize("name", ["many.csv", "many.tsv", "many.jsonl", "many.json", "many.parquet"])
def test_many_rows_take_no_more_memory_than_few(write, name):
    rows = [{"text": f"number {number}" + " word" * 400, "label": "x"} for number in range(20_000)]
    source = write(name, content(rows)[name.replace("many", "rows")])
    tracemalloc.start()
    try:
        number = itertools.count()
        assert all(row["text"].startswith(f"number {next(number)} ") for row in stream(source))
        assert next(number) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 16e6  # the texts take 40 MB
    finally:
        tracemalloc.stop()


def test_nothing_heavy_is_imported_before_it_is_needed():
    modules = "reading, columns, task, labels, splitting, writing"
    heavy = "{'torch', 'transformers', 'datasets', 'sklearn', 'pandas', 'pyarrow'}"
    check = f"import sys; from salience.data import {modules}; assert not {heavy} & set(sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", check], check=True, env=environment)


@pytest.mark.parametrize("function", [stream, column_names, column_types])
def test_a_text_in_place_of_a_file_is_one_line(complaint, function):
    text = "the cup was lovely, and so was the long evening " * 20
    assert complaint(function, text) == (
        f'"{text[:57]}...": this is too long for the name of a file; name a file of texts, or a data set on the hub'
    )
    assert "no file can have this name" in complaint(function, "a\x00b")
    assert "is too long" in complaint(function, "x/" * 5000)


def test_a_link_to_nowhere_is_one_line(complaint, tmp_path):
    (tmp_path / "rows.csv").symlink_to("none.csv")
    assert complaint(stream, tmp_path / "rows.csv").endswith("this is a link to a file that does not exist")


def test_a_pipe_is_one_line(complaint, tmp_path):
    os.mkfifo(tmp_path / "rows.jsonl")
    assert "this is a pipe or a device" in complaint(stream, tmp_path / "rows.jsonl")


def test_a_folder_that_is_closed_to_us_is_one_line(complaint, tmp_path, monkeypatch):
    def stat(self, **_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", stat)
    assert complaint(stream, "a/b.csv") == "a/b.csv: the file cannot be read (Permission denied)"


def test_the_types_of_text_files_are_those_of_all_rows(write):
    rows = [{"text": "a", "only": None}] * 1500 + [{"only": 1, "late": [1]}, {"late": [2.5], "only": 2.5}]
    source = write("rows.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert {name: str(kind) for name, kind in column_types(source).items()} == {
        "text": "string", "only": "double", "late": "list<item: double>",
    }  # fmt: skip
    assert {name: str(kind) for name, kind in column_types(write("rows.csv", "a,b\n1,2\n")).items()} == {
        "a": "string", "b": "string",
    }  # fmt: skip


def test_standard_input_is_not_read(complaint, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for read in (stream, column_names):
        assert complaint(read, "-") == "standard input is not read; give a file"
    (tmp_path / "-").write_text("text\na\n")
    assert "unknown kind of file" in complaint(stream, "-")
