"""A corrected copy: the rows are those that were decided on, and every other byte is that of the file."""

import gzip
import json
import random

import pyarrow
import pytest
from pyarrow import parquet

from salience.audit.corrected import label_of_row, write_corrected
from salience.data.columns import Columns
from salience.data.reading import stream
from salience.data.values import label_of, labels_of
from salience.errors import InputError

CHANGES = {1: "b", 3: None, 4: "a, or so", 6: None}  # of six rows with the labels a, b, a, b, "a, or so", b
FILES = {  # name: encoding, the file, and its copy
    "comma.csv": (
        "utf-8",
        'text,label,more\r\n"one, ""quoted"" ",a,=1\r\n two ,"b",\r\nthree,a,3\r\n"four\nlines",b,4\r\n'
        'five,"a, or so",5\r\nsix,b,6',
        'text,label,more\r\n"one, ""quoted"" ","b",=1\r\n two ,"b",\r\n"four\nlines","a, or so",4\r\n'
        'five,"a, or so",5\r\n',
    ),
    "semicolons.csv": (
        "cp1252",
        "\nlabel;text\na;ä\n\nb;two\na;three\nb;'4\na, or so;5\"5\nb;six\n\n",
        "\nlabel;text\nb;ä\n\nb;two\na, or so;'4\na, or so;5\"5\n\n",
    ),
    "marked.csv": (
        "utf-8",
        "\ufefflabel,text\na,1\nb,2\na,3\nb,4\n\"a, or so\",5\nb,6\n",
        "\ufefflabel,text\nb,1\nb,2\n\"a, or so\",4\n\"a, or so\",5\n",
    ),
    "unquoted.tsv": (
        "utf-8",
        'text\tlabel\n"open\ta\ntwo\tb\nthree\ta\n"four\tb\nfive\ta, or so\nsix\tb\n',
        'text\tlabel\n"open\tb\ntwo\tb\n"four\ta, or so\nfive\ta, or so\n',
    ),
    "empty.tsv": (  # a row of empty fields is a row, which a spreadsheet writes for an empty line
        "utf-8",
        "text\tlabel\none\ta\ntwo\tb\n\t\nfour\tb\n\nfive\ta, or so\nsix\tb\n",
        "text\tlabel\none\tb\ntwo\tb\nfour\ta, or so\n\nfive\ta, or so\n",
    ),
    "lines.jsonl": (
        "utf-8",
        '{"text": "\\u00e4", "label":"a" , "x": {"label": 1}}\n\n{"label": "b", "text": "2"}\n'
        '{"label": "a", "text": ""}\n'
        '  {"text": "}", "label": "b"}\n{"text": "5", "label": "a, or so", "y": 1e3}\n{"text": "6", "label": "b"}',
        '{"text": "\\u00e4", "label":"b" , "x": {"label": 1}}\n\n{"label": "b", "text": "2"}\n'
        '  {"text": "}", "label": "a, or so"}\n{"text": "5", "label": "a, or so", "y": 1e3}\n',
    ),
    "array.json": (
        "utf-8",
        '[\n {"label": "a", "text": "1"},\n {"label": "b", "text": "2"},\n {"label": "a", "text": "]"},\n'
        ' {"label": "b", "text": "4"} , {"label": "a, or so", "text": "5"},\n {"label": "b", "text": "6"}\n]\n',
        '[\n {"label": "b", "text": "1"},\n {"label": "b", "text": "2"},\n'
        ' {"label": "a, or so", "text": "4"} , {"label": "a, or so", "text": "5"}\n]\n',
    ),
}  # fmt: skip


def labels_in(file, encoding) -> dict[int, str]:
    found = (label_of(row["label"]) for row in stream(file, encoding))
    return {row: label for row, label in enumerate(found, 1) if label is not None}


def corrected(folder, name, content: bytes, encoding, changes) -> bytes:
    data, output = folder / name, folder / f"new-{name}"
    data.write_bytes(content)
    write_corrected(data, output, "label", encoding, labels_in(data, encoding), changes)
    return output.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_only_what_was_decided_changes(name, tmp_path):
    encoding, before, after = FILES[name]
    assert corrected(tmp_path, name, before.encode(encoding), encoding, CHANGES) == after.encode(encoding)


@pytest.mark.parametrize("name", FILES)
def test_without_changes_the_copy_is_the_file(name, tmp_path):
    encoding, before, _ = FILES[name]
    assert corrected(tmp_path, name, before.encode(encoding), encoding, {}) == before.encode(encoding)


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("name", ["comma.csv", "array.json"])
def test_the_byte_order_and_its_mark_stay(name, order, tmp_path):
    _, before, after = FILES[name]
    content, expected = (f"\ufeff{text}".encode(f"utf-16-{order}") for text in (before, after))
    assert corrected(tmp_path, name, content, "utf-16", CHANGES) == expected


