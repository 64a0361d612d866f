"""A corrected copy: the rows are those that were decided on, and every other value and the format are the file's."""

import bz2
import csv
import gzip
import json
import lzma
import random

import pyarrow
import pytest
from pyarrow import parquet

from salience.audit.decisions import label_of_row, write_corrected
from salience.data.columns import Columns
from salience.data.reading import stream
from salience.data.values import label_of, labels_of
from salience.files import PACKINGS

CHANGES = {1: "b", 3: None, 4: "a, or so", 6: None}  # of six rows with the labels a, b, a, b, "a, or so", b
UNPACK = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
FILES = {  # name: encoding, the file, and what the copy begins with
    "comma.csv": (
        "utf-8",
        'text,label,more\r\n"one, ""quoted"" ",a,=1\r\n two ,"b",\r\nthree,a,3\r\n"four\nlines",b,4\r\n'
        'five,"a, or so",5\r\nsix,b,6',
        "text,label,more",
    ),
    "semicolons.csv": (
        "cp1252",
        "\nlabel;text\na;ä\n\nb;two\na;three\nb;'4\na, or so;5\"5\nb;six\n\n",
        "label;text\r\na;ä",
    ),
    "names.csv": (
        "utf-8",
        '"text, all, of, it";label\n1;a\n2;b\n3;a\n4;b\n5;a, or so\n6;b\n',
        '"text, all, of, it";"label"',
    ),
    "marked.csv": (
        "utf-8",
        "\ufefflabel,text\na,1\nb,2\na,3\nb,4\n\"a, or so\",5\nb,6\n",
        "\ufefflabel,text",
    ),
    "wide.csv": ("utf-16", "label,text\na,1\nb,2\na,3\nb,4\n\"a, or so\",5\nb,6\n", "label,text"),
    "declared.csv": (
        "utf-8", "sep=|\r\nlabel|text\na|1\nb|2\na|3\nb|4\na, or so|5\nb|6\n", "sep=|\r\nlabel|text\r\na|1"
    ),
    "unquoted.tsv": (
        "utf-8",
        'text\tlabel\n"open\ta\ntwo\tb\nthree\ta\n"four\tb\nfive\ta, or so\nsix\tb\n',
        "text\tlabel",
    ),
    "empty.tsv": (  # a row of empty fields is a row, which a spreadsheet writes for an empty line
        "utf-8", "text\tlabel\none\ta\ntwo\tb\n\t\nfour\tb\n\nfive\ta, or so\nsix\tb\n", "text\tlabel"
    ),
    "lines.jsonl": (
        "utf-8",
        '{"text": "\\u00e4", "label":"a" , "x": {"label": 1}}\n\n{"label": "b", "text": "2"}\n'
        '{"label": "a", "text": ""}\n'
        '  {"text": "}", "label": "b"}\n{"text": "5", "label": "a, or so", "y": 1e3}\n{"text": "6", "label": "b"}',
        '{"text": "ä"',
    ),
    "array.json": (
        "utf-16",
        '[\n {"label": "a", "text": "1"},\n {"label": "b", "text": "2"},\n {"label": "a", "text": "]"},\n'
        ' {"label": "b", "text": "4"} , {"label": "a, or so", "text": "5"},\n {"label": "b", "text": "6"}\n]\n',
        "[",
    ),
}  # fmt: skip


def labels_in(file, encoding) -> dict[int, str]:
    found = (label_of(row["label"]) for row in stream(file, encoding))
    return {row: label for row, label in enumerate(found, 1) if label is not None}


def decided(rows, changes) -> list[dict]:
    return [
        row | ({"label": changes[number]} if number in changes else {})
        for number, row in enumerate(rows, 1) if changes.get(number, "") is not None
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "end"),
    [*((name, "") for name in FILES), *(("comma.csv", end) for end in PACKINGS), ("array.json", ".gz")],
)
def test_only_what_was_decided_changes(name, end, tmp_path):
    encoding, content, start = FILES[name]
    data, output = tmp_path / f"{name}{end}", tmp_path / f"new-{name}{end}"
    data.write_bytes(PACKINGS[end].pack(content.encode(encoding)) if end else content.encode(encoding))
    for changes in (CHANGES, {}):
        write_corrected(data, output, "label", encoding, labels_in(data, encoding), changes)
        assert list(stream(output, encoding)) == decided(stream(data, encoding), changes)
    written = UNPACK[end](output.read_bytes()) if end in UNPACK else output.read_bytes()
    if end != ".zst":  # which Python cannot unpack, and `stream` has read
        assert written.decode(encoding).startswith(start)


