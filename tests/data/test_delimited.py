"""Every value of a csv or tsv file stays what was written; faults are named by their line."""

import csv

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from written import NAMES, ROWS, table

from salience.data.reading import column_names, stream


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_reading_undoes_writing(write, rows, delimiter, quoting, encoding):
    rows = [dict(zip(NAMES, row, strict=True)) for row in rows]
    source = write("any.csv", table(rows, delimiter, quoting=quoting), encoding)
    assert list(stream(source, "utf-8" if encoding == "utf-8-sig" else encoding)) == rows


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(), min_size=1, max_size=8))
def test_a_single_column_keeps_its_empty_texts(write, texts):
    rows = [{"text": text} for text in texts]
    assert list(stream(write("one.csv", table(rows)))) == rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_tells_the_delimiter(write, delimiter):
    source = write("rows.csv", table(ROWS, delimiter))
    assert column_names(source) == NAMES
    assert list(stream(source)) == ROWS


def test_blank_lines_are_no_rows_and_names_lose_the_space_around_them(write):
    source = write("rows.csv", "\n  \ntext, label \n\na,b\n   \nc,d\n\n")
    assert list(stream(source)) == [{"text": "a", "label": "b"}, {"text": "c", "label": "d"}]


def test_a_byte_order_mark_is_not_part_of_the_first_name(write):
    assert column_names(write("rows.csv", "\ufefftext,label\na,b\n")) == NAMES


def test_tab_separated_files_written_without_quoting_keep_their_quotation_marks(write):
    source = write("mrpc.tsv", 'text\tlabel\n"open and never closed\t1\nsaid "so" he\t0\n"whole"\t1\n')
    assert [row["text"] for row in stream(source)] == ['"open and never closed', 'said "so" he', '"whole"']


def test_other_encodings_can_be_named(write):
    source = write("rows.csv", "text,label\ncafé “x”,b\n", "cp1252")
    assert next(stream(source, "cp1252"))["text"] == "café “x”"


@pytest.mark.parametrize(("line", "fields"), [("a,b,c", "3 fields"), ("a", "1 field")])
def test_a_ragged_row_is_named_by_its_line(write, complaint, line, fields):
    source = write("rows.csv", f'\ntext,label\n"two\nlines",x\n\n{line}\nd,e\n')
    assert complaint(list, stream(source)) == (
        f"{source}: line 6 has {fields}, but the header has 2; "
        'mend the line, or put a text that contains "," in double quotes'
    )


@pytest.mark.parametrize("row", ['"never closed,x\n', '"not "doubled",x\n'])
def test_a_stray_quotation_mark_swallows_nothing(write, complaint, row):
    source = write("rows.csv", f"text,label\na,b\n{row}" + "c,d\n" * 10)
    message = complaint(list, stream(source))
    assert message.startswith(f"{source}: the row that begins in line 3 has a quotation mark that is not closed")
    assert 'write "" for "' in message


def test_a_broken_tab_separated_file_is_refused_as_well(write, complaint):
    source = write("rows.tsv", 'text\tlabel\n"a\tb\nc\td\te\n')
    assert "begins in line 2 has a quotation mark" in complaint(stream, source)


def test_names_must_be_there_and_differ(write, complaint):
    message = complaint(column_names, write("index.csv", "text,,label\na,0,b\n"))
    assert "column 2 of 3 has no name" in message
    assert "to_csv(..., index=False)" in message
    assert 'names the column "text" twice' in complaint(column_names, write("two.csv", "text,label,text\na,b,c\n"))


def test_the_index_that_pandas_writes_without_a_name_is_a_column_like_others(tmp_path):
    file = tmp_path / "frame.csv"
    file.write_text(",text,label\n0,good,1\n1,bad,0\n", encoding="utf-8")
    assert list(stream(file))[1] == {"index": "1", "text": "bad", "label": "0"}


@pytest.mark.parametrize("name", ["wide.csv", "wide.tsv"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_name_may_be_longer_than_the_standard_reader_allows(write, monkeypatch, name, quote):
    csv.field_size_limit(131_072)  # as in a fresh process
    long, delimiter = "x" * 200_000, "\t" if name.endswith("tsv") else ","
    source = write(name, f"text{delimiter}{quote}{long}{quote}\na{delimiter}b\n")
    assert column_names(source) == ["text", long]


def test_half_characters_are_replaced(write):
    """UTF-7 can write them."""
    source = write("rows.csv", b"text,label\na" + b"+2D0-,b\n")
    assert list(stream(source, "utf-7")) == [{"text": "a\ufffd", "label": "b"}]


def test_utf_16_without_a_mark_is_no_single_column_with_an_odd_name(write, complaint):
    source = write("rows.csv", "text\na\n", "utf-16-le")
    assert "every second character of the header is NUL" in complaint(stream, source)
    assert list(stream(source, "utf-16-le")) == [{"text": "a"}]
