"""The inputs `X` and `y` of the estimator: checked and converted to texts, labels and classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from salience.data.texts import Texts
from salience.data.values import is_missing, text_of, well_formed
from salience.errors import InputError, quoted


def as_texts(X: Sequence, allow_empty: bool = False) -> Texts:
    """What `X` holds: texts, or pairs of texts.

    Lone surrogates are replaced by U+FFFD, as in files.

    Args:
        X: a list, array or pandas column of N texts or N pairs of texts. Arrays and tables (N, 1) stand for N texts.
        allow_empty: whether empty and blank texts are allowed, as in predictions; a model learns nothing from them.

    Raises:
        InputError: `X` is not a sequence or is empty; or a text is missing, empty or not a string (names the index).
    """
    rows = [only_cell(row) for row in rows_of(X)]
    if not rows:
        raise InputError("no texts: X is empty; give at least one text")
    if not is_pair(rows[0]):
        return Texts([checked_text(row, f"X[{index}]", allow_empty) for index, row in enumerate(rows)])
    for index, row in enumerate(rows):
        if not is_pair(row):
            raise InputError(f"X[0] is a pair of texts, but X[{index}] is {described(row)}; give pairs of texts only")
    first, second = (
        [checked_text(row[part], f"X[{index}][{part}]", allow_empty) for index, row in enumerate(rows)]
        for part in (0, 1)
    )
    return Texts(first, second)


def rows_of(X: Sequence) -> list:
    """The rows of `X` as a list. Raises an `InputError` if `X` is not a sequence of texts."""
    if isinstance(X, str | bytes):
        raise InputError("X is one text; give a sequence of texts, for example [text]")
    if issparse(X):
        raise InputError("X is a sparse matrix; this classifier reads texts: give a sequence of strings")
    if isinstance(X, Mapping | Set):
        raise InputError(f"X is a {type(X).__name__}; give the texts in a list, an array or a pandas column")
    try:
        return list(np.asarray(X) if hasattr(X, "__array__") else X)
    except TypeError as error:
        raise InputError(f"X is {described(X)}; give a sequence of texts") from error


def only_cell(row: Any) -> Any:
    """The value of a row with a single column, and other rows as they are."""
    return row[0] if isinstance(row, list | tuple | np.ndarray) and np.ndim(row) == 1 and len(row) == 1 else row


def is_pair(row: object) -> bool:
    """Whether a row has two columns."""
    return (isinstance(row, list | tuple) and len(row) == 2) or (isinstance(row, np.ndarray) and row.shape == (2,))


def checked_text(value: object, place: str, allow_empty: bool) -> str:
    """A value as a text. Raises an `InputError` that names its place, such as "X[3]", if it is not a text."""
    if isinstance(value, str):
        text = well_formed(value) if allow_empty else text_of(value)
        if text is None:
            raise InputError(f"{place} is an empty text; remove this row, or give it a text")
        return str(text)  # also for strings of NumPy
    if is_missing(value):
        raise InputError(f"{place} is missing ({value!r}); remove this row, or give it a text")
    raise InputError(f"{place} is {described(value)}, not a text or a pair of texts; give strings")


def described(value: object) -> str:
    """The type of a value, and its shape if it has one."""
    shape = getattr(value, "shape", None) or ((len(value),) if isinstance(value, list | tuple) else None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if shape else "")


def as_labels(y: Sequence) -> np.ndarray:
    """The labels (N,), one for each text, with their type in `y`.

    Raises:
        InputError: `y` is None, a label is missing or a collection (names its index), or labels have several types.
        ValueError: as in the classifiers of scikit-learn: `y` has another shape than (N,) or (N, 1), or contains
            fractions.
    """
    if y is None:
        raise InputError("this classifier requires y to be passed, but the target y is None; give a label for each X")
    listed = isinstance(y, list | tuple)
    # As objects, because NumPy converts ["a", nan, 1] to ["a", "nan", "1"], and scikit-learn pandas' Int64 to floats.
    values = np.array(y, dtype=object) if listed else np.asarray(y) if hasattr(y, "__array__") else y
    labels = column_or_1d(values, warn=True)
    if labels.dtype.kind == "T":  # StringDType of NumPy, which cannot be saved by its name
        labels = labels.astype(object)
    for index, label in enumerate(labels):
        if is_missing(label):
            raise InputError(f"y[{index}] is missing ({label!r}); NaN and None are not labels: remove this row")
    if labels.dtype == object and len(labels):
        kind = common_kind(labels)
        if issubclass(kind, Number) or (listed and kind is str):
            labels = np.array(labels.tolist())
    if labels.dtype.kind == "f":
        check_classification_targets(labels)
    return labels


def as_groups(groups: Sequence | None, count: int) -> list[str] | None:
    """The names of the groups of `count` texts; None if none are given.

    Raises:
        InputError: there are more or fewer groups than texts, or one is missing (names its index).
    """
    if groups is None:
        return None
    names = column_or_1d(np.array(groups, dtype=object) if isinstance(groups, list | tuple) else np.asarray(groups))
    if len(names) != count:
        raise InputError(f"{count} texts, but {len(names)} groups")
    for index, name in enumerate(names):
        if is_missing(name):
            raise InputError(f"groups[{index}] is missing ({name!r}); give a group to each text")
    return [str(name) for name in names]


def common_kind(labels: np.ndarray) -> type:
    """The type of all labels; `Number` stands for all types of numbers.

    Raises:
        InputError: a label is a collection, or labels have several types.
    """
    kinds = [next((kind for kind in (Number, np.bool_, str) if isinstance(label, kind)), type(label))
             for label in labels]  # fmt: skip
    for index, kind in enumerate(kinds):
        if kind in (list, dict, set, np.ndarray):
            raise InputError(
                f"y[{index}] is {described(labels[index])}; give one label for each text, such as a string, or a list "
                "of names for each text"
            )
        if kind != kinds[0]:
            raise InputError(
                f"y[{index}] is {described(labels[index])}, but y[0] is {described(labels[0])}; "
                "give labels of one type, for example [str(label) for label in y]"
            )
    return kinds[0]


def classes_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes (C,), sorted, and the class index of every label (N,).

    Raises:
        InputError: there is only one class, the labels cannot be sorted, or two classes have the same name.
    """
    try:
        classes, class_indices = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(f"labels of type {type(labels[0]).__name__} cannot be sorted; give strings") from error
    if len(classes) < 2:
        raise InputError(f"y has only one class, {quoted(classes[0])}; give labels of at least two classes")
    name, count = Counter(class_names(classes)).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} classes have the same name, {quoted(name)}; give each label another name")
    return classes, class_indices


def class_names(classes: np.ndarray) -> list[str]:
    """The names of classes in the configuration of the model."""
    return [well_formed(str(name)) for name in classes.tolist()]
