"""The inputs `X` and `y` of the estimator: checked and converted to texts, groups, and what is to be predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from salience.classify import TextClassifier
from salience.data.columns import Columns
from salience.data.labels import label_names
from salience.data.task import with_marks
from salience.data.texts import Texts, TextsLike, described
from salience.data.values import is_missing, text_of, well_formed
from salience.errors import InputError, counted, quoted, unknown

COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)  # what the labels of a text can stand in


def texts_to_learn(X: TextsLike) -> Texts:
    """The texts or pairs of texts in `X`. An empty `X` and blank texts, of which nothing is learnt, are refused."""
    texts = Texts.of(X, "X")
    check_some(texts)
    for part, column in enumerate(texts.columns):
        for index, text in enumerate(column):
            if text_of(text) is None:
                place = f"X[{index}]" if texts.second is None else f"X[{index}][{part}]"
                raise InputError(f"{place} is an empty text; remove this row, or give it a text")
    return texts


def check_some(texts: Sized) -> None:
    if not len(texts):
        raise InputError("no texts: X is empty; give at least one text")


def as_groups(groups: Sequence | None, count: int) -> list[str] | None:
    """The names of the groups of `count` texts; None if none are given."""
    if groups is None:
        return None
    names = column_or_1d(np.array(groups, dtype=object) if isinstance(groups, list | tuple) else np.asarray(groups))
    if len(names) != count:
        raise InputError(f"{count} texts, but {len(names)} groups")
    check_none_missing(names, "groups")
    return [str(name) for name in names]


def with_marks_given(texts: Texts, names: Sequence[str], given: Mapping[str, Sequence | None]) -> Texts:
    """Labelled texts with the "marks" and the "ignore" that are given; their labels have these `names`."""
    values = {role: list(each) for role, each in given.items() if each is not None}
    for role, each in values.items():
        if len(each) != len(texts):
            raise InputError(
                f"{counted(len(texts), 'text')}, but {len(each)} values in {role}: give one for each text"
            )
    labels = np.array(names, object)
    of_rows = [tuple(labels[np.atleast_1d(row.astype(bool) if row.ndim else row)]) for row in texts.known_labels]
    pairs = "text_pair" if texts.second is not None else None
    own = {role: role if role in values else None for role in ("marks", "ignore")}
    columns = Columns("text", pairs, marks=own["marks"], ignore=own["ignore"])
    return with_marks(texts, of_rows, values, columns, "fit")


def check_none_missing(values: Iterable, name: str) -> None:
    for index, value in enumerate(values):
        if is_missing(value):
            raise InputError(f"{name}[{index}] is missing ({value!r}): give it a value, or remove this row")


def class_names(classes: np.ndarray) -> list[str]:
    """The names of classes in the configuration of the model."""
    return [well_formed(str(name)) for name in classes.tolist()]


@dataclass(frozen=True)
class Targets:
    """What the estimator learns to predict: one of C labels for each text, or any number of them."""

    # (C,). Of one label for each text, sorted, with their type in `y`; of several, names, the columns of a table, or
    # 0 to C - 1 for the columns of a matrix.
    classes: np.ndarray
    dtype: np.dtype | None = None  # of the matrices (N, C) of 0 and 1 that are predicted; None: one label

    def predicted(self, probabilities: np.ndarray, classifier: TextClassifier) -> np.ndarray:
        """The predicted classes (N,), or of several labels (N, C) 1 where one reaches its threshold."""
        if self.dtype is None:
            return self.classes[classifier.decisions(probabilities).argmax(1)]
        return classifier.decisions(probabilities).astype(self.dtype)

    def known(self, y: Any) -> Any:
        """Labels in the form of predictions: N lists of names, which must be known, become a matrix of 0 and 1."""
        y = in_order(y)
        rows = None if self.dtype is None else collections_in(y)
        if rows is None:
            return y
        if not all(isinstance(label, str) for row in rows for label in row):
            return np.array([list(row) for row in rows])
        names = self.classes.tolist()
        for label in set().union(*rows) - set(names):
            raise unknown("label in y:", str(label), names)
        return MultiLabelBinarizer(classes=names).fit_transform(rows)


def targets_of(y: Any, count: int) -> tuple[Targets, np.ndarray]:
    """What `y` asks to predict of `count` texts, and the labels as numbers: (N,) class numbers, or (N, C) 0 and 1.

    `y` has N labels. Or it is a matrix (N, C) of 0 and 1, dense, sparse or a table of pandas, with C of at least 2; or
    N collections of names, of which some may be empty. Collections of one name each are a column of labels.
    """
    y = in_order(y)
    targets, numbers = several_labels(y) or one_label(y, count)
    if len(numbers) != count:
        raise InputError(f"{count} texts, but {len(numbers)} labels")
    name, same = Counter(class_names(targets.classes)).most_common(1)[0]
    if same > 1:
        raise InputError(f"{same} labels in y have the same name, {quoted(name)}; give each another name")
    return targets, numbers


def in_order(y: Any) -> Any:
    """Labels that can be read more than once. Raises an `InputError` if they have no order."""
    if isinstance(y, str | bytes | Mapping | Set):
        raise InputError(f"y is {described(y)}; give a sequence of labels: a list, an array or a pandas column")
    return list(y) if isinstance(y, Iterator) else y


def several_labels(y: Any) -> tuple[Targets, np.ndarray] | None:
    """As `targets_of`, if a text can have several labels in `y`; None if each has one."""
    if issparse(y):
        y = y.toarray()
    names = getattr(y, "columns", None)
    values = np.asarray(y) if hasattr(y, "__array__") else y
    if not (isinstance(values, np.ndarray) and values.ndim == 2):
        rows = collections_in(y)
        if rows is None or all(len(row) == 1 for row in rows):
            return None
        labels = [label for row in rows for label in row]
        numbers = bool(labels) and all(isinstance(label, Number | np.bool_) for label in labels)
        if not numbers or len({len(row) for row in rows}) > 1:
            if all(isinstance(row, tuple) for row in rows) and not all(isinstance(label, str) for label in labels):
                return None  # a tuple such as ("a", 1) is one label
            found = checked_names(rows)
            matrix = MultiLabelBinarizer(classes=found).fit_transform(rows)
            return Targets(np.array(found), np.dtype(np.int64)), matrix
        values, names = np.array([list(row) for row in rows]), None
    elif values.shape[1] < 2:
        return None
    for row, column in np.argwhere(~np.isin(values, (0, 1)))[:1].tolist():
        value, place = values[row, column], f"y[{row}, {column}]"
        if is_missing(value):
            raise InputError(f"{place} is missing ({value!r}); write 0 for a label that does not apply")
        raise InputError(
            f"{place} is {quoted(value)}, not 0 or 1: a matrix y says which labels apply to each text; for one label "
            "a text, y should be a 1d array"
        )
    classes = np.arange(values.shape[1]) if names is None else np.array(list(names), dtype=object)
    dtype = np.dtype(np.int64) if values.dtype == object else values.dtype
    return Targets(classes, dtype), values.astype(np.int64)


def collections_in(y: Any) -> list | None:
    """The N collections of labels that `y` consists of; None if it is something else."""
    if isinstance(y, str | bytes) or not (isinstance(y, Sequence) or getattr(y, "ndim", None) == 1) or not len(y):
        return None
    rows = list(y)
    return rows if all(isinstance(row, COLLECTIONS) and getattr(row, "ndim", 1) == 1 for row in rows) else None


def checked_names(rows: Sequence) -> list[str]:
    """The different names in N collections, sorted as those of a file."""
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


def one_label(y: Any, count: int) -> tuple[Targets, np.ndarray]:
    """As `targets_of`, where each text has one label."""
    if y is None:
        raise InputError("this classifier requires y to be passed, but the target y is None; give a label for each X")
    listed = isinstance(y, list | tuple)
    # As objects, because NumPy converts ["a", nan, 1] to ["a", "nan", "1"], and scikit-learn pandas' Int64 to floats.
    values = np.array(y, dtype=object) if listed else np.asarray(y) if hasattr(y, "__array__") else y
    labels = column_or_1d(values, warn=True)
    if labels.dtype.kind == "T":  # StringDType of NumPy, which cannot be saved by its name
        labels = labels.astype(object)
    check_none_missing(labels, "y")
    if labels.dtype == object and len(labels):
        kind = common_kind(labels)
        if issubclass(kind, Number) or (listed and kind is str):
            labels = np.array(labels.tolist())
    if labels.dtype.kind == "f":
        check_classification_targets(labels)
    if len(labels) != count:
        raise InputError(f"{count} texts, but {len(labels)} labels")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(f"labels of type {type(labels[0]).__name__} cannot be sorted; give strings") from error
    if len(classes) < 2:
        raise InputError(f"y has only one class, {quoted(classes[0])}; give labels of at least two classes")
    return Targets(classes), numbers


def common_kind(labels: np.ndarray) -> type:
    """The type of all labels; `Number` stands for all types of numbers."""

    def kind_of(label: Any) -> type:
        return next((kind for kind in (Number, np.bool_, str) if isinstance(label, kind)), type(label))

    for index, label in enumerate(labels):
        if kind_of(label) in (list, dict, set, np.ndarray):
            raise InputError(
                f"y[{index}] is {described(label)}; give one label for each text, such as a string, or a list of "
                "names for each text"
            )
        if kind_of(label) != kind_of(labels[0]):
            raise InputError(
                f"y[{index}] is {described(label)}, but y[0] is {described(labels[0])}; "
                "give labels of one type, for example [str(label) for label in y]"
            )
    return kind_of(labels[0])
