"""Values of arrow columns as Python's, also those that Python has no value for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

FAILURES = (ValueError, TypeError, ArithmeticError, LookupError)  # of a value, or a time zone, that Python lacks


def python_values(column: pyarrow.Array | pyarrow.ChunkedArray) -> list:
    """The values of a column; where Python has none, such as for a date in the year 20,000, the arrow scalar itself.

    So a column that nobody uses may hold anything, and parquet gets back what it held. Texts are valid Unicode.
    """
    if has_nanoseconds(column.type):
        return [scalar if scalar.is_valid else None for scalar in column]
    try:
        return column.to_pylist()
    except FAILURES:  # one value spoils the whole call
        return [python_value(scalar) for scalar in column]


def has_nanoseconds(kind: pyarrow.DataType) -> bool:
    """Python's times of the day end at microseconds, and arrow drops the rest without a word."""
    import pyarrow

    return kind == pyarrow.time64("ns")


def python_value(scalar: pyarrow.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:  # bytes that are not UTF-8 are replaced, as half characters are
        return decoded(scalar) if hasattr(scalar, "as_buffer") else scalar
    except FAILURES:
        return scalar


def decoded(scalar: pyarrow.StringScalar) -> str:
    return scalar.as_buffer().to_pybytes().decode("utf-8", "replace")


def is_scalar(value: object) -> bool:
    return hasattr(value, "as_py")


def plain(value: Any) -> Any:
    """A value for csv and JSON: an arrow scalar becomes what Python has for its parts, or a text."""
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
