"""What a scikit-learn user passes as `X` and as `y`, checked and turned into texts, labels and classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from salience.data.values import text_of, well_formed
from salience.errors import InputError, quoted


def as_texts(X: Sequence, allow_empty: bool = False) -> tuple[list[str], list[str] | None]:
    """Texts, and the second texts if `X` holds pairs.

    Half characters (lone surrogates) are replaced by U+FFFD, as in files.

    Args:
        X: a list, array or pandas column of N texts or N pairs of texts; an array or table (N, 1) counts as N texts.
        allow_empty: take texts that are empty or blank, for which a model has an answer but which teach it nothing.

    Raises:
        InputError: `X` is not a sequence or is empty; or a text is missing, empty or not a string (names its index).
    """
    rows = [only_cell(row) for row in rows_of(X)]
    if not rows:
        raise InputError("no texts: X is empty; give at least one text")
    if not is_pair(rows[0]):
        return [checked_text(row, f"X[{index}]", allow_empty) for index, row in enumerate(rows)], None
    for index, row in enumerate(rows):
        if not is_pair(row):
            raise InputError(f"X[{index}] is no pair of texts as X[0] is, but {described(row)}; give pairs throughout")
    first, second = (
        [checked_text(row[part], f"X[{index}][{part}]", allow_empty) for index, row in enumerate(rows)]
        for part in (0, 1)
    )
    return first, second


def rows_of(X: Sequence) -> list:
    if isinstance(X, str | bytes):
        raise InputError("X is one text; give a sequence of texts, not one string: for example [text]")
    if issparse(X):
        raise InputError("X is a sparse matrix; this classifier reads texts: give a sequence of strings")
    if isinstance(X, Mapping | Set):
        raise InputError(f"X is a {type(X).__name__}; give the texts in a list, an array or a pandas column")
    try:
        return list(np.asarray(X) if hasattr(X, "__array__") else X)
    except TypeError as error:
        raise InputError(f"X is {described(X)}; give a sequence of texts") from error


def only_cell(row: Any) -> Any:
    """The text of a row of one column."""
    return row[0] if isinstance(row, list | tuple | np.ndarray) and np.ndim(row) == 1 and len(row) == 1 else row


def is_pair(row: object) -> bool:
    return (isinstance(row, list | tuple) and len(row) == 2) or (isinstance(row, np.ndarray) and row.shape == (2,))


def checked_text(value: object, place: str, allow_empty: bool) -> str:
    if isinstance(value, str):
        text = well_formed(value) if allow_empty else text_of(value)
        if text is None:
            raise InputError(f"{place} is an empty text; remove this row, or give it a text")
        return str(text)  # numpy's strings too
    if is_missing(value):
        raise InputError(f"{place} is missing ({value!r}); remove this row, or give it a text")
    raise InputError(f"{place} is no text and no pair of texts, but {described(value)}; give strings")


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither true nor false
        return True
    except ValueError:  # an array
        return False


def described(value: object) -> str:
    """The type of a value, and its shape if it has one."""
    shape = getattr(value, "shape", None) or ((len(value),) if isinstance(value, list | tuple) else None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if shape else "")


def as_labels(y: Sequence) -> np.ndarray:
    """Labels (N,), of the type that they have in `y`.

    Raises:
        InputError: `y` is None, a label is missing or a collection (names its index), or labels are of several types.
        ValueError: as scikit-learn's classifiers: `y` is not of shape (N,) or (N, 1), or holds fractions.
    """
    if y is None:
        raise InputError("this classifier requires y to be passed, but the target y is None; give a label for each X")
    listed = isinstance(y, list | tuple)
    # As objects, because numpy turns ["a", nan, 1] into ["a", "nan", "1"]; and scikit-learn pandas' Int64 into floats.
    values = np.array(y, dtype=object) if listed else np.asarray(y) if hasattr(y, "__array__") else y
    labels = column_or_1d(values, warn=True)
    if labels.dtype.kind == "T":  # numpy's strings of any length, whose type has no name to save
        labels = labels.astype(object)
    for index, label in enumerate(labels):
        if is_missing(label):
            raise InputError(f"y[{index}] is missing ({label!r}; NaN and None are no labels); remove this row")
    if labels.dtype == object and len(labels):
        kind = common_kind(labels)
        if issubclass(kind, Number) or (listed and kind is str):
            labels = np.array(labels.tolist())
    if labels.dtype.kind == "f":
        check_classification_targets(labels)
    return labels


def common_kind(labels: np.ndarray) -> type:
    """The type that all labels have; `Number` stands for all numbers."""
    kinds = [next((kind for kind in (Number, np.bool_, str) if isinstance(label, kind)), type(label))
             for label in labels]  # fmt: skip
    for index, kind in enumerate(kinds):
        if kind in (list, dict, set, np.ndarray):
            raise InputError(
                f"y[{index}] is {described(labels[index])}; give one label for each text, such as a string"
            )
        if kind != kinds[0]:
            raise InputError(
                f"y[{index}] is {described(labels[index])}, but y[0] is {described(labels[0])}; "
                "give labels of one type, for example [str(label) for label in y]"
            )
    return kinds[0]


def classes_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes (C,) in order, and the place of each label among them (N,).

    Raises:
        InputError: there is one class only, the labels cannot be sorted, or two classes have the same name.
    """
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(f"labels of type {type(labels[0]).__name__} cannot be sorted; give strings") from error
    if len(classes) < 2:
        raise InputError(f"one class only: {quoted(classes[0])}; a classifier needs two")
    name, count = Counter(class_names(classes)).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} classes have the same name, {quoted(name)}; give each label another name")
    return classes, numbers


def class_names(classes: np.ndarray) -> list[str]:
    """The classes as the model's configuration names them."""
    return [well_formed(str(name)) for name in classes.tolist()]