@pytest.mark.parametrize("name", ["data.tsv", "data.tsv.gz"])
def test_a_copy_that_would_be_read_otherwise_is_refused(name, tmp_path):
    """Without the mark that is not closed, those of two other rows would enclose all that is between them."""
    content = b'text\tlabel\n"open\ta\n"two\tb\nthree\ta\nfour"\tb\n"\tb\n'
    data, output = tmp_path / name, tmp_path / f"new-{name}"
    data.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    labels = labels_in(data, "utf-8")
    output.write_bytes(b"old")
    with pytest.raises(InputError, match="quotation marks would be read as enclosing texts"):
        write_corrected(data, output, "label", "utf-8", labels, {1: None, 5: None})
    assert output.read_bytes() == b"old"


def test_a_gzipped_file_is_gzipped_again(tmp_path):
    encoding, before, after = FILES["lines.jsonl"]
    content = gzip.compress(before.encode(encoding))
    first = corrected(tmp_path, "lines.jsonl.gz", content, encoding, CHANGES)
    assert gzip.decompress(first).decode(encoding) == after


def test_a_label_keeps_the_type_that_it_has_in_other_rows(tmp_path):
    rows = [{"label": 1, "text": "x"}, {"label": 2.0, "text": "y"}, {"label": True, "text": "z"}]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = corrected(tmp_path, "typed.jsonl", content, "utf-8", {1: "2", 2: "True", 3: "1"}).decode()
    assert [json.loads(line)["label"] for line in found.splitlines()] == [2.0, True, 1]
    assert '"label": 2.0' in found and '"label": true' in found


def test_deleting_the_first_rows_of_an_array_leaves_an_array(tmp_path):
    _, before, _ = FILES["array.json"]
    found = corrected(tmp_path, "array.json", before.encode(), "utf-8", {1: None, 2: None})
    assert found.startswith(b'[\n {"label": "a", "text": "]"},\n {"label": "b"')
    assert len(json.loads(found)) == 4


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


@pytest.mark.parametrize("seed", range(20))
def test_any_csv_is_read_again_as_decided(seed, tmp_path):
    """Fields of quotation marks, delimiters and line ends, in files that the csv module has written."""
    import csv

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
    found = corrected(tmp_path, "data.csv", file.read_bytes(), "utf-8", changes)
    expected = [
        row | ({"label": changes[number]} if number in changes else {})
        for number, row in enumerate(rows, 1) if changes.get(number, "") is not None
    ]  # fmt: skip
    assert list(stream(tmp_path / "new-data.csv")) == expected
    assert len(found) > 0


SETS = {1: ("b",), 2: ("a", "b"), 3: None, 4: ()}  # of four rows with the labels a and b; none; a; b
OF_SETS = {  # name: separator, the file, and its copy
    "lists.csv": (
        None, 'text,label,more\n1,"[""a"", ""b""]",x\n2,[],y\n3,"[""a""]",z\n4,"[""b""]",\n',
        'text,label,more\n1,"[""b""]",x\n2,"[""a"", ""b""]",y\n4,[],\n',
    ),
    "semicolons.csv": (
        None, "label;text\n\"['a', 'b']\";1\n[];2\n['a'];3\n['b'];4\n",
        'label;text\n"[""b""]";1\n"[""a"", ""b""]";2\n[];4\n',
    ),
    "joined.csv": ("|", "text,label\n1,a|b\n2,[]\n3,a\n4,b\n", "text,label\n1,b\n2,a|b\n4,[]\n"),
    "commas.csv": (",", 'text,label\n1,"a,b"\n2,[]\n3,a\n4,b\n', 'text,label\n1,b\n2,"a,b"\n4,[]\n'),
    "unquoted.tsv": (
        None, '"text\tlabel\n"1\t["a", "b"]\n2\t[]\n3\t["a"]\n4\t["b"]\n',
        '"text\tlabel\n"1\t["b"]\n2\t["a", "b"]\n4\t[]\n',
    ),
    "lines.jsonl": (
        None, '{"label": ["a", "b"], "text": 1}\n{"label": []}\n{"label": ["a"]}\n{"x": "é", "label":["b"]}\n',
        '{"label": ["b"], "text": 1}\n{"label": ["a", "b"]}\n{"x": "é", "label":[]}\n',
    ),
    "joined.jsonl": (
        "; ", '{"label": "a; b"}\n{"label": "[]"}\n{"label": "a"}\n{"label": "b"}\n',
        '{"label": "b"}\n{"label": "a; b"}\n{"label": "[]"}\n',
    ),
}  # fmt: skip