def test_a_label_keeps_the_type_that_it_has_in_other_rows(tmp_path):
    rows = [{"label": 1, "text": "x"}, {"label": 2.0, "text": "y"}, {"label": True, "text": "z"}]
    data, output = tmp_path / "typed.jsonl", tmp_path / "new.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_corrected(data, output, "label", "utf-8", labels_in(data, "utf-8"), {1: "2", 2: "True", 3: "1"})
    found = output.read_text()
    assert [json.loads(line)["label"] for line in found.splitlines()] == [2.0, True, 1]
    assert '"label": 2.0' in found and '"label": true' in found


def test_parquet_keeps_types_and_metadata(tmp_path):
    names = {"info": {"features": {"label": {"names": ["a", "b", "c"], "_type": "ClassLabel"}}}}
    schema = pyarrow.schema(
        [("text", pyarrow.large_string()), ("label", pyarrow.int8()), ("day", pyarrow.date32())],
        metadata={"huggingface": json.dumps(names)},
    )
    table = pyarrow.table({"text": ["1", "2", "3", "4"], "label": [0, 1, -1, 2], "day": [1, None, 3, 4]}, schema)
    parquet.write_table(table, tmp_path / "data.parquet")
    data, output = tmp_path / "data.parquet", tmp_path / "new.parquet"
    labels = labels_in(data, "utf-8")
    assert labels == {1: "a", 2: "b", 4: "c"}
    write_corrected(data, output, "label", "utf-8", labels, {1: "c", 2: None})
    found = parquet.read_table(output)
    assert found.schema.equals(schema, check_metadata=True)
    assert found.to_pydict() == table.take([0, 2, 3]).to_pydict() | {"label": [2, -1, 2]}


