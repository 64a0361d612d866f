"""Values of arrow columns as Python values, also those that have no equivalent in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

FAILURES = (ValueError, TypeError, ArithmeticError, LookupError)  # for a value, or a time zone, unknown to Python


def python_values(column: pyarrow.Array | pyarrow.ChunkedArray) -> list:
    """The values of a column. A value without an equivalent in Python, such as a date in the year 20,000, stays an
    arrow scalar.

    So a column that is not used may hold anything, and is written to parquet unchanged. Texts are valid Unicode.
    """
    if has_nanoseconds(column.type):
        return [scalar if scalar.is_valid else None for scalar in column]
    try:
        return column.to_pylist()
    except FAILURES:  # one value spoils the whole call
        return [python_value(scalar) for scalar in column]


def has_nanoseconds(kind: pyarrow.DataType) -> bool:
    """Whether a type is a time of day in nanoseconds, which arrow would cut to Python's microseconds silently."""
    import pyarrow

    return kind == pyarrow.time64("ns")


def python_value(scalar: pyarrow.Scalar) -> Any:
    """The value of a scalar as a Python value, or the scalar itself if there is none."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:  # bytes that are not UTF-8 are replaced, as half characters are
        return decoded(scalar) if hasattr(scalar, "as_buffer") else scalar
    except FAILURES:
        return scalar


def decoded(scalar: pyarrow.StringScalar) -> str:
    """The text of a scalar; bytes that are not UTF-8 are replaced by U+FFFD."""
    return scalar.as_buffer().to_pybytes().decode("utf-8", "replace")


def is_scalar(value: object) -> bool:
    """Whether a value is an arrow scalar."""
    return hasattr(value, "as_py")


def plain(value: Any) -> Any:
    """A value for csv and JSON: an arrow scalar becomes Python values of its parts, or a text."""
    if not is_scalar(value):
        return value
    import pyarrow

    if not value.is_valid:
        return None
    if isinstance(value, pyarrow.StructScalar):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (pyarrow.ListScalar, pyarrow.LargeListScalar, pyarrow.FixedSizeListScalar)):
        return [plain(part) for part in value.values]
    if not has_nanoseconds(value.type):
        simple = python_value(value)
        if not is_scalar(simple):
            return simple
    if pyarrow.types.is_timestamp(value.type) and value.type.tz:  # in UTC, which needs no list of time zones
        value = value.cast(pyarrow.timestamp(value.type.unit, "UTC"))
    return value.cast(pyarrow.string()).as_py()
