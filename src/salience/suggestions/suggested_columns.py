"""The columns that `salience suggest` adds to the rows of a pool."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from salience.data.multilabel import Label
from salience.data.values import well_formed
from salience.errors import InputError, listed, quoted
from salience.suggestions.suggesting import Suggestion

if TYPE_CHECKING:
    from pyarrow import DataType


@dataclass(frozen=True)
class SuggestedColumns:
    """The rank of a row, its most probable label and the probability of that, and an empty column for its label.

    Where a text can have several labels, there is a list of those that are predicted, in a table as JSON, and no
    probability.

    Args:
        prefix: begins the names of all but the columns for a person.
        labels: the names of these: one, or those of the labels, of 0 and 1. Where a row has a value of such a name, it
            is kept.
        several: whether a text can have several labels.
        as_columns: whether the rows are those of a table, and not objects.
    """

    prefix: str
    labels: tuple[str, ...]
    several: bool = False
    as_columns: bool = True

    @property
    def names(self) -> list[str]:
        """The names of the columns, but for those for a person."""
        own = ("rank", "predicted") if self.several else ("rank", "predicted", "probability")
        return [well_formed(self.prefix) + name for name in own]

    def check_free(self, names: Iterable[str], source: str) -> None:
        """Checks that no column would be overwritten.

        Args:
            names: the columns of the pool.
            source: the name of the pool, for the message.

        Raises:
            InputError: one of `names`, or a column for a person, is the name of an added column.
        """
        taken = {*names, *self.labels}
        if clash := [name for name in self.names if name in taken]:
            raise InputError(
                f"{source}: {listed(map(quoted, clash))} would be the name of two columns; put something before the "
                "names that are added, for example --prefix model_"
            )

    def typed(self, types: Mapping[str, DataType]) -> dict[str, DataType]:
        """The names and types of all columns of a table, in their order.

        Args:
            types: those of the pool.
        """
        import pyarrow

        kinds = [pyarrow.int64(), pyarrow.string(), pyarrow.float64()][: len(self.names)]
        named = dict(zip(self.names, kinds, strict=True))
        return {**types, **named, **{label: types.get(label, pyarrow.string()) for label in self.labels}}

    def filled(self, row: Mapping[str, Any], suggestion: Suggestion, rank: int) -> dict[str, Any]:
        """A row with the added values.

        Args:
            row: of the pool.
            suggestion: about its text.
            rank: 1 for the row to label first.
        """
        values = (rank, self.written(suggestion.label), suggestion.probability)[: len(self.names)]
        own = dict(zip(self.names, values, strict=True))
        return {**row, **own, **{label: row.get(label) for label in self.labels}}

    def written(self, label: Label) -> str | list[str]:
        """What is predicted, as it is written."""
        if isinstance(label, str):
            return well_formed(label)
        found = [well_formed(each) for each in label]
        return json.dumps(found, ensure_ascii=False) if self.as_columns else found