@pytest.mark.parametrize("seed", range(6))
def test_any_csv_is_read_again_as_decided(seed, tmp_path):
    """Fields of quotation marks, delimiters and line ends."""
    draw = random.Random(seed)
    pieces = ["a", '"', ",", "\n", "\r\n", " ", "é", ";"]
    values = ["".join(draw.choices(pieces, k=draw.randint(1, 6))) + "x" for _ in range(40)]
    labels = ['p"q', "r,s", "plain", " t"]
    rows = [
        {"text": draw.choice(values), "label": draw.choice(labels), "more": draw.choice(values)} for _ in range(25)
    ]
    file = tmp_path / "data.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        quoting, end = draw.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), draw.choice(["\n", "\r\n"])
        writer = csv.DictWriter(opened, list(rows[0]), quoting=quoting, lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
    known = [row["label"] for row in rows]
    changes = {row: draw.choice([None, *known]) for row in draw.sample(range(1, 26), 10)}
    write_corrected(file, tmp_path / "new.csv", "label", "utf-8", labels_in(file, "utf-8"), changes)
    assert list(stream(tmp_path / "new.csv")) == decided(rows, changes)


SETS = {1: ("b",), 2: ("a", "b"), 3: None, 4: ()}  # of four rows with the labels a and b; none; a; b
OF_SETS = {  # name: separator, the file, and the labels as the copy has them
    "lists.csv": (
        None, 'text,label,more\n1,"[""a"", ""b""]",x\n2,[],y\n3,"[""a""]",z\n4,"[""b""]",\n',
        ['["b"]', '["a", "b"]', "[]"],
    ),
    "semicolons.csv": (
        None, "label;text\n\"['a', 'b']\";1\n[];2\n['a'];3\n['b'];4\n", ['["b"]', '["a", "b"]', "[]"]
    ),
    "joined.csv": ("|", "text,label\n1,a|b\n2,[]\n3,a\n4,b\n", ["b", "a|b", "[]"]),
    "commas.csv": (",", 'text,label\n1,"a,b"\n2,[]\n3,a\n4,b\n', ["b", "a,b", "[]"]),
    "unquoted.tsv": (
        None, '"text\tlabel\n"1\t["a", "b"]\n2\t[]\n3\t["a"]\n4\t["b"]\n', ['["b"]', '["a", "b"]', "[]"]
    ),
    "lines.jsonl": (
        None, '{"label": ["a", "b"], "text": 1}\n{"label": []}\n{"label": ["a"]}\n{"x": "é", "label":["b"]}\n',
        [["b"], ["a", "b"], []],
    ),
    "joined.jsonl": (
        "; ", '{"label": "a; b"}\n{"label": "[]"}\n{"label": "a"}\n{"label": "b"}\n', ["b", "a; b", "[]"]
    ),
}  # fmt: skip


def sets_in(file, separator=None) -> dict[int, tuple[str, ...]]:
    return {number: labels_of(row["label"], separator) for number, row in enumerate(stream(file), 1)}


@pytest.mark.parametrize("name", OF_SETS)
def test_several_labels_are_written_in_the_form_of_the_file(name, tmp_path):
    separator, before, written = OF_SETS[name]
    data, output = tmp_path / name, tmp_path / f"new-{name}"
    data.write_bytes(before.encode())
    labels = sets_in(data, separator)
    assert labels == {1: ("a", "b"), 2: (), 3: ("a",), 4: ("b",)}
    write_corrected(data, output, "label", "utf-8", labels, SETS, separator)
    assert [row["label"] for row in stream(output)] == written
    assert list(sets_in(output, separator).values()) == [("b",), ("a", "b"), ()]
    rest = [{name: value for name, value in row.items() if name != "label"} for row in stream(data)]
    assert [{name: value for name, value in row.items() if name != "label"} for row in stream(output)] == [
        *rest[:2], rest[3]
    ]  # fmt: skip


def test_labels_in_a_list_keep_their_type(tmp_path):
    data, output = tmp_path / "typed.jsonl", tmp_path / "new.jsonl"
    data.write_text('{"label": [1, 2]}\n{"label": []}\n{"label": [3]}\n')
    write_corrected(data, output, "label", "utf-8", sets_in(data), {2: ("3", "1")})
    assert [json.loads(line)["label"] for line in output.read_text().splitlines()] == [[1, 2], [3, 1], [3]]


def test_characters_that_the_encoding_lacks_are_written_by_their_number(tmp_path):
    data, output = tmp_path / "latin.jsonl", tmp_path / "new.jsonl"
    data.write_bytes(b'{"label": ["\\u4e2d"], "x": "\xe9"}\n{"label": [], "x": ""}\n')
    labels = {1: ("\u4e2d",), 2: ()}
    write_corrected(data, output, "label", "latin-1", labels, {2: ("\u4e2d",)})
    assert list(stream(output, "latin-1")) == [{"label": ["\u4e2d"], "x": "\xe9"}, {"label": ["\u4e2d"], "x": ""}]


def test_lists_in_parquet_keep_their_schema(tmp_path):
    schema = pyarrow.schema([("text", pyarrow.string()), ("label", pyarrow.list_(pyarrow.int16()))], {"own": "x"})
    table = pyarrow.table({"text": ["1", "2", "3"], "label": [[1, 2], [], [7]]}, schema)
    data, output = tmp_path / "data.parquet", tmp_path / "new.parquet"
    parquet.write_table(table, data)
    write_corrected(data, output, "label", "utf-8", sets_in(data), {1: (), 2: ("7", "1"), 3: None})
    found = parquet.read_table(output)
    assert found.schema.equals(parquet.read_schema(data), check_metadata=True)
    assert found.to_pydict() == {"text": ["1", "2"], "label": [[], [7, 1]]}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_labels_in_objects_are_changed_there(kind, tmp_path):
    rows = [{"text": "1", "meta": {"label": "a", "n": 1}}, {"text": "2", "meta": {"label": "b", "n": 2}}]
    data, output = tmp_path / f"data.{kind}", tmp_path / f"new.{kind}"
    if kind == "jsonl":
        data.write_text("\n".join(map(json.dumps, rows)))
    else:
        parquet.write_table(pyarrow.Table.from_pylist(rows), data)
    write_corrected(data, output, "meta.label", "utf-8", {1: "a", 2: "b"}, {2: "a"})
    assert list(stream(output)) == [rows[0], {"text": "2", "meta": {"label": "a", "n": 2}}]


def test_an_emptied_list_is_an_empty_cell_where_that_means_no_label(tmp_path):
    data, output = tmp_path / "data.csv", tmp_path / "new.csv"
    data.write_text("label\na|b\nb\n")
    for empty_label, written in (("error", "[]"), ("none", '""')):
        write_corrected(data, output, "label", "utf-8", {1: ("a", "b"), 2: ("b",)}, {1: ()}, "|", empty_label)
        assert output.read_text().splitlines() == ["label", written, "b"]


def test_lists_of_class_numbers_in_parquet_stay_numbers(tmp_path):
    names = {"info": {"features": {"label": {"feature": {"names": ["joy", "0", "fear"], "_type": "ClassLabel"},
                                             "_type": "Sequence"}}}}  # fmt: skip
    schema = pyarrow.schema([("label", pyarrow.list_(pyarrow.int64()))], {"huggingface": json.dumps(names)})
    data, output = tmp_path / "data.parquet", tmp_path / "new.parquet"
    parquet.write_table(pyarrow.table({"label": [[0], [1, 2], []]}, schema), data)
    labels = sets_in(data)
    assert labels == {1: ("joy",), 2: ("0", "fear"), 3: ()}
    write_corrected(data, output, "label", "utf-8", labels, {1: ("fear", "0"), 3: ("joy",)})
    assert parquet.read_table(output).to_pydict() == {"label": [[2, 1], [1, 2], [0]]}


def test_other_values_of_a_parquet_column_stay_as_they_are(tmp_path):
    """Of a column of dictionary values too, which lists of Python would not give back."""
    values = pyarrow.array(["a", "b", "a", None], pyarrow.string()).dictionary_encode()
    table = pyarrow.table({"text": ["1", "2", "3", "4"], "label": values})
    data, output = tmp_path / "data.parquet", tmp_path / "new.parquet"
    parquet.write_table(table, data)
    write_corrected(data, output, "label", "utf-8", {1: "a", 2: "b", 3: "a"}, {1: "b", 3: None})
    found = parquet.read_table(output)
    assert found.schema.equals(parquet.read_schema(data), check_metadata=True)
    assert found.column("label").to_pylist() == ["b", "b", None]


# ------------------------------------------------------------------------------------------------ columns of 0 and 1

OF_COLUMNS = {  # name: the file with the labels a and b; none; a; b, and the values of its copy by `SETS`
    "columns.csv": (
        'text,a,b,more\r\n1,1,"1",x\r\n\r\n2,0,0,y\r\n3, 1,0,z\r\n4,0,"1",\r\n',
        [("0", "1"), ("1", "1"), ("0", "0")],
    ),
    "words.tsv": (
        "a\tb\nTRUE\ttrue\nFalse\t0.0\n1.0\t0\nfalse\ttRUE\n",
        [("FALSE", "true"), ("True", "1.0"), ("false", "0")],
    ),
    "lines.jsonl": (
        '{"b": true, "a": 1, "x": "é"}\n{"a": 0.0,"b":"0"}\n{"a": "true", "b": false}\n{"a": 0, "b": "\\u0031"}\n',
        [(0, True), (1.0, "1"), (0, "0")],
    ),
    "array.json": (
        '[{"a": 1, "b": 1}, {"a": 0, "b": 0},\n {"a": 1, "b": 0}, {"a": 0, "b": 1}]\n', [(0, 1), (1, 1), (0, 0)]
    ),
}  # fmt: skip
COLUMNS = Columns("text", label="a,b", several=("a", "b"))


def columns_in(file) -> list[tuple[str, ...] | None]:
    return [label_of_row(row, COLUMNS) for row in stream(file)]


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_columns_of_0_and_1_are_written_in_the_form_of_the_file(name, tmp_path):
    before, written = OF_COLUMNS[name]
    data, output = tmp_path / name, tmp_path / f"new-{name}"
    data.write_bytes(before.encode())
    labels = dict(enumerate(columns_in(data), 1))
    assert labels == {1: ("a", "b"), 2: (), 3: ("a",), 4: ("b",)}
    write_corrected(data, output, ("a", "b"), "utf-8", labels, SETS)
    found = [(row["a"], row["b"]) for row in stream(output)]
    assert found == written and [[*map(type, row)] for row in found] == [[*map(type, row)] for row in written]
    assert columns_in(output) == [("b",), ("a", "b"), ()]


def test_a_value_that_no_row_has_can_be_written(tmp_path):
    """Every row has the label, so that no row shows how its absence is written."""
    data, output = tmp_path / "data.csv", tmp_path / "new.csv"
    data.write_text("a,b\n1,1\n1,0\n")
    write_corrected(data, output, ("a", "b"), "utf-8", {1: ("a", "b"), 2: ("a",)}, {2: ()})
    assert output.read_text().split() == ["a,b", "1,1", "0,0"]


def test_columns_of_parquet_keep_their_types_and_other_values(tmp_path):
    kinds = {"a": pyarrow.bool_(), "b": pyarrow.int8(), "c": pyarrow.float32(), "d": pyarrow.string()}
    schema = pyarrow.schema([("text", pyarrow.string()), *kinds.items()], {"own": "x"})
    rows = {"text": ["1", "2", "3"], "a": [True, False, None], "b": [1, 0, 1], "c": [1, 0, 0], "d": ["True", "0", "1"]}
    data, output = tmp_path / "data.parquet", tmp_path / "new.parquet"
    parquet.write_table(pyarrow.table(rows, schema), data)
    write_corrected(data, output, tuple("abcd"), "utf-8", {1: tuple("abcd"), 2: ()}, {1: (), 2: tuple("abcd")})
    found = parquet.read_table(output)
    assert found.schema.equals(schema, check_metadata=True)
    assert found.to_pydict() == {
        "text": ["1", "2", "3"], "a": [False, True, None], "b": [0, 1, 1], "c": [0, 1, 0], "d": ["False", "1", "1"],
    }  # fmt: skip
    write_corrected(data, output, tuple("abcd"), "utf-8", {1: tuple("abcd"), 2: ()}, {1: None})
    assert parquet.read_table(output).to_pydict()["text"] == ["2", "3"]


def test_a_row_without_a_value_in_a_column_has_no_labels():
    assert [label_of_row({"a": 1, **more}, COLUMNS) for more in ({}, {"b": None}, {"b": "2"}, {"b": 0})] == [
        None, None, None, ("a",)
    ]  # fmt: skip
