"""Rows of typed tables: what parquet files and data sets of the Hugging Face hub have in common, and the latter."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from salience.data.arrow_values import python_values
from salience.errors import InputError, listed, quoted

if TYPE_CHECKING:
    import pyarrow

BATCH = 1000  # rows that are in memory at a time


@dataclass(frozen=True)
class Table:
    """A typed table that is read in batches."""

    schema: pyarrow.Schema | None  # None where only the rows tell it
    classes: dict[str, list[str]]  # the names of the classes, by column that has their numbers
    batches: Callable[[Collection[str] | None], Iterable[pyarrow.RecordBatch | pyarrow.Table]]  # of these columns

    def types(self) -> dict[str, pyarrow.DataType] | None:
        """The type of each column as `rows` gives it."""
        import pyarrow

        if self.schema is None:
            return None
        fields = zip(self.schema.names, self.schema.types, strict=True)
        return {name: pyarrow.string() if name in self.classes else kind for name, kind in fields}

    def rows(self, source: str, columns: Collection[str] | None) -> Iterator[dict]:
        """The rows, as far as they are in `columns`: values of other columns are not looked at."""
        first = 1
        for batch in self.batches(columns):
            names = [name for name in batch.schema.names if columns is None or name in columns]
            values = [python_values(batch.column(name)) for name in names]
            for place, name in enumerate(names):
                if name in self.classes:
                    values[place] = class_names(values[place], self.classes[name], source, name, first)
            yield from (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
            first += batch.num_rows


def hub_rows(name: str, split: str | None, columns: Collection[str] | None = None) -> Iterator[dict]:
    """The rows of a hub data set, streamed; its name is `owner/name`, `…:split` or `…:config:split`."""
    with hub_table(name, split) as table:
        yield from table.rows(name, columns)


def hub_types(name: str, split: str | None) -> dict[str, pyarrow.DataType] | None:
    """The columns of a hub data set and their types; None where the data set does not tell them."""
    with hub_table(name, split) as table:
        return table.types()


@contextmanager
def hub_table(name: str, split: str | None) -> Iterator[Table]:
    import datasets

    name, *parts = name.split(":")
    split = split or (parts[-1] if parts else "train")
    config = parts[0] if len(parts) > 1 else None
    with of_the_hub(f"no file {quoted(name)} is here, and it cannot be read as a hub data set, split {quoted(split)}"):
        data = datasets.load_dataset(name, config, split=split, streaming=True)
        features = data.features or {}
        classes = {column: feature.names for column, feature in features.items() if hasattr(feature, "int2str")}

        def batches(columns: Collection[str] | None) -> Iterable[pyarrow.Table]:
            chosen = (
                data.select_columns([name for name in features if name in columns]) if features and columns else data
            )
            return chosen.with_format("arrow").iter(BATCH)

        yield Table(features.arrow_schema if features else None, classes, batches)


def hub_splits(name: str) -> list[str]:
    """The names of the parts of a hub data set."""
    import datasets

    with of_the_hub(f"the parts of the hub data set {quoted(name)} cannot be read"):
        return datasets.get_dataset_split_names(name)


@contextmanager
def of_the_hub(told: str) -> Iterator[None]:
    """Inside the `with`, whatever goes wrong with the hub becomes one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of many libraries: the network, the hub, the file formats
        raise InputError(f"{told}: {brief(error)}") from error


def class_names(numbers: list, classes: list[str], source: str, column: str, first: int) -> list[str | None]:
    """The names of classes in place of their numbers; a row without a class (-1, or missing) has None.

    Args:
        first: the number of the first row.

    Raises:
        InputError: there is no class of that number.
    """
    for row, number in enumerate(numbers, first):
        if number is not None and number >= len(classes):
            raise InputError(
                f"{source}: row {row}, column {quoted(column)}: there is no class {number}; the file names "
                f"{len(classes)}, counted from 0: {listed(map(quoted, classes))}. Mend the number, or write the file "
                "again without the names"
            )
    return [None if number is None or number < 0 else classes[number] for number in numbers]


def brief(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 200, placeholder=" ...")