def sets_in(file, separator=None) -> dict[int, tuple[str, ...]]:
    return {number: labels_of(row["label"], separator) for number, row in enumerate(stream(file), 1)}


@pytest.mark.parametrize("name", OF_SETS)
def test_several_labels_are_written_in_the_form_of_the_file(name, tmp_path):
    separator, before, after = OF_SETS[name]
    data, output = tmp_path / name, tmp_path / f"new-{name}"
    data.write_bytes(before.encode())
    labels = sets_in(data, separator)
    assert labels == {1: ("a", "b"), 2: (), 3: ("a",), 4: ("b",)}
    write_corrected(data, output, "label", "utf-8", labels, SETS, separator)
    assert output.read_bytes().decode() == after
    assert list(sets_in(output, separator).values()) == [("b",), ("a", "b"), ()]


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
    assert output.read_bytes() == b'{"label": ["\\u4e2d"], "x": "\xe9"}\n{"label": ["\\u4e2d"], "x": ""}\n'


def test_lists_in_parquet_keep_their_schema(tmp_path):
    schema = pyarrow.schema([("text", pyarrow.string()), ("label", pyarrow.list_(pyarrow.int16()))], {"own": "x"})
    table = pyarrow.table({"text": ["1", "2", "3"], "label": [[1, 2], [], [7]]}, schema)
    data, output = tmp_path / "data.parquet", tmp_path / "new.parquet"
    parquet.write_table(table, data)
    write_corrected(data, output, "label", "utf-8", sets_in(data), {1: (), 2: ("7", "1"), 3: None})
    found = parquet.read_table(output)
    assert found.schema.equals(parquet.read_schema(data), check_metadata=True)
    assert found.to_pydict() == {"text": ["1", "2"], "label": [[], [7, 1]]}


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

OF_COLUMNS = {  # name: the file with the labels a and b; none; a; b, and its copy by `SETS`
    "columns.csv": (
        'text,a,b,more\r\n1,1,"1",x\r\n\r\n2,0,0,y\r\n3, 1,0,z\r\n4,0,"1",\r\n',
        'text,a,b,more\r\n1,0,"1",x\r\n\r\n2,1,1,y\r\n4,0,"0",\r\n',
    ),
    "words.tsv": ("a\tb\nTRUE\ttrue\nFalse\t0.0\n1.0\t0\nfalse\ttRUE\n", "a\tb\nFALSE\ttrue\nTrue\t1.0\nfalse\t0\n"),
    "lines.jsonl": (
        '{"b": true, "a": 1, "x": "é"}\n{"a": 0.0,"b":"0"}\n{"a": "true", "b": false}\n{"a": 0, "b": "\\u0031"}\n',
        '{"b": true, "a": 0, "x": "é"}\n{"a": 1.0,"b":"1"}\n{"a": 0, "b": "0"}\n',
    ),
    "array.json": (
        '[{"a": 1, "b": 1}, {"a": 0, "b": 0},\n {"a": 1, "b": 0}, {"a": 0, "b": 1}]\n',
        '[{"a": 0, "b": 1}, {"a": 1, "b": 1}, {"a": 0, "b": 0}]\n',
    ),
}
COLUMNS = Columns("text", label="a,b", several=("a", "b"))


def columns_in(file) -> list[tuple[str, ...] | None]:
    return [label_of_row(row, COLUMNS) for row in stream(file)]


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_columns_of_0_and_1_are_written_in_the_form_of_the_file(name, tmp_path):
    before, after = OF_COLUMNS[name]
    data, output = tmp_path / name, tmp_path / f"new-{name}"
    data.write_bytes(before.encode())
    labels = dict(enumerate(columns_in(data), 1))
    assert labels == {1: ("a", "b"), 2: (), 3: ("a",), 4: ("b",)}
    write_corrected(data, output, ("a", "b"), "utf-8", labels, SETS)
    assert output.read_bytes().decode() == after
    assert columns_in(output) == [("b",), ("a", "b"), ()]


def test_a_value_that_no_row_has_can_be_written(tmp_path):
    """Every row has the label, so that no row shows how its absence is written."""
    data, output = tmp_path / "data.csv", tmp_path / "new.csv"
    data.write_text("a,b\n1,1\n1,0\n")
    write_corrected(data, output, ("a", "b"), "utf-8", {1: ("a", "b"), 2: ("a",)}, {2: ()})
    assert output.read_text() == "a,b\n1,1\n0,0\n"


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
