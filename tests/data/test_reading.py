"""Every format gives back what was written, in bounded memory; whatever cannot be read is named by file and place."""

import codecs
import csv
import gzip
import itertools
import json
import os
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import pandas as pd
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from written import NAMES, PACKED, ROWS, content, packed, parquet, table

import families
from salience.data.reading import column_names, column_types, form_for, may_go_on, stream
from salience.data.task import read_part
from salience.data.writing import writing
from salience.errors import InputWarning

TEXT = st.text()  # with control characters and every other one; half characters are tested by themselves
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


# What is written by the csv module, json and pyarrow comes back.


@FEW
@given(
    rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    packed=st.sampled_from(["", ".gz"]),
)
def test_any_csv(write, rows, delimiter, quoting, encoding, packed):
    rows = [dict(zip(NAMES, row, strict=True)) for row in rows]
    source = write("any.csv" + packed, table(rows, delimiter, quoting=quoting), encoding)
    assert list(stream(source, "utf-8" if encoding == "utf-8-sig" else encoding)) == rows
    alone = [{"text": row["text"]} for row in rows]
    assert list(stream(write("one.csv", table(alone)))) == alone  # a single column keeps its empty texts


@FEW
@given(
    rows=st.lists(st.dictionaries(TEXT.filter(str.strip), VALUES, min_size=1, max_size=3), min_size=1, max_size=5),
    form=st.sampled_from(["lines", "array", "indented"]),
    ascii=st.booleans(),
    packed=st.sampled_from(["", ".gz"]),
    chunk=st.sampled_from([3, 7, 1 << 20]),
)
def test_any_json(write, rows, form, ascii, packed, chunk):
    text = "\n".join(json.dumps(row, ensure_ascii=ascii) for row in rows)
    if form != "lines":
        text = json.dumps(rows, ensure_ascii=ascii, indent=1 if form == "indented" else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("salience.data.reading.CHUNK", chunk)
        assert list(stream(write(f"any.json{packed}", text))) == rows


@pytest.mark.parametrize("suffix", ["", *PACKED])
@pytest.mark.parametrize("name", content(ROWS))
def test_every_format_gives_back_every_text(write, name, suffix):
    source = write(name.upper() + suffix, content(ROWS)[name])
    assert list(stream(source)) == list(stream(Path(source))) == ROWS
    assert column_names(source) == NAMES


@pytest.mark.parametrize(
    "name", families.some(("many.csv", "many.tsv", "many.json", "many.parquet"), "many.csv", "many.json")
)
def test_many_rows_take_no_more_memory_than_few(write, name):
    rows = [{"text": f"number {number}" + " word" * 400, "label": "x"} for number in range(8000)]
    source = write(name, content(rows)[name.replace("many", "rows")])
    tracemalloc.start()
    try:
        number = itertools.count()
        assert all(row["text"].startswith(f"number {next(number)} ") for row in stream(source))
        assert next(number) == 8000
        assert tracemalloc.get_traced_memory()[1] < 8e6  # the texts take 16 MB
    finally:
        tracemalloc.stop()


READ = {  # content of a file, encoding, rows
    "blank lines, and space around names": ("a.csv", "\n  \ntext, label \n\na,b\n   \nc,d\n\n", "utf-8",
                                            [{"text": "a", "label": "b"}, {"text": "c", "label": "d"}]),
    "a mark before the header": ("a.csv", "\ufefftext\na\n", "utf-8", [{"text": "a"}]),
    "tabs without quoting, as GLUE": (
        "a.tsv", 'text\tlabel\n"open and never closed\t1\nsaid "so" he\t0\n"whole"\t1\n', "utf-8",
        [{"text": '"open and never closed', "label": "1"}, {"text": 'said "so" he', "label": "0"},
         {"text": '"whole"', "label": "1"}]),
    "a delimiter that Excel declares": ("a.csv", '\ufeffsep=;\r\ntext;label\r\n"a;b, c";1\r\n', "utf-8",
                                        [{"text": "a;b, c", "label": "1"}]),
    "a delimiter that no file has otherwise": ("a.tsv", "SEP=|\na,b|label\nc,d|1\n", "utf-8",
                                               [{"a,b": "c,d", "label": "1"}]),
    "a declared tab": ("a.csv", "sep=\t\n\ntext, more\tlabel\na\tb\n", "utf-8", [{"text, more": "a", "label": "b"}]),
    "a column named so": ("a.csv", "sep=a\nsep=;\n", "utf-8", [{"sep=a": "sep=;"}]),
    "an encoding by name": ("a.csv", "text\ncafé “x”\n".encode("cp1252"), "cp1252", [{"text": "café “x”"}]),
    "UTF-16 without a mark": ("a.csv", "text\na\n".encode("utf-16-le"), "utf-16-le", [{"text": "a"}]),
    "half characters, which UTF-7 can write": ("a.csv", b"text\na" + b"+2D0-\n", "utf-7", [{"text": "a\ufffd"}]),
    "the index of pandas": ("a.csv", ",text\n0,good\n", "utf-8", [{"index": "0", "text": "good"}]),
    "the letters of a zip file": ("a.csv", "PK,label\na,b\n", "utf-8", [{"PK": "a", "label": "b"}]),
    "a long name": ("a.csv", f"text,{'x' * 200_000}\na,b\n", "utf-8", [{"text": "a", "x" * 200_000: "b"}]),
    "line ends inside JSON": ("a.jsonl", '\ufeff\n{"text": "a\u2028b"}\r\n\r\n  \n{"text": "c"}', "utf-8",
                              [{"text": "a\u2028b"}, {"text": "c"}]),
    "an array in jsonl": ("a.jsonl", '[{"a": 1},\n {"a": 2}]\n', "utf-8", [{"a": 1}, {"a": 2}]),
    "space around an array": ("a.json", " \n" * 20 + '[{"a": 1}]' + "\n \t" * 20, "utf-8", [{"a": 1}]),
    "two halves of a character": ("a.jsonl", '{"text": "\\ud83d\\ude00"}', "utf-8", [{"text": "😀"}]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_what_is_read(write, case, monkeypatch):
    name, written, encoding, rows = READ[case]
    csv.field_size_limit(131_072)  # as in a fresh process
    monkeypatch.setattr("salience.data.reading.CHUNK", 100)
    assert list(stream(write(name, written), encoding)) == rows


@pytest.mark.parametrize("form", ["%s", "[%s]"])
def test_half_characters_are_replaced_wherever_they_stand(write, form):
    row = '{"teHALFxt": "aHALF", "list": ["HALF", {"HALF": "b"}]}'.replace("HALF", "\\ud83d")
    source = write("rows.jsonl", form % row)
    assert list(stream(source)) == [{"te\ufffdxt": "a\ufffd", "list": ["\ufffd", {"\ufffd": "b"}]}]
    assert column_names(source) == ["te\ufffdxt", "list"]


# Quotation marks that hold rows together: in a file that does not quote, or in one that does.

TEXTS = ["fine", '"Good film', "so", "said he", "good", "x", '"whole"', "y", "z", "a", "b", "c", 'bad one"', "end"]
STRAY = [{"text": text, "label": "pos" if number % 3 else "neg"} for number, text in enumerate(TEXTS)]
STRAY_TSV = "".join(f"{row['text']}\t{row['label']}\n" for row in [{"text": "text", "label": "label"}, *STRAY])


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["stray.tsv", "stray.csv", "stray.tsv.gz"])
def test_stray_quotation_marks_hide_no_rows(write, name, ending):
    for left_out in (None, '"whole"'):
        rows = [row for row in STRAY if row["text"] != left_out]
        lines = [line for line in STRAY_TSV.splitlines() if left_out is None or not line.startswith(left_out)]
        with warnings.catch_warnings(action="error"):
            assert list(stream(write(name, ending.join(lines)))) == rows


MULTI_LINE = [
    "one line", "two\nlines", "a tab\there", "a\tb\nc\td\ne\tf", "a\tb\nc\td\te", "the end\n", '"', "\n", "a\nb\nc",
    'he said "no"\nand left', "I liked it, really\nand would go again", "Dear all,\nthe meeting", '"so"\tneg\n"no"',
]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("order", [["text", "label"], ["label", "text"], ["label", "text", "more"], ["text"]])
def test_properly_quoted_files_are_read_as_pandas_writes_them(write, delimiter, ending, quoting, order):
    table = pd.DataFrame({"text": MULTI_LINE, "label": "pos", "more": "x"})[order]
    content = table.to_csv(sep=delimiter, index=False, lineterminator=ending, quoting=quoting)
    with warnings.catch_warnings(action="error"):
        assert list(stream(write("rows.csv", content))) == table.to_dict("records")


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_single_text_whose_lines_look_like_rows_is_one_where_the_file_tells(write, quoting):
    """By a header in quotation marks, or by the ends of its lines."""
    rows = [{"text": "a\tb\nc", "label": "x"}, {"text": "d", "label": "y"}]
    content = pd.DataFrame(rows).to_csv(
        sep="\t", index=False, quoting=quoting, lineterminator="\r\n" if quoting == csv.QUOTE_MINIMAL else "\n"
    )
    with warnings.catch_warnings(action="error"):
        assert list(stream(write("rows.tsv", content))) == rows


JOINED = {  # rows that are read as quoted, with a warning: the file, its rows, and what is told
    "in csv": ("a.csv", 'text,label\nfine,neg\n"Good film,pos\nnice,neg\nbad one",neg\nend,pos\n', 3,
               ["one text in 1 row", "lines 3 to 5"]),
    "with a declared delimiter": ("a.csv", 'sep=|\nlabel|text\npos|"Good film\nneg|bad"\n', 1, ["lines 3 to 4"]),
    "beside a text of two lines": ("a.tsv", STRAY_TSV.replace('"whole"', "w") + '"two\nlines"\tpos\n', 4,
                                   ["in 1 row", "lines 3 to 14"]),
    "over an empty line": ("a.tsv", 'text\tlabel\n"Good film\tpos\n\nbad one"\tneg\n', 1, ["lines 2 to 4"]),
    "twice": ("a.csv", 'text,label\n"a,x\nb",x\n"c,y\nd",y\n', 2, ["one text in 2 rows", "lines 2 to 3"]),
}  # fmt: skip


@pytest.mark.parametrize("case", JOINED)
def test_rows_that_a_quotation_mark_may_have_joined_are_told(write, case):
    name, content, rows, told = JOINED[case]
    source = write(name, content)
    with pytest.warns(InputWarning) as found:
        assert len(list(stream(source))) == rows
    (message,) = (str(each.message) for each in found)
    assert message.startswith(f"{source}: ") and len(message.splitlines()) == 1
    assert all(part in message for part in told), message


# Columns and their types.


def test_the_types_of_text_files_are_those_of_all_rows(write):
    rows = [{"text": "a", "only": None}] * 1500 + [{"only": 1, "late": [1]}, {"late": [2.5], "only": 2.5}]
    source = write("rows.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert {name: str(kind) for name, kind in column_types(source).items()} == {
        "text": "string", "only": "double", "late": "list<item: double>",
    }  # fmt: skip
    assert {name: str(kind) for name, kind in column_types(write("rows.csv", "a,b\n1,2\n")).items()} == {
        "a": "string", "b": "string",
    }  # fmt: skip
    assert column_names(write("rows.jsonl", '{"text": "a"}\n{"text": "b", "label": 1}\n')) == NAMES


def test_nothing_heavy_is_imported_before_it_is_needed(write):
    """Neither for csv nor for JSON."""
    sources = [write("a.csv", "text\na\n"), write("a.jsonl", '{"text": "a"}')]
    check = f"""
import sys
from salience.data import reading, columns, task, labels, splitting, writing
for source in {sources}:
    assert len(list(reading.stream(source))) == len(reading.column_names(source)) == 1
assert not {{'torch', 'transformers', 'datasets', 'sklearn', 'pandas', 'pyarrow'}} & set(sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", check], check=True, env=environment)


# Values in objects, by names with dots.


def test_values_in_objects_are_read_by_names_with_dots(write, complaint):
    """In JSON and in parquet. A name that has dots itself goes before an object."""
    rows = [
        {"id": 1, "content": {"text": "a cup", "by": {"name": "x"}}, "meta.label": "0", "meta": {"label": "1"}},
        {"id": 2, "content": {"text": "a song", "by": None}, "meta.label": "1", "meta": {"label": "0"}},
    ]
    lines = write("a.jsonl", "\n".join(map(json.dumps, rows)))
    table = write("a.parquet", parquet(pyarrow.Table.from_pylist(rows)))
    named = {"text": "content.text", "label": "meta.label", "group": "content.by.name"}
    for file in (lines, table):
        assert {"content", "content.text", "content.by.name", "meta.label"} <= {*column_names(file)}
        part = read_part(file, bad_rows="skip", **named)
        assert (part.texts.texts, part.labels, part.texts.groups) == (["a cup"], ["0"], ["x"])
        by_label = read_part(file, text="content.text", label="meta.label")
        assert by_label.labels == ["0", "1"]
        assert 'no column "content.txt" (--text)' in complaint(read_part, file, text="content.txt")
    assert "row 2, column" in complaint(read_part, write("b.jsonl", '{"a": {"b": "x"}, "label": 1}\n{"a": {"b": []}}'),
                                        text="a.b", label="label")  # fmt: skip


# The form of a csv or tsv file.


def test_the_form_of_a_file_is_that_of_the_file_it_comes_from(write, tmp_path, complaint):
    """Delimiter, the line that declares it, encoding, and its mark; the last two alone where the kinds differ."""
    columns = {"a,b": "string", "c": "string"}
    for name, written, encoding in (
        ("a.csv", '"a,b";"c"\r\n"x;y";"é"\r\n'.encode("cp1252"), "cp1252"),
        ("b.csv", b"\xef\xbb\xbf" + '"a,b";"c"\r\n"x";"é"\r\n'.encode(), "utf-8"),
        ("c.csv", 'sep=|\r\n"a,b"|"c"\r\n"x"|"é"\r\n'.encode("utf-16"), "utf-16"),
        ("d.tsv", '"a,b"\t"c"\r\n"x"\t"é"\r\n'.encode(), "utf-8"),
    ):
        source = write(name, written)
        for output in (tmp_path / f"new.{name}", tmp_path / "tabs.tsv", tmp_path / "commas.csv"):
            with writing(output, True, columns, form=form_for(output, source, encoding)) as write_rows:
                write_rows(list(stream(source, encoding)))
            assert list(stream(output, encoding)) == list(stream(source, encoding)), output
        assert (tmp_path / f"new.{name}").read_bytes() == written
    tabs, commas = ((tmp_path / name).read_bytes() for name in ("tabs.tsv", "commas.csv"))
    assert b"\t" in tabs and b"," in commas and b"\t" not in commas

    def beyond(output=tmp_path / "beyond.csv"):
        with writing(output, columns=columns, form=form_for(output, write("a.csv", "a;b\n1;2\n"), "cp1252")) as some:
            some([{"c": "\u4e2d"}])

    assert 'the encoding of the data, cp1252, has no "\u4e2d"' in complaint(beyond)
    assert form_for(tmp_path / "x.jsonl", write("a.csv", "a;b\n1;2\n"), "utf-8") is None


# Files that cannot be read: name, content, encoding, and what the line must say beside the name of the file.


GZIPPED = gzip.compress(table(ROWS).encode())
DEEP = ["line 1", "nested more than 100 levels deep"]
BAD = [
    ("a.doc", "x", "utf-8", ['".doc"', ".csv, .tsv, .jsonl, .json, .parquet", ".gz, .bz2, .xz, .zst"]),
    ("a.xls", "x", "utf-8", ['".xls"', "save it as .xlsx or csv"]),
    *[(f"a.{kind}", "", "utf-8", ["empty (0 bytes)"]) for kind in ("csv", "tsv", "jsonl", "json", "parquet")],
    *[(f"a.{kind}", blank, "utf-8", ["empty"]) for kind in ("csv", "tsv.gz") for blank in (" \n\n\t\n", "\ufeff\n")],
    *[(f"a.{kind}", "text\n", "utf-8", ["no rows"]) for kind in ("csv", "tsv")],
    *[(f"a.{kind}", blank, "utf-8", ["no rows"]) for kind in ("json", "jsonl.gz") for blank in (" \n\n", "[ ]")],
    # csv and tsv
    *[
        ("a.csv", f'\ntext,label\n"two\nlines",x\n\n{line}\nd,e\n', "utf-8", ["line 6", fields, "header has 2"])
        for line, fields in (("a,b,c", "3 fields"), ("a", "1 field,"))
    ],
    ("a.csv", "sep=;\ntext;label\na;b\nc\n", "utf-8", ["line 4", "1 field,", "header has 2", '";"']),
    ("a.csv", "sep=;\n\n", "utf-8", ["empty"]),
    *[
        ("a.csv", f"text,label\na,b\n{row}" + "c,d\n" * 10, "utf-8", ["line 3", "quotation mark", 'write "" for "'])
        for row in ('"never closed,x\n', '"not "doubled",x\n')
    ],
    ("a.tsv", 'text\tlabel\n"a\tb\nc\td\te\n', "utf-8", ["line 2", "quotation mark"]),
    ("a.csv", "text,,label\na,0,b\n", "utf-8", ["column 2 of 3 has no name", "index=False"]),
    ("a.csv", "text,label,text\na,b,c\n", "utf-8", ['"text" twice']),
    ("a.csv", "text\na\n".encode("utf-16-le"), "utf-8", ["every second character", "--encoding utf-16-le"]),
    # JSON
    *[(f"a.{kind}", '{"a": 1}\n\n{"a": \n', "utf-8", ["line 3", "not valid JSON"]) for kind in ("jsonl", "json")],
    ("a.jsonl", '{"a": 1}\n"only text"\n', "utf-8", ["line 2", r'"\"only text\""', "not a JSON object"]),
    ("a.json", '[\n{"a": 1},\n\n{"a": }]', "utf-8", ["line 4", "not valid JSON"]),
    ("a.json", '[\n{"a": 1},\n', "utf-8", ["line 3", "not valid JSON"]),
    ("a.json", '[\n{"a": 1},\n "b"]', "utf-8", ["line 3", "not a JSON object"]),
    ("a.json", '[\n{"a": 1},\n 2]', "utf-8", ["line 3", "not a JSON object"]),
    ("a.json", '[\n{"a": 1}\n]\n\n[{"a": 2}]\n', "utf-8", ["line 5", '"[{', "follows"]),
    ("a.jsonl", '[\n{"a": 1}\n]]', "utf-8", ["line 3", '"]"', "follows"]),
    ("a.json", '[\n{"a": 1}\n]  garbage', "utf-8", ["line 3", "garbage", "follows"]),
    ("a.jsonl", '{"\\ud83d": 1, "\\ud83e": 2}', "utf-8", ["line 1", "two names of an object", "rename"]),
    *[
        ("a.json", form % row, "utf-8", named)
        for form in ("%s", "[%s]")
        for row, named in (
            ('{"a": 1, "text": "x", "text": "y"}', ["line 1", '"text" twice']),
            ('{"a": %s}' % ("[" * 101 + "]" * 101), DEEP),
            ('{"a": %s}' % ("[" * 200_000 + "]" * 200_000), DEEP),
            ('{"a": %s}' % ("1" * 5000), ["line 1", "too many digits"]),
        )
    ],
    # Bytes that are no text
    *[
        (f"a.csv{suffix}", mark + before + b"caf\xe9,b\nc,d\n", "utf-8", [
            f"line {good + 2}", f"byte offset {len(mark + before) + 3}:", "not UTF-8", "cp1252 (Windows) or latin-1"
        ])
        for suffix in ("", *PACKED) for mark in (b"", codecs.BOM_UTF8) for good in (1, 5000)
        for before in [b"text,label\n" + "gut,süß\n".encode() * good]
    ],
    ("a.jsonl", b'{"a": "b"}\n{"a": "\xff"}\n', "utf-8", ["line 2", "byte offset 18:", "not UTF-8"]),
    ("a.csv", b"text,label\na,\xc3", "utf-8", ["line 2", "byte offset 13:", "not UTF-8"]),
    ("a.csv", "text,label\na,b\n".encode("utf-16"), "utf-8", ["--encoding utf-16"]),
    ("a.csv", "text,label\na,b", "utf-16", ["not UTF-16"]),
    ("a.csv", b"text\nx\x81\n", "cp1252", ["not CP1252", "--encoding latin-1"]),
    ("a.csv", b"\xff\xfea", "utf-16", ["not UTF-16", "damaged or cut off"]),
    *[("a.csv", "a\nb\n", wrong, [f'"{wrong}"', "cp1252, latin-1, utf-16, utf-8"])
      for wrong in ("utf8x", "base64", "undefined")],
    # Packed files
    *[
        (f"fake.{kind}", packed(b"text\na\n", suffix), encoding, [f'rename it to "fake.{kind}{suffix}"'])
        for suffix in PACKED for kind, encoding in (("csv", "latin-1"), ("jsonl", "utf-8"))
    ],
    *[(f"twice.csv{suffix}", GZIPPED, "utf-8", ["gzip", "packed twice"]) for suffix in PACKED],
    ("sheet.csv", b"PK\x03\x04\x14\x00", "utf-8", ["zip file", "save it as csv"]),
]  # fmt: skip


def test_files_that_cannot_be_read_are_named_with_the_place(write, complaint, monkeypatch):
    for chunk in (100, 1 << 20):
        monkeypatch.setattr("salience.data.reading.CHUNK", chunk)
        for name, written, encoding, named in BAD:
            source = write(name, written)
            message = complaint(lambda source=source, encoding=encoding: list(stream(source, encoding)))
            at = "" if "unknown encoding" in message else f"{source}: "
            assert message.startswith(at) and all(part in message for part in named), (written[:60], message)


def test_a_fault_in_a_long_array_is_named_without_reading_all_of_it(write, complaint, monkeypatch):
    monkeypatch.setattr("salience.data.reading.CHUNK", 100)
    source = write("rows.json", '[\n{"a": }' + ', {"a": 1}' * 1000 + "]")
    read = []
    monkeypatch.setattr(
        "salience.data.reading.may_go_on", lambda error, length: read.append(length) or may_go_on(error, length)
    )
    assert "line 2: not valid JSON" in complaint(stream, source)
    assert max(read) < 200


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("suffix", PACKED)
def test_a_broken_packed_file(tmp_path, complaint, suffix, kind):
    path = tmp_path / f"rows.{kind}{suffix}"
    for damaged in (b"not packed at all", packed(table(ROWS).encode(), suffix)[:-20]):
        path.write_bytes(damaged)
        message = complaint(lambda: list(stream(path)))
        assert message.startswith(f"{path}: the ") and "file is damaged or cut off" in message


# Sources that are no file.


def test_a_missing_file_suggests_its_neighbour(write, tmp_path, complaint, monkeypatch):
    write("train.csv", "text,label\na,b\n")
    missing = tmp_path / "trian.csv"
    assert complaint(stream, missing) == f'{missing}: no such file. Did you mean "train.csv"?'
    assert complaint(stream, tmp_path / "no" / "rows.csv").endswith("rows.csv: no such file.")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for source in (tmp_path / "train", "more.csv", "more.txt", "data/train", "train.json.gz"):
        # Some have the form of a hub name, but their folder is here.
        assert f"{source}: no such file." in complaint(stream, source)


def test_a_folder_a_link_a_pipe_and_standard_input(write, tmp_path, complaint, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    assert complaint(stream, folder) == f"{folder}: this is a folder; give a file"
    write("folder/b.csv", "text\nx")
    write("folder/a.jsonl.gz", "{}")
    assert complaint(stream, folder).endswith('give one of its files: "a.jsonl.gz", "b.csv"')
    (tmp_path / "link.csv").symlink_to("none.csv")
    assert "link.csv: this is a link to a file that does not exist" in complaint(stream, tmp_path / "link.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    assert "loop.csv" in complaint(stream, tmp_path / "loop.csv")
    os.mkfifo(tmp_path / "rows.jsonl")
    assert "rows.jsonl: this is a pipe or a device" in complaint(stream, tmp_path / "rows.jsonl")
    monkeypatch.chdir(tmp_path)
    for read in (stream, column_names):
        assert complaint(read, "-") == "standard input is not read; give a file"
    (tmp_path / "-").write_text("text\na\n")
    assert "unknown kind of file" in complaint(stream, "-")


@pytest.mark.parametrize("function", [stream, column_names, column_types])
def test_a_text_in_place_of_a_file_is_one_line(complaint, function):
    text = "the cup was lovely, and so was the long evening " * 20
    message = complaint(function, text)
    assert message.startswith(f'"{text[:57]}...": this is too long') and "name a file of texts" in message
    assert "no file can have this name" in complaint(function, "a\x00b")
    assert "is too long" in complaint(function, "x/" * 5000)


def test_a_folder_that_is_closed_to_us_is_one_line(complaint, monkeypatch):
    def stat(self, **_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", stat)
    assert complaint(stream, "a/b.csv") == "a/b.csv: the file cannot be read (Permission denied)"
