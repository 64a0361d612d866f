"""JSON objects, one a line or in an array; faults are named by their line."""

import json

import pytest
from written import NAMES, ROWS

from salience.data.reading import column_names, may_go_on, stream


def test_blank_lines_other_line_ends_and_a_mark_do_no_harm(write):
    source = write("rows.jsonl", '\ufeff\n{"text": "a\u2028b"}\r\n\r\n  \n{"text": "c"}')
    assert [row["text"] for row in stream(source)] == ["a\u2028b", "c"]


def test_columns_that_the_first_row_lacks_are_found(write):
    assert column_names(write("rows.jsonl", '{"text": "a"}\n{"text": "b", "label": 1}\n')) == NAMES


def test_an_array_is_read_piece_by_piece(write, monkeypatch):
    monkeypatch.setattr("salience.data.reading.CHUNK", 7)
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


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
@pytest.mark.parametrize("piece", [7, 1 << 20])
@pytest.mark.parametrize(
    ("rest", "named"),
    [
        ('\n\n[{"text": "b"}]\n', 'line 5: "[{'),
        ("]", 'line 3: "]" follows'),
        ("  garbage", "follows"),
    ],
)
def test_nothing_may_follow_an_array(write, complaint, monkeypatch, name, piece, rest, named):
    monkeypatch.setattr("salience.data.reading.CHUNK", piece)
    source = write(name, '[\n{"text": "a"}\n]' + rest)
    assert named in complaint(lambda: list(stream(source)))


def test_white_space_may_stand_around_an_array(write, monkeypatch):
    monkeypatch.setattr("salience.data.reading.CHUNK", 3)
    assert list(stream(write("rows.json", " \n" * 20 + '[{"a": 1}]' + "\n \t" * 20))) == [{"a": 1}]


HALF = "\\ud83d"  # as JSON writes it


@pytest.mark.parametrize("form", ["%s", "[%s]"])
def test_half_characters_are_replaced_wherever_they_stand(write, form):
    row = '{"teHALFxt": "aHALF", "list": ["HALF", {"HALF": "b"}]}'.replace("HALF", HALF)
    source = write("rows.jsonl", form % row)
    assert list(stream(source)) == [{"te\ufffdxt": "a\ufffd", "list": ["\ufffd", {"\ufffd": "b"}]}]
    assert column_names(source) == ["te\ufffdxt", "list"]


def test_two_halves_are_one_character(write):
    assert list(stream(write("rows.jsonl", f'{{"text": "{HALF}\\ude00"}}'))) == [{"text": "😀"}]


def test_names_that_differ_in_half_characters_are_refused(write, complaint):
    source = write("rows.jsonl", f'{{"{HALF}": 1, "\\ud83e": 2}}')
    assert "line 1: two names of an object are not valid Unicode" in complaint(stream, source)


@pytest.mark.parametrize("content", ['{"a": 1, "text": "x", "text": "y"}', '[{"a": 1, "text": "x", "text": "y"}]'])
def test_a_name_that_stands_twice_is_refused(write, complaint, content):
    source = write("rows.json", content)
    assert complaint(stream, source) == (
        f'{source}: line 1: an object has the name "text" twice; rename or remove one of the two'
    )


@pytest.mark.parametrize("depth", [101, 5000, 200_000])
@pytest.mark.parametrize("row", ['{"text": "a", "x": %s}', '[{"text": "a", "x": %s}]'])
def test_deep_nesting_is_one_line(write, complaint, row, depth):
    source = write("rows.json", row % ("[" * depth + "]" * depth))
    assert complaint(lambda: list(stream(source))) == (
        f"{source}: line 1: lists and objects are nested more than 100 levels deep; a row is an object of texts and "
        "numbers"
    )


def test_an_endless_number_is_one_line(write, complaint):
    for row in ('{"a": %s}', '[{"a": %s}]'):
        assert "line 1: " in complaint(stream, write("rows.json", row % ("1" * 5000)))


def test_a_fault_in_a_long_array_is_named_without_reading_all_of_it(write, complaint, monkeypatch):
    monkeypatch.setattr("salience.data.reading.CHUNK", 100)
    source = write("rows.json", '[\n{"a": }' + ', {"a": 1}' * 1000 + "]")
    read = []
    monkeypatch.setattr(
        "salience.data.reading.may_go_on", lambda error, length: read.append(length) or may_go_on(error, length)
    )
    assert "line 2: not valid JSON" in complaint(stream, source)
    assert max(read) < 200
