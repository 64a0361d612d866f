"""The texts that already have a label: those on which a run was trained, chosen or tested."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salience.data.splitting import stripped
from salience.data.values import Label, well_formed
from salience.errors import InputError, listed, quoted
from salience.runs.folder import RECIPE, read_recipe
from salience.settings import settings_of
from salience.suggestions.suggesting import Suggestion
from salience.training.prepare import silent
from salience.training.recipe import DataSettings, Recipe
from salience.training.task import task_of

if TYPE_CHECKING:
    from pyarrow import DataType


def texts_of_run(model: str | Path) -> tuple[set[tuple[str, ...]], str | None]:
    """The labelled texts of a run, read again from the files that its recipe names.

    Test and validation rows are among them: who trains on them has no test any more. Of a run on a part of a file
    (`--size`), the other rows of the file are not.

    Args:
        model: a run folder, or any other classifier.

    Returns:
        The texts, or pairs of texts, without the space around them; and a note of one line if they are not known.
    """
    try:
        recipe = read_recipe(Path(model).expanduser() / RECIPE)
        names = {*settings_of(DataSettings), "seed"} - {"label_descriptions"}
        rows = Recipe.from_mapping({name: value for name, value in recipe.items() if name in names})
    except (OSError, InputError, TypeError):
        return set(), f"{model} does not say which texts it was trained on, so they may be among the suggestions"
    try:
        task = task_of(rows, silent)
    except (OSError, InputError) as error:
        return set(), (
            f"the texts that {model} was trained on cannot be read, so they may be among the suggestions ({error})"
        )
    return {row for part in (task.training, task.validation, task.test) for row in stripped(part)}, None


# The columns that `salience suggest` adds to the rows of a pool.


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
