"""Rows with nasty texts, and files that hold them."""

import bz2
import csv
import gzip
import io
import json
import lzma

import pyarrow
import pyarrow.parquet

NASTY = [
    "commas, and; semicolons", 'a "quoted" word', '"', "two\nlines", "a\r\nb", "a\ttab", "a\x00b", "\u2028", "é 🙂",
    "NA", "null", "None", "nan", "#N/A", "\\N", "\\", "-", "001", "1.0", "1e5", "2020-01-01", "{}", "[1]", " a ",
    "long " * 50_000,
]  # fmt: skip
ROWS = [{"text": text, "label": f"{number:03}"} for number, text in enumerate(NASTY)]
NAMES = ["text", "label"]


def zstd(content: bytes) -> bytes:
    """As the zstd program packs a stream."""
    file = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(file, "zstd") as stream:
        stream.write(content)
    return file.getvalue().to_pybytes()


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}  # by suffix


def packed(content: bytes, suffix: str) -> bytes:
    return PACKED[suffix](content) if suffix in PACKED else content


def table(rows: list[dict], delimiter: str = ",", **options) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, **options)
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return file.getvalue()


def parquet(rows: list[dict] | pyarrow.Table) -> bytes:
    file = io.BytesIO()
    whole = rows if isinstance(rows, pyarrow.Table) else pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(whole, file)
    return file.getvalue()


def content(rows: list[dict]) -> dict[str, str | bytes]:
    """What a file of each name holds."""
    return {
        "rows.csv": table(rows),
        "rows.tsv": table(rows, "\t"),
        "rows.jsonl": "\n".join(json.dumps(row) for row in rows),
        "rows.json": json.dumps(rows, ensure_ascii=False),
        "rows.parquet": parquet(rows),
    }
