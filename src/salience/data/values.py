"""One value of a row, of any type, as a text, as a label, or as the labels of a text; and the names of columns."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, TypeAlias, TypeVar

from salience.errors import InputError, quoted

Label: TypeAlias = "str | tuple[str, ...]"  # of a row; a tuple where a row can have several
Value = TypeVar("Value")
DEEPEST = 100  # levels of lists and objects in one value
TOO_DEEP = f"lists and objects are nested more than {DEEPEST} levels deep; a row is an object of texts and numbers"
# A text in quotation marks or a word of a list, also as numpy names the type of it, and the space before another one.
ATOM = r"""[bu]?'(?:[^'\\]|\\.)*'|[bu]?"(?:[^"\\]|\\.)*"|[^\s,:'"()\[\]{}]+"""
ITEM = re.compile(rf"""(?:np\.\w+\(({ATOM})\)|({ATOM}))(\s*(?=[\w.'"+-]))?""")
SWITCHES = {"0": "0", "1": "1", "0.0": "0", "1.0": "1", "false": "0", "true": "1"}


def checked_names(names: list[str], source: object) -> list[str]:
    """The names of a header, without space around them. Raises an `InputError` if one is empty or occurs twice."""
    names = [name.strip() for name in names]
    if "" in names:
        raise InputError(
            f"{source}: column {names.index('') + 1} of {len(names)} has no name; name it in the header, or remove "
            "the column (pandas: to_csv(..., index=False))"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source}: the header names the column {quoted(twice)} twice; rename one of the two")
    return names


def header_names(names: list[str], source: object) -> list[str]:
    """As `checked_names`, of the first line of a table; pandas writes its index without a name."""
    if names and not names[0].strip() and "index" not in names:
        names = ["index", *names[1:]]
    return checked_names(names, source)


def nested_names(row: Mapping[str, Any]) -> Iterator[str]:
    """The names of the values of a row, and of those in objects: `content`, `content.text`."""
    for name, value in row.items():
        yield name
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in nested_names(value))


def holder(row: Mapping[str, Any], name: str) -> tuple[Any, str] | None:
    """The object that has a value of a row, and the value's name in it; None if there is no such value.

    `content.text` is the value `text` of the object `content`, unless the row itself has a value of this name.
    """
    if name in row:
        return row, name
    for dot in (place for place, letter in enumerate(name) if letter == "."):
        inner = row.get(name[:dot])
        if isinstance(inner, Mapping) and (found := holder(inner, name[dot + 1 :])) is not None:
            return found
    return None


def value_at(row: Mapping[str, Any], name: str) -> Any:
    """The value of a row, also in an object, by its name as of `holder`; None if there is none."""
    if (found := holder(row, name)) is None:
        return None
    owner, own = found
    return owner[own]


def outer_name(name: str, names: Collection[str]) -> str:
    """Which of the names of columns has a value, also one in an object, by its name as of `holder`."""
    if name in names:
        return name
    outer = (name[:place] for place, letter in enumerate(name) if letter == "." and name[:place] in names)
    return next(outer, name)


