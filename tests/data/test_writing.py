"""Every value comes back from the file that it was written to, or a line says what could not be."""

import csv
import datetime
import json
import os
import threading
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from salience.data.tables import json_types, python_values
from salience.data.writing import check_output, writing

TEXT = {"text": pyarrow.string()}


def written(file, rows, columns=None, **options):
    with writing(file, columns=columns, **options) as write:
        for row in rows:
            write([row])
    return file


def read(file: Path) -> list[dict]:
    return pyarrow.parquet.read_table(file).to_pylist()


def test_json_has_no_nan(tmp_path):
    notes = []
    rows = [{"a": float("nan"), "b": [1.5, float("inf"), {"c": -float("inf")}], "d": "NaN"}, {"a": 1}]
    file = written(tmp_path / "out.jsonl", rows, note=notes.append)
    assert [json.loads(line, parse_constant=pytest.fail) for line in file.read_text().splitlines()] == [
        {"a": None, "b": [1.5, None, {"c": None}], "d": "NaN"}, {"a": 1},
    ]  # fmt: skip
    assert len(notes) == 1 and notes[0].startswith("1 row with NaN") and notes[0].endswith("written as null")


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1"]


def test_safe_csv_leads_formulas_by_an_apostrophe(tmp_path):
    columns = {"=text": pyarrow.string(), "number": pyarrow.float64()}
    rows = [{"=text": text, "number": -1.5} for text in [*FORMULAS, "a=1", "", None]]
    for safe, mark in ((True, "'"), (False, "")):
        file = written(tmp_path / f"{safe}.csv", rows, columns, safe_csv=safe)
        with file.open(newline="", encoding="utf-8") as opened:
            header, *found = csv.reader(opened)
        assert header == [f"{mark}=text", "number"]
        assert found == [[mark + text, "-1.5"] for text in FORMULAS] + [["a=1", "-1.5"], ["", "-1.5"], ["", "-1.5"]]


def test_lists_and_objects_are_json_in_csv(tmp_path):
    values = [["it's", "café"], [], {"a": [1, None, True, {"b": "c"}]}, [[1.5]], {}]
    rows = [{"value": value} for value in [*values, [float("nan"), float("inf")], pyarrow.scalar(["x"]), [b"x"]]]
    file = written(tmp_path / "out.csv", rows, {"value": pyarrow.string()})
    with file.open(newline="", encoding="utf-8") as opened:
        found = [row["value"] for row in csv.DictReader(opened)]
    expected = [*values, [None, None], ["x"], ["b'x'"]]
    assert [json.loads(cell, parse_constant=pytest.fail) for cell in found] == expected
    assert "café" in found[0]


