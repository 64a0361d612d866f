"""What `salience predict` adds to the rows: the names, the values, and the types of a table's columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

from salience.data.reading import column_names, column_types
from salience.data.values import well_formed
from salience.errors import InputError, listed, quoted

if TYPE_CHECKING:
    from pyarrow import DataType


@dataclass(frozen=True)
class Added:
    """What is added to a row: in tables a column for every label, in JSON one object for all of them."""

    labels: list[str]
    prefix: str
    as_columns: bool

    @classmethod
    def of(cls, labels: Iterable[str], prefix: str, as_columns: bool) -> Added:
        labels = [well_formed(str(label)) for label in labels]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise InputError(
                f"two labels of the model are named {quoted(twice[0])}: rename one of them in its config.json"
            )
        return cls(labels, prefix, as_columns)

    @cached_property
    def names(self) -> list[str]:
        each = [f"probability_{label}" for label in self.labels] if self.as_columns else ["probabilities"]
        return [self.prefix + name for name in ("predicted", "probability", *each)]

    def named(self, answer: list[float] | None) -> dict[str, Any]:
        """The values by their names.

        Args:
            answer: a probability for every label; None for a row without a text.
        """
        known = answer is not None and all(map(isfinite, answer))
        best = max(range(len(answer)), key=answer.__getitem__) if known else None
        each = answer if known else [None] * len(self.labels)
        first = [self.labels[best], answer[best]] if known else [None, None]
        if not self.as_columns:
            each = [None if answer is None else dict(zip(self.labels, each, strict=True))]
        return dict(zip(self.names, [*first, *each], strict=True))

    def check_free(self, names: Iterable[str], source: str) -> None:
        """Raises an `InputError` if a name of the data is one that is added: its values would be lost."""
        names = set(names)
        if clash := [name for name in self.names if name in names]:
            many = len(clash) > 1
            raise InputError(
                f"{source}: the column{'s' if many else ''} {listed(map(quoted, clash))} {'have' if many else 'has'} "
                f"the name of what is added to the rows; rename {'them' if many else 'it'}, or put something before "
                "the names that are added, for example --prefix model_"
            )


def written_columns(data: str, encoding: str, added: Added) -> dict[str, DataType] | None:
    """The columns of a table that is written, with their types; None for JSON, where every row has its own.

    Raises:
        InputError: a column of the data has the name of one that is added.
    """
    import pyarrow

    if not added.as_columns:
        added.check_free(column_names(data, encoding), data)
        return None
    types = column_types(data, encoding)
    added.check_free(types, data)
    predicted, *numbers = added.names
    return types | {predicted: pyarrow.string()} | dict.fromkeys(numbers, pyarrow.float64())
