"""Excel workbooks: openpyxl writes what is read, and reads what is written; what .xlsx cannot hold is told."""

import sys
from datetime import datetime

import pytest

from salience.data.reading import column_names, column_types, stream
from salience.data.writing import check_output, writing

openpyxl = pytest.importorskip("openpyxl")


def workbook(file, *sheets, packing=None):
    """A file with sheets of rows, the first of which is the one to read."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    book.save(file)
    return file


def test_the_first_sheet_is_read_below_its_header(tmp_path):
    day = datetime(2026, 11, 28, 9, 30)
    rows = [[], ["text", "label", "number", "day", "sure"], ["a cup", 1, 1.5, day, True], [None] * 5, ["=1+1", "#N/A"]]
    file = workbook(tmp_path / "rows.xlsx", rows, [["other"]], [])
    with pytest.warns(UserWarning, match='the sheet "Sheet" is read, and not "Sheet1"$'):
        found = list(stream(file))
    first = {"text": "a cup", "label": 1, "number": 1.5, "day": day, "sure": True}
    # A formula that no spreadsheet has computed has no value, and an error is none.
    assert found == [first] and column_names(file) == list(first)
    assert [str(kind) for kind in column_types(file).values()] == [
        "string",
        "int64",
        "double",
        "timestamp[us]",
        "bool",
    ]


def test_rows_are_written_as_they_are(tmp_path):
    file, notes = tmp_path / "out.xlsx", []
    rows = [
        {"text": "=1+1", "many": ["a", "b"], "number": 10**17, "float": 0.1},
        {"text": "a\x07b", "many": None, "number": 7, "float": float("nan")},
        {"text": "#N/A", "many": {"a": 1}, "number": True, "float": 1e-3},
    ]
    with writing(file, columns=dict.fromkeys(rows[0], "string"), note=notes.append) as write:
        write(rows)
    assert [list(row.values()) for row in stream(file)] == [
        ["=1+1", '["a", "b"]', str(10**17), 0.1], ["a\ufffdb", None, 7, None], ["#N/A", '{"a": 1}', True, 1e-3],
    ]  # fmt: skip
    sheet = openpyxl.load_workbook(file).active
    assert sheet["A2"].data_type == "s"  # no formula
    assert notes == ["2 cells with NaN, or with a character that .xlsx has not: empty or replaced"]


def test_what_cannot_be_read_or_written_is_told(tmp_path, write, complaint, monkeypatch):
    assert "not a whole .xlsx file" in complaint(stream, write("a.xlsx", "text,label\n"))
    wide = workbook(tmp_path / "wide.xlsx", [["text"], ["a"], ["a", "b"]])
    assert "wide.xlsx: row 2 has a value in column 2" in complaint(lambda: list(stream(wide)))
    assert "no rows" in complaint(stream, workbook(tmp_path / "head.xlsx", [["text"]]))
    assert "column 2 of 3 has no name" in complaint(stream, workbook(tmp_path / "b.xlsx", [["x", "", "y"], [1, 2, 3]]))

    def long():
        with writing(tmp_path / "long.xlsx", columns={"text": "string"}) as write_rows:
            write_rows([{"text": "x" * 32_768}])

    assert 'in the column "text" has 32,768 characters' in complaint(long) and not (tmp_path / "long.xlsx").exists()
    assert "takes no xlsx" in complaint(check_output, link_to_null(tmp_path), False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for asked in (lambda: stream(wide), lambda: check_output(tmp_path / "new.xlsx", False)):
        assert "pip install 'openpyxl>=" in complaint(asked)


def link_to_null(folder):
    link = folder / "null.xlsx"
    link.symlink_to("/dev/null")
    return link
