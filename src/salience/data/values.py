"""One value of a row, whatever its type, as a text or as a label."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Number

from salience.data.multilabel import holds_several
from salience.errors import InputError, quoted


def text_of(value: object) -> str | None:
    """A value as text; None if it is empty, blank or missing.

    Raises:
        TypeError: it is neither text nor a number.
    """
    if isinstance(value, str):
        return well_formed(value) if value and not value.isspace() else None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, Number):
        return str(value)
    raise TypeError(f"a text is needed, not a value of type {type(value).__name__}; choose another column with --text")


def label_of(value: object) -> str | None:
    """A value as label: exactly the string that it is, whole numbers without a point. None if it is missing.

    Raises:
        TypeError: it is several labels, a fraction, or no label at all.
    """
    if isinstance(value, (list, tuple, dict, set)) or (isinstance(value, str) and holds_several(value)):
        raise TypeError(f"several labels in one row, {quoted(value)}; salience gives one label a text")
    if isinstance(value, float) and not math.isnan(value):
        if not value.is_integer():
            raise TypeError(f"the labels are numbers, not classes ({value}); a class is a word or a whole number")
        return str(int(value))
    try:
        return text_of(value)
    except TypeError:
        raise TypeError(
            f"a label is a word or a whole number, not of type {type(value).__name__}; choose a column with --label"
        ) from None


def value_in(row: Mapping, column: str, kind: Callable[[object], str | None], number: int, source: str) -> str | None:
    """What stands in a row's column, read as `kind`: text_of or label_of.

    Raises:
        InputError: it is of a wrong kind; names file, row and column.
    """
    try:
        return kind(row.get(column))
    except TypeError as error:
        raise InputError(f"{source}: row {number}, column {quoted(column)}: {error}") from error


def well_formed(text: str) -> str:
    """The text with half characters (lone surrogates, which JSON lets through) replaced: no tokenizer takes them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
