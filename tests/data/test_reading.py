"""Every format gives back what was written, in bounded memory; a source that is none is named."""

import itertools
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from written import NAMES, ROWS, content

from salience.data.reading import column_names, stream


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
    source = write("rows.xlsx", "x")
    assert complaint(stream, source) == (
        f'{source}: unknown kind of file ".xlsx"; known: .csv, .tsv, .jsonl, .json, .parquet, each also with .gz'
    )


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
    modules = "reading, columns, examples, labels, splitting"
    heavy = "{'torch', 'transformers', 'datasets', 'sklearn', 'pandas', 'pyarrow'}"
    check = f"import sys; from salience.data import {modules}; assert not {heavy} & set(sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", check], check=True, env=environment)