def label_columns(label: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that `--label` names, with commas between them. A column whose own name has a comma is one."""
    if label is None:
        return ()
    parts = tuple(part.strip() for part in label.split(","))
    return (label,) if label in names or not all(parts) else parts


def is_multi_label(labels: Sequence[Any]) -> bool:
    """Whether the labels of some rows, which are all of one kind, are several for each row."""
    return len(labels) > 0 and isinstance(labels[0], tuple)


def mixed_kinds(labels: Sequence[Label]) -> int | None:
    """The index of the first row that has a single label although other rows have lists; None if there is none."""
    several = [isinstance(label, tuple) for label in labels]
    return several.index(False) if any(several) and not all(several) else None


def check_same_kind(labels: Sequence[Label], data: str, other: Sequence[Label], source: str) -> None:
    """Raises an `InputError` if `other` rows have lists of labels and the training rows have not, or the reverse."""
    if len(other) and is_multi_label(labels) != is_multi_label(other):
        one, lists = "one label for each row", "lists of labels"
        its, theirs = (lists, one) if is_multi_label(labels) else (one, lists)
        raise InputError(f"{source} has {theirs}, and {data} has {its}: write the labels of both files in one way")


def joined_labels(labels: Sequence[str]) -> tuple[str, str] | None:
    """The separator, and a label with it, if most rows join several labels by | or ; or a comma; otherwise None.

    A separator alone is no proof: "Paris, France" and "Sport;Football" are one label each. But there, later parts
    never come first, while labels in a list (joy|fear, fear|anger, anger) are found at every position.
    """
    counts = Counter(labels)
    for separator in "|;,":
        joined = [label for label in counts if separator in label]
        if 2 * sum(counts[label] for label in joined) <= len(labels):
            continue
        parts = [[part.strip() for part in label.split(separator)] for label in counts]
        first = {each[0] for each in parts}
        later = {part for each in parts for part in each[1:]}
        if len(first | later) > 2 and 2 * len(first & later) > len(later):
            return separator, max(joined, key=lambda label: counts[label])
    return None


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA of pandas is neither true nor false
        return True
    except ValueError:  # an array
        return False


def text_of(value: object) -> str | None:
    """A value as text; None if it is empty, blank or missing. Raises a `TypeError` if it is no text and no number."""
    if isinstance(value, str):
        return well_formed(value) if value and not value.isspace() else None
    if is_missing(value):
        return None
    if isinstance(value, Number):
        return str(value)
    raise TypeError(f"a text is needed, not a value of type {type(value).__name__}; choose another column with --text")


def listed_values(value: object) -> list[Any] | None:
    """The values of a list, a tuple or a set, also of one that is written as a text; None for anything else."""
    found = parsed_value(value)
    if isinstance(found, dict):
        raise TypeError(
            f"an object, {quoted(value)}, is no label; write the labels that apply as a list, or as columns of 0 and 1"
        )
    if not isinstance(found, list | tuple | set):
        return None
    if any(each is ... for each in found):
        raise TypeError(
            f"numpy has left out values of the list {quoted(value)}; write it whole, as array.tolist() or as JSON"
        )
    return list(found)


def parsed_value(value: object) -> Any:
    """What a text in brackets is as JSON, or as Python or numpy write it; another value as it is, as "[other]"."""
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith(("[", "{", "(")) and text[-1] in "]})":
        for parse in (json.loads, python_literal):
            try:
                return parse(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def python_literal(text: str) -> Any:
    """A value as Python or numpy writes it. numpy has no commas, and Python alone would join 'a' 'b' to one text."""

    def with_comma(item: re.Match) -> str:
        written, space = item[1] or item[2], item[3]
        return ("None" if written == "nan" else written) + ("" if space is None else f",{space}")

    return ast.literal_eval(ITEM.sub(with_comma, text))


def label_of(value: object) -> str | None:
    """A value as a label: a string as it is, a whole number without a decimal point. None if it is missing."""
    if listed_values(value) is not None:
        raise TypeError(f"several labels in one row, {quoted(value)}, where one is needed")
    if isinstance(value, float) and not math.isnan(value):
        if not value.is_integer():
            raise TypeError(numbers_not_classes(value))
        return str(int(value))
    try:
        return text_of(value)
    except TypeError:
        raise TypeError(
            f"a label is a word or a whole number, not of type {type(value).__name__}; choose a column with --label"
        ) from None


def numbers_not_classes(fraction: object) -> str:
    return f"the labels are numbers, not classes ({fraction}); a class is a word or a whole number"


def labels_of(value: object, separator: str | None = None, empty_label: str = "error") -> Label | None:
    """A value as a label, or as the labels of a row where it is a list or divided by `separator`.

    A missing value is None; with `empty_label` "none" it says that the row has no label.
    """
    found = listed_values(value)
    if found is None:
        label = label_of(value)
        if label is None and empty_label == "none":
            return ()
        if separator is None or label is None:
            return label
        found = [part.strip() for part in label.split(separator)]
    labels = [label_of(each) for each in found]
    names = [label for label in labels if label is not None]
    if len(names) < len(labels):
        raise TypeError(f"an empty label among several, {quoted(value)}; write [] where no label applies")
    if twice := [name for name in names if names.count(name) > 1]:
        raise TypeError(
            f"{quoted(value)} has the label {quoted(twice[0])} twice; a list has the names of the labels that apply, "
            "and zeros and ones need a column for each label: --label NAME,NAME"
        )
    return tuple(names)


def joined(labels: Sequence[str], separator: str | None, empty_label: str = "error", in_ascii: bool = False) -> str:
    """The labels of a row as a text that `labels_of` reads: with the separator if there is one, else as JSON."""
    if separator is not None and (labels or empty_label == "none"):
        return separator.join(labels)
    return json.dumps(list(labels), ensure_ascii=in_ascii)


def indicator_of(value: object) -> str | None:
    """A value of a column of 0 and 1, also written as true and false: "1" or "0". None if it is missing."""
    if isinstance(value, int | float) and value in (0, 1):
        return str(int(value))
    written = str(value) if isinstance(value, list | tuple | dict | set) else text_of(value)
    if written is not None and written.strip().lower() not in SWITCHES:
        raise TypeError(
            f"{quoted(value)} is neither 0 nor 1; several columns of --label say whether each label applies"
        )
    return None if written is None else SWITCHES[written.strip().lower()]


def group_of(value: object) -> str | None:
    """A value as the name of a group, as it is written. None if it is missing."""
    if isinstance(value, list | tuple | dict | set):
        raise TypeError("a group is a word or a number, not a list or an object; choose another column with --group")
    return None if is_missing(value) else text_of(str(value))


def value_in(
    row: Mapping, column: str, kind: Callable[[object], Value | None], number: int, source: str
) -> Value | None:
    """The value of a row in a column, by `kind`, such as `text_of`. An error names file, row and column."""
    try:
        return kind(value_at(row, column))
    except TypeError as error:
        raise InputError(f"{source}: row {number}, column {quoted(column)}: {error}") from error


def well_formed(text: str) -> str:
    """The text as valid Unicode: half of a surrogate pair becomes U+FFFD, two halves become their character.

    Such halves come from JSON ("\\ud83d" alone) and from arguments of the command line that are not UTF-8.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def well_formed_value(value: Any, depth: int = DEEPEST) -> Any:
    """A JSON value in which all texts, also the names in objects, are valid Unicode."""
    if isinstance(value, str):
        return well_formed(value)
    if not isinstance(value, (list, dict)):
        return value
    if depth == 0:
        raise InputError(TOO_DEEP)
    if isinstance(value, list):
        return [well_formed_value(each, depth - 1) for each in value]
    row = {well_formed(name): well_formed_value(each, depth - 1) for name, each in value.items()}
    if len(row) < len(value):
        alike = next(name for name in row if "\ufffd" in name)
        raise InputError(
            f"two names of an object are not valid Unicode and cannot be told apart: {quoted(alike)}; rename them"
        )
    return row
