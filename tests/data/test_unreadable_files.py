"""Bytes that are no text, and files that cannot be unpacked, are named by place."""

import gzip

import pytest
from written import ROWS, table

from salience.data.reading import stream


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("good", [1, 5000])
def test_a_wrong_byte_is_named_by_line_and_offset(write, complaint, name, mark, good):
    before = mark + b"text,label\n" + "gut,süß\n".encode() * good + b"caf"
    source = write(name, before + b"\xe9,b\nc,d\n")
    assert complaint(lambda: list(stream(source))) == (
        f"{source}: line {good + 2}, byte offset {len(before)}: not UTF-8; "
        "name the encoding of the file, for example --encoding cp1252 (Windows) or latin-1"
    )


def test_a_wrong_byte_in_json_and_at_the_end(write, complaint):
    source = write("rows.jsonl", b'{"a": "b"}\n{"a": "\xff"}\n')
    assert "line 2, byte offset 18: not UTF-8" in complaint(lambda: list(stream(source)))
    source = write("cut.csv", b"text,label\na,\xc3")
    assert "line 2, byte offset 13: not UTF-8" in complaint(lambda: list(stream(source)))


def test_utf_16_is_recognised_and_its_own_faults_are_named(write, complaint):
    source = write("rows.csv", "text,label\na,b\n", "utf-16")
    assert "--encoding utf-16" in complaint(stream, source)
    assert list(stream(source, "utf-16")) == [{"text": "a", "label": "b"}]
    assert "not UTF-16" in complaint(stream, write("plain.csv", "text,label\na,b"), "utf-16")


@pytest.mark.parametrize("encoding", ["utf8x", "base64", "undefined"])
def test_an_unknown_encoding(write, complaint, encoding):
    message = complaint(stream, write("rows.csv", "text\na\n"), encoding)
    assert message.startswith(f'unknown encoding "{encoding}"; known: cp1252, latin-1, utf-16, utf-8.')


@pytest.mark.parametrize("content", [b"no gzip at all", gzip.compress(table(ROWS).encode())[:-20]])
def test_a_broken_gzip_file(tmp_path, complaint, content):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(content)
    message = complaint(lambda: list(stream(path)))
    assert message.startswith(f"{path}: the gzip file is damaged or cut off (")
    assert message.endswith("; download it or compress it again")


def test_a_loop_of_links_cannot_be_read(tmp_path, complaint):
    path = tmp_path / "rows.csv"
    path.symlink_to(path)
    assert str(path) in complaint(stream, path)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "latin-1"])
def test_a_packed_file_with_the_name_of_a_text_file(encoding, write, complaint):
    packed = gzip.compress(table(ROWS).encode())
    for name, content, advice in (
        ("fake.csv", packed, 'begins like a gzip file; rename it to "fake.csv.gz"'),
        ("fake.jsonl", packed, 'begins like a gzip file; rename it to "fake.jsonl.gz"'),
        ("twice.csv.gz", packed, "begins like a gzip file; it is packed twice, unpack it once"),
        ("sheet.csv", b"PK\x03\x04\x14\x00", "begins like a zip file, as .xlsx are; save it as csv"),
    ):
        source = write(name, content)
        assert complaint(lambda source=source: list(stream(source, encoding))) == f"{source}: {advice}"


def test_texts_may_begin_with_the_letters_of_a_zip_file(write):
    assert list(stream(write("rows.csv", "PK,label\na,b\n"))) == [{"PK": "a", "label": "b"}]


@pytest.mark.parametrize(
    ("encoding", "content", "advice"),
    [
        ("cp1252", b"text\nx\x81\n", "name the encoding of the file, for example --encoding latin-1"),
        ("utf-16", b"\xff\xfea", "the file is damaged or cut off"),
    ],
)
def test_the_encoding_that_was_tried_is_not_recommended(encoding, content, advice, write, complaint):
    message = complaint(lambda: list(stream(write("rows.csv", content), encoding)))
    assert message.endswith(f"not {encoding.upper()}; {advice}")
