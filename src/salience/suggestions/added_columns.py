"""The columns that `salience suggest` adds to the rows of a pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from salience.data.values import well_formed
from salience.errors import InputError, listed, quoted
from salience.suggestions.suggesting import Suggestion

if TYPE_CHECKING:
    from pyarrow import DataType


@dataclass(frozen=True)
class Added:
    """The rank of a row, its most probable label and the probability of that, and an empty column for its label.

    Args:
        prefix: begins the names of the first three.
        label: the name of the last one. Where a row has a value of this name, it is kept.
    """

    prefix: str
    label: str

    @property
    def names(self) -> list[str]:
        """The names of the columns, but for that of the label."""
        return [well_formed(self.prefix) + name for name in ("rank", "predicted", "probability")]

    def check_free(self, names: Iterable[str], source: str) -> None:
        """Checks that no column would be overwritten.

        Args:
            names: the columns of the pool.
            source: the name of the pool, for the message.

        Raises:
            InputError: one of `names`, or the column of the label, is the name of an added column.
        """
        taken = {*names, self.label}
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

        kinds = [pyarrow.int64(), pyarrow.string(), pyarrow.float64()]
        named = dict(zip(self.names, kinds, strict=True))
        return {**types, **named, self.label: types.get(self.label, pyarrow.string())}

    def filled(self, row: Mapping[str, Any], suggestion: Suggestion, rank: int) -> dict[str, Any]:
        """A row with the added values.

        Args:
            row: of the pool.
            suggestion: about its text.
            rank: 1 for the row to label first.
        """
        values = (rank, well_formed(suggestion.label), suggestion.probability)
        return {**row, **dict(zip(self.names, values, strict=True)), self.label: row.get(self.label)}
