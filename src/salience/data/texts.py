"""Texts, single or in pairs, with what is known of each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from salience.data.values import is_missing, well_formed
from salience.errors import InputError, quoted

UNKNOWN = -1  # in `Texts.labels`: the label is not known


@dataclass(frozen=True, eq=False)
class Texts:
    """N texts, or N pairs of texts, and what is known of each. Equal if all values are.

    Whatever reads texts takes them from here. They are valid Unicode: half of a character is replaced, as in files.

    Args:
        texts: N texts; of pairs, the first ones.
        second: the N second texts of pairs; None for single texts.
        labels: (N,) int, the numbers of the labels, `UNKNOWN` (-1) where a label is not known; None if none is. Any
            sequence of whole numbers is taken. Of multi-label texts, 0 and 1 (N, C).
        rows: the number of each text's row in its file, 1 for the first row below the header; None for texts that
            come from no file.
        marks: for each text, the words that a person has marked, in a form of `salience.data.marks`.
        groups: the group of each text, such as its author; None if no groups are known.
        files: the file of each text, which its row is of; None where all are of one file, or of none.
        ignore: as `marks`, the words that must not count for its label.

    Raises:
        InputError: a text is none, the values are not of one length, or labels are not whole numbers.
    """

    texts: list[str]
    second: list[str] | None = None
    labels: np.ndarray | None = None
    rows: list[int] | None = None
    marks: list[list[Any]] | None = None
    groups: list[str] | None = None
    files: list[str] | None = None
    ignore: list[list[Any]] | None = None

    def __post_init__(self):
        for name in ("texts", "second"):
            if (column := getattr(self, name)) is not None:
                for place, text in enumerate(column):
                    if not isinstance(text, str):
                        raise InputError(
                            f"{name}[{place}] is no text, but of type {type(text).__name__}: give strings"
                        )
                object.__setattr__(self, name, [well_formed(text) for text in column])
        if self.labels is not None:
            numbers = np.asarray(self.labels)
            if numbers.dtype.kind not in "iu" and len(numbers):
                raise InputError(
                    f"labels are given by their numbers, whole numbers from 0 on, not as {quoted(self.labels[0])}"
                )
            object.__setattr__(self, "labels", numbers.astype(np.int64, copy=False))
        for name, values in vars(self).items():
            if values is not None and len(values) != len(self.texts):
                raise InputError(
                    f"{len(self.texts)} texts, but {len(values)} values in {name}: give one for each text"
                )

    @classmethod
    def of(cls, given: TextsLike, name: str = "texts") -> Texts:
        """Texts or pairs of texts, in whatever a person passes them: a list, a tuple, an array, a column or a table.

        Rows of one value, as in a table of one column, are texts, and rows of two are pairs. Empty texts are texts.

        Args:
            name: what messages call them.

        Raises:
            InputError: `given` is one text, without order or sparse; or a row is no text, or no pair as the first is.
        """
        if isinstance(given, Texts):
            return given
        rows = [alone(row) for row in rows_of(given, name, "texts")]
        if not rows or not is_row(rows[0], 2):
            return cls([checked_text(row, f"{name}[{index}]") for index, row in enumerate(rows)])
        for index, row in enumerate(rows):
            if not is_row(row, 2):
                raise InputError(
                    f"{name}[0] is a pair of texts, but {name}[{index}] is {described(row)}; give pairs of texts only"
                )
        first, second = (
            [checked_text(row[part], f"{name}[{index}][{part}]") for index, row in enumerate(rows)] for part in (0, 1)
        )
        return cls(first, second)

    @classmethod
    def concatenated(cls, parts: Iterable[Texts]) -> Texts:
        """The texts of all parts, in order.

        What is known of one part's texts must be known of all parts'; but labels that a part lacks are `UNKNOWN`.
        """
        parts = list(parts)
        known_labels = next((part.labels for part in parts if part.labels is not None), None)
        if known_labels is not None:
            shape = known_labels.shape[1:]
            parts = [
                replace(part, labels=np.full((len(part), *shape), UNKNOWN)) if part.labels is None else part
                for part in parts
            ]
        joined: dict[str, Any] = {}
        for field in fields(cls):
            known = [values for part in parts if (values := getattr(part, field.name)) is not None]
            joined[field.name] = [value for values in known for value in values] if known else None
        labels = joined.pop("labels")
        return cls(**joined | {"texts": joined["texts"] or []}, labels=None if labels is None else np.array(labels))

    @property
    def known_labels(self) -> np.ndarray:
        if self.labels is None:
            raise ValueError("the labels of the texts are needed, but not known")
        return self.labels

    @property
    def labelled(self) -> np.ndarray:
        """(N,) bool, whether the label of a text is known; where a text can have several, whether all of them are."""
        if self.labels is None:
            return np.zeros(len(self), bool)
        return (self.labels != UNKNOWN).all(axis=tuple(range(1, self.labels.ndim)))

    @property
    def columns(self) -> list[list[str]]:
        """The texts; of pairs, the first ones and the second ones."""
        return [self.texts] if self.second is None else [self.texts, self.second]

    def __len__(self) -> int:
        return len(self.texts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return False
        if self.labels is None or other.labels is None:
            labels_equal = self.labels is other.labels
        else:
            labels_equal = np.array_equal(self.labels, other.labels)
        return labels_equal and all(
            getattr(self, name) == getattr(other, name)
            for name in ("texts", "second", "rows", "marks", "ignore", "groups", "files")
        )

    def take(self, indices: Sequence[int] | np.ndarray) -> Texts:
        taken = {
            name: None if values is None or name == "labels" else [values[index] for index in indices]
            for name, values in vars(self).items()
        }
        return Texts(**taken | {"labels": None if self.labels is None else self.labels[np.asarray(indices, int)]})


TextsLike: TypeAlias = Texts | Sequence[str] | Sequence[tuple[str, str]] | ArrayLike  # that is, also pandas' tables


def rows_of(given: Any, name: str, what: str) -> list[Any]:
    """The rows of a sequence that a person passes under a name, such as texts; those of a table are arrays."""
    try:
        if isinstance(given, str | bytes | Mapping | Set) or hasattr(given, "tocsr"):  # names, no order, or sparse
            raise TypeError
        return list(np.asarray(given) if hasattr(given, "__array__") else given)
    except TypeError as error:
        raise InputError(
            f"{name} is {described(given)}; give a sequence of {what}: a list as [...], an array, a column or a table "
            "of pandas, and no sparse matrix"
        ) from error


def is_row(value: Any, width: int) -> bool:
    if isinstance(value, np.ndarray):
        return value.shape == (width,)
    return isinstance(value, list | tuple) and len(value) == width


def alone(row: Any) -> Any:
    """The value of a row of one; another row as it is."""
    return row[0] if is_row(row, 1) else row


def checked_text(value: Any, place: str) -> str:
    if isinstance(value, str):
        return str(value)  # also a string of NumPy
    if is_missing(value):
        raise InputError(f"{place} is missing ({value!r}); remove this row, or give it a text")
    raise InputError(
        f"{place} is {described(value)}, not a text; give texts only or pairs only, and of a table one column or two"
    )


def described(value: Any) -> str:
    """The type of a value, and its shape if it has one."""
    shape = getattr(value, "shape", None) or ((len(value),) if isinstance(value, list | tuple) else None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if shape else "")
