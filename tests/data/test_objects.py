"""JSON objects, one a line or in an array; faults are named by their line."""

import json

import pytest
from written import NAMES, ROWS

from salience.data.reading import column_names, stream


def test_blank_lines_other_line_ends_and_a_mark_do_no_harm(write):
    source = write("rows.jsonl", '\ufeff\n{"text": "a\u2028b"}\r\n\r\n  \n{"text": "c"}')
    assert [row["text"] for row in stream(source)] == ["a\u2028b", "c"]


def test_columns_that_the_first_row_lacks_are_found(write):
    assert column_names(write("rows.jsonl", '{"text": "a"}\n{"text": "b", "label": 1}\n')) == NAMES


def test_an_array_is_read_piece_by_piece(write, monkeypatch):
    monkeypatch.setattr("salience.data.objects.CHUNK", 7)
    assert list(stream(write("rows.json", json.dumps(ROWS[:-1], indent=1)))) == ROWS[:-1]


def test_json_may_hold_lines_and_jsonl_an_array(write):
    assert list(stream(write("rows.json", '{"a": 1}\n{"a": 2}\n'))) == [{"a": 1}, {"a": 2}]
    assert list(stream(write("rows.jsonl", '[{"a": 1},\n {"a": 2}]\n'))) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
def test_a_line_that_is_not_json(write, complaint, suffix):
    source = write(f"rows.{suffix}", '{"text": "a"}\n\n{"text": \n')
    assert complaint(list, stream(source)) == (
        f"{source}: line 3: not valid JSON (Expecting value); write one object a line, or an array"
    )


def test_a_line_that_is_not_an_object(write, complaint):
    source = write("rows.jsonl", '{"text": "a"}\n"only text"\n')
    assert r'line 2: not a JSON object but "\"only text\"";' in complaint(list, stream(source))


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        ('[\n{"a": 1},\n\n{"a": }]', "line 4: not valid JSON"),
        ('[\n{"a": 1},\n', "line 3: not valid JSON"),
        ('[\n{"a": 1},\n "b"]', "line 3: not a JSON object"),
        ('[\n{"a": 1},\n 2]', "line 3: not a JSON object"),
    ],
)
def test_arrays_name_the_line_too(write, complaint, array, reason):
    assert reason in complaint(lambda source: list(stream(source)), write("rows.json", array))
