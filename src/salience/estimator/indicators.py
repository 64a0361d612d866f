"""Several labels for each text in `y`: a matrix of 0 and 1, as `MultiLabelBinarizer` makes it, or lists of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse

from salience.data.labels import label_names
from salience.data.values import is_missing
from salience.errors import InputError, quoted, unknown
from salience.estimator.inputs import class_names, described

COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)  # what the labels of a text can stand in


@dataclass(frozen=True)
class Indicators:
    """The labels of N texts, of which each can have several of C.

    Attributes:
        classes: the labels (C,): names, the columns of a table, or 0 to C - 1 for the columns of a matrix.
        matrix: (N, C) int64, 1 where a text has the label.
        dtype: of the matrix in `y`, in which predictions are given; int64 for lists of names.
    """

    classes: np.ndarray
    matrix: np.ndarray
    dtype: np.dtype


def as_indicators(y: Any) -> Indicators | None:
    """The labels in `y` if a text can have several there; None if each has one.

    Args:
        y: a matrix (N, C) of 0 and 1, dense, sparse or a table of pandas, with C of at least 2; or N collections of
            names, of which some may be empty. Collections of one name each are a column of labels, one for each text.

    Raises:
        InputError: a value of a matrix is not 0 or 1, two columns of a table have one name, or collections hold
            something else than names.
    """
    if issparse(y):
        y = y.toarray()
    names = getattr(y, "columns", None)
    values = np.asarray(y) if hasattr(y, "__array__") else y
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return of_matrix(values, names) if values.shape[1] > 1 else None
    rows = collections_in(y)
    if rows is None or all(len(row) == 1 for row in rows):
        return None
    widths, labels = {len(row) for row in rows}, [label for row in rows for label in row]
    if len(widths) == 1 and labels and all(isinstance(label, Number | np.bool_) for label in labels):
        return of_matrix(np.array([list(row) for row in rows]), None)
    if all(isinstance(row, tuple) for row in rows) and not all(isinstance(label, str) for label in labels):
        return None  # a tuple such as ("a", 1) is one label
    found = checked_names(rows)
    return Indicators(np.array(found), matrix_of(rows, found), np.dtype(np.int64))


def collections_in(y: Any) -> list | None:
    """The N collections of labels that `y` consists of; None if it is something else."""
    if isinstance(y, str | bytes) or not (isinstance(y, Sequence) or getattr(y, "ndim", None) == 1) or not len(y):
        return None
    rows = list(y)
    return rows if all(isinstance(row, COLLECTIONS) and getattr(row, "ndim", 1) == 1 for row in rows) else None


def of_matrix(values: np.ndarray, names: Iterable | None) -> Indicators:
    """The labels in a matrix (N, C) of 0 and 1.

    Args:
        names: of the columns, if it is a table.
    """
    for row, column in np.argwhere(~np.isin(values, (0, 1)))[:1].tolist():
        value, place = values[row, column], f"y[{row}, {column}]"
        if is_missing(value):
            raise InputError(f"{place} is missing ({value!r}); write 0 for a label that does not apply")
        raise InputError(
            f"{place} is {quoted(value)}, not 0 or 1: a matrix y says which labels apply to each text; for one label "
            "a text, y should be a 1d array"
        )
    classes = np.arange(values.shape[1]) if names is None else np.array(list(names), dtype=object)
    name, count = Counter(class_names(classes)).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} columns of y have the name {quoted(name)}; give each column another name")
    dtype = np.dtype(np.int64) if values.dtype == object else values.dtype
    return Indicators(classes, values.astype(np.int64), dtype)


def checked_names(rows: Sequence) -> list[str]:
    """The different names in N collections, sorted as those of a file.

    Raises:
        InputError: one is no text, or there are fewer than two.
    """
    for index, row in enumerate(rows):
        for label in row:
            if not isinstance(label, str):
                raise InputError(
                    f"y[{index}] contains {described(label)}; give lists of names, or a matrix of 0 and 1, as "
                    "MultiLabelBinarizer of scikit-learn makes it"
                )
    names = label_names(str(label) for row in rows for label in row)
    if len(names) < 2:
        raise InputError(f"the lists in y name {len(names)} different labels; several labels a text need at least two")
    return names


def matrix_of(rows: Sequence, names: Sequence[str]) -> np.ndarray:
    """N collections of names as a matrix (N, C) int64 of 0 and 1.

    Raises:
        InputError: a name is not among the C names.
    """
    numbers = {name: number for number, name in enumerate(names)}
    found = np.zeros((len(rows), len(names)), np.int64)
    for index, row in enumerate(rows):
        for label in row:
            if label not in numbers:
                raise unknown(f"label in y[{index}]:", str(label), names)
            found[index, numbers[label]] = 1
    return found