ODD = {
    "timestamp": pyarrow.array([3 * 10**17, 0, None], pyarrow.timestamp("us")),
    "date": pyarrow.array([10**9, 0, None], pyarrow.date32()),
    "nanoseconds": pyarrow.array([5, 0, None], pyarrow.time64("ns")),
    "precise": pyarrow.array([5, 0, None], pyarrow.timestamp("ns")),
    "list": pyarrow.array([[3 * 10**17], [], None], pyarrow.list_(pyarrow.timestamp("us"))),
    "object": pyarrow.array([{"at": 3 * 10**17}, None, {}], pyarrow.struct([("at", pyarrow.timestamp("us"))])),
    "decimal": pyarrow.array([Decimal("1.50"), None, Decimal("2")], pyarrow.decimal128(5, 2)),
    "bytes": pyarrow.array([b"\xff", b"", None], pyarrow.binary()),
    "zone": pyarrow.array([1, None, 3], pyarrow.timestamp("us", "Europe/Nowhere")),
    "far zone": pyarrow.array([3 * 10**17, None, 3], pyarrow.timestamp("us", "Europe/Berlin")),
    "dictionary": pyarrow.array(["a", "b", None]).dictionary_encode(),
    "map": pyarrow.array([[("a", 1)], [], None], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    "small": pyarrow.array([1, 2, None], pyarrow.int8()),
    "nothing": pyarrow.nulls(3),
}


def test_every_type_comes_back_from_parquet_and_can_be_written_as_text(tmp_path):
    columns = [python_values(column) for column in ODD.values()]
    rows = [dict(zip(ODD, row, strict=True)) for row in zip(*columns, strict=True)]
    types = {name: column.type for name, column in ODD.items()}
    table = pyarrow.parquet.read_table(written(tmp_path / "out.parquet", rows, types))
    for name, column in ODD.items():
        assert table[name].combine_chunks() == column, name
    for suffix in (".csv", ".jsonl"):
        assert written(tmp_path / f"out{suffix}", rows, types).read_text(encoding="utf-8")


def test_a_time_that_python_lacks_is_written_as_text(tmp_path):
    rows = [{"at": value} for value in python_values(ODD["nanoseconds"])]
    lines = written(tmp_path / "out.jsonl", rows).read_text().splitlines()
    assert lines == ['{"at": "00:00:00.000000005"}', '{"at": "00:00:00.000000000"}', '{"at": null}']


MIXED = [
    ({"a": None}, {"a": 1}, {"a": None}),
    ({"a": 1}, {"a": 2.5}),
    ({"a": True}, {"a": False}),
    ({"a": [1]}, {"a": []}, {"a": [2.5]}),
    ({"a": {"x": 1}}, {"a": {"y": "z"}}),
    ({"a": [None]}, {"a": ["x"]}),
    ({"a": -(2**63)}, {"a": 2**63 - 1}),
    ({"b": 1}, {"a": "late"}),
]


def test_objects_of_like_values_come_back_from_parquet(tmp_path):
    for number, rows in enumerate(MIXED):
        found = read(written(tmp_path / f"{number}.parquet", rows, json_types(rows, "")))
        names = list(dict.fromkeys(name for row in rows for name in row))
        assert all(list(row) == names for row in found)
        for row, expected in zip(found, rows, strict=True):
            assert {name: known(row[name]) for name in expected} == expected


def nested(levels: int) -> list:
    return [nested(levels - 1)] if levels > 1 else [1]


def known(value):
    """Parquet gives every object all names of the column's objects."""
    return {name: part for name, part in value.items() if part is not None} if isinstance(value, dict) else value


UNLIKE = [
    ([1, "a"], ["1", "a"]),
    ([True, 1], ["true", "1"]),
    ([2**60 + 1, 0.5], [str(2**60 + 1), "0.5"]),
    ([2**64, 1], [str(2**64), "1"]),
    ([[1], {"b": "é"}], ["[1]", '{"b": "é"}']),
    ([{}, {}], ["{}", "{}"]),
    ([[1], ["a"]], ["[1]", '["a"]']),
    ([float("nan"), "a"], ["null", "a"]),
    ([nested(40), nested(1)], ["[" * 40 + "1" + "]" * 40, "[1]"]),
]


def test_objects_of_unlike_values_become_texts(tmp_path):
    for number, (values, expected) in enumerate(UNLIKE):
        rows = [{"a": value} for value in values]
        found = read(written(tmp_path / f"{number}.parquet", rows, json_types(rows, "")))
        assert [row["a"] for row in found] == expected


def test_names_that_no_table_can_have(complaint):
    for name, reason in (("", "has no name"), (" text", "twice")):
        assert reason in complaint(json_types, [{"text": "a"}, {name: "b"}], "a.jsonl")
    rows = ({f"{number}": 1} for number in range(20_000))
    assert complaint(json_types, rows, "a.jsonl").startswith("a.jsonl: the objects have more than 10,000 names")


def test_what_does_not_fit_the_columns_is_one_line_and_no_file(complaint, tmp_path):
    rows = [{"text": "a"}, {"text": "b", "late": 1}]
    for name in ("out.csv", "out.parquet"):
        assert 'the name "late" was not there' in complaint(written, tmp_path / name, rows, TEXT)
    rows = [{"at": datetime.date(2020, 1, 1)}, {"at": "text"}]
    message = complaint(written, tmp_path / "out.parquet", rows, {"at": pyarrow.date32()})
    assert 'the column "at" holds a value that parquet\'s type date32[day] cannot' in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "expected"), [("out", "text\r\na\r\n"), ("out.jsonl", '{"text": "a"}\n')])
def test_a_pipe_is_written_directly(name, expected, tmp_path):
    os.mkfifo(tmp_path / name)
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / name).read_bytes().decode()))
    reader.start()
    written(tmp_path / name, [{"text": "a"}], TEXT)
    reader.join()
    assert read == [expected]
    assert (tmp_path / name).is_fifo()


def test_what_is_open_already_goes_on_where_it_stands(tmp_path):
    with (tmp_path / "log").open("w+") as file:
        file.write("before\n")
        file.flush()
        written(Path(f"/dev/fd/{file.fileno()}"), [{"text": "a"}], TEXT)
        file.seek(0)
        assert file.read() == "before\ntext\na\n"


def test_outputs_that_cannot_be_written(tmp_path, complaint):
    os.mkfifo(tmp_path / "out.parquet")
    assert "is a pipe or a device" in complaint(written, tmp_path / "out.parquet", [{"text": "a"}], TEXT)
    assert 'unknown suffix of --output ".txt"' in complaint(written, tmp_path / "out.txt", [], TEXT)
    assert "--safe-csv is about csv files" in complaint(check_output, tmp_path / "out.jsonl", False, True)
    (tmp_path / "out.csv").touch()
    assert "--overwrite" in complaint(check_output, tmp_path / "out.csv", False)
