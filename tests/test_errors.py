"""Messages are one line that a terminal can show, and name the nearest known word."""

import json

from salience.errors import (
    InputError,
    json_printable,
    listed,
    nearest,
    one_line,
    pip_install,
    printable,
    quoted,
    rows_listed,
    unknown,
)


def test_a_message_is_always_one_line():
    assert str(InputError("two\nlines\u2028or three")) == "two lines or three"
    assert isinstance(InputError("x"), ValueError)


def test_the_nearest_word_is_found_in_whichever_case():
    assert nearest("lable", ["text", "label"]) == ' Did you mean "label"?'
    assert nearest("LABEL", ["text", "Label"]) == ' Did you mean "Label"?'
    assert nearest("zzz", ["text", "label"]) == ""


def test_an_unknown_word_lists_the_known_ones():
    assert str(unknown("method", "ssmx", ["tmix", "ssmix", "plain", "embedmix"])) == (
        'unknown method "ssmx"; known: embedmix, plain, ssmix, tmix. Did you mean "ssmix"?'
    )
    assert str(unknown("method", "zzz", ["tmix", "plain"])) == 'unknown method "zzz"; known: plain, tmix.'


def test_values_are_shown_on_one_line_and_cut():
    assert quoted('a\n"b"') == r'"a\n\"b\""'
    assert quoted("x" * 100, longest=10) == '"xxxxxxx..."'
    assert quoted("café") == '"café"'
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"
    assert rows_listed([7]) == "row 7"
    assert rows_listed(range(1, 8), most=2) == "rows 1, 2 and 5 more"


def test_an_error_is_put_on_one_line_and_cut():
    assert one_line(ValueError(" a\r\n\t b\u2028 c ")) == "a b c"
    assert one_line("a  bcd", 3) == "a b"


STEERING = {
    "escape": "\x1b",
    "control sequence": "\x9b",
    "delete": "\x7f",
    "zero": "\x00",
    "right to left": "\u202e",
    "isolate": "\u2067",
    "mark": "\u200f",
    "nothing": "\u200b",
    "byte order mark": "\ufeff",
    "line separator": "\u2028",
    "half a character": "\ud83d",
    "a tag": "\U000e0041",
}


def test_what_steers_a_terminal_is_not_printed():
    for letter in STEERING.values():
        text = f"a{letter}b"
        assert printable(text) == "a\N{REPLACEMENT CHARACTER}b"
        message = quoted(text)
        assert message.isascii() and "\\u" in message and json.loads(message) == text
        assert json_printable(json.dumps([text], ensure_ascii=False)) == f"[{message}]"


READABLE = ["plain", "très bien", "👩‍👩‍👧 👍🏽", "می‌خواهم", "שלום", "ﬁ e\u0301", "\xa0[/b] :x: \\"]


def test_what_can_be_read_is_printed_as_it_is():
    for text in READABLE:
        assert printable(text) == text
        assert json.loads(quoted(text)) == text and "\\u" not in quoted(text)


def test_what_installs_a_part_names_its_packages_which_an_index_has(monkeypatch):
    needed = ["torch>=2", 'onnx>=1.23; extra == "onnx"', 'onnxruntime<3,>=1; extra == "onnx"', 'ray; extra == "other"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: needed)
    assert pip_install("onnx") == "pip install 'onnx>=1.23' 'onnxruntime<3,>=1'"


def test_sources_without_an_installation_name_their_folder(monkeypatch):
    monkeypatch.setattr("importlib.metadata.requires", lambda name: None)
    assert pip_install("onnx") == "pip install '.[onnx]' in the folder of its pyproject.toml"
