"""Rows of typed tables, as parquet files and data sets of the Hugging Face hub are; and the latter."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from salience.data.arrow_values import python_values
from salience.errors import InputError, listed, quoted

if TYPE_CHECKING:
    import pyarrow

BATCH = 1000  # rows that are in memory at a time


@dataclass(frozen=True)
class Table:
    """A typed table that is read in batches.

    Args:
        schema: the columns and their types; None if only the rows tell them.
        classes: the names of the classes, by column of class numbers, or of lists of them.
        batches: a function that yields the rows of some columns, or of all for None.
    """

    schema: pyarrow.Schema | None
    classes: dict[str, list[str]]
    batches: Callable[[Collection[str] | None], Iterable[pyarrow.RecordBatch | pyarrow.Table]]

    def types(self) -> dict[str, pyarrow.DataType] | None:
        """The type of each column, as `rows` yields its values; None without a schema."""
        if self.schema is None:
            return None
        fields = zip(self.schema.names, self.schema.types, strict=True)
        return {name: named_type(kind) if name in self.classes else kind for name, kind in fields}

    def rows(self, source: str, columns: Collection[str] | None) -> Iterator[dict]:
        """Yields the rows with the values of `columns` (None: of all); other columns are not read.

        Args:
            source: the name of the table, for error messages.

        Raises:
            InputError: a class number without a name.
        """
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
    """Yields the rows of a hub data set. Its name is `owner/name`, `…:split` or `…:config:split`.

    Raises:
        InputError: it cannot be read.
    """
    with hub_table(name, split) as table:
        yield from table.rows(name, columns)


def hub_types(name: str, split: str | None) -> dict[str, pyarrow.DataType] | None:
    """The columns of a hub data set and their types; None if it does not state them. Raises as `hub_rows`."""
    with hub_table(name, split) as table:
        return table.types()


@contextmanager
def hub_table(name: str, split: str | None) -> Iterator[Table]:
    """Opens a hub data set as a table. Errors inside the `with` become an `InputError`."""
    import datasets

    name, *parts = name.split(":")
    split = split or (parts[-1] if parts else "train")
    config = parts[0] if len(parts) > 1 else None
    with of_the_hub(f"no file {quoted(name)} is here, and it cannot be read as a hub data set, split {quoted(split)}"):
        data = datasets.load_dataset(name, config, split=split, streaming=True)
        features: Any = data.features or {}  # a `datasets.Features`, which knows its arrow schema, if not empty
        labels = {column: item_of(feature) for column, feature in features.items()}
        classes = {column: label.names for column, label in labels.items() if hasattr(label, "int2str")}

        def batches(columns: Collection[str] | None) -> Iterable[pyarrow.Table]:
            chosen = (
                data.select_columns([name for name in features if name in columns]) if features and columns else data
            )
            return chosen.with_format("arrow").iter(BATCH)

        yield Table(features.arrow_schema if features else None, classes, batches)


def hub_splits(name: str) -> list[str]:
    """The names of the splits of a hub data set. Raises as `hub_rows`."""
    import datasets

    with of_the_hub(f"the parts of the hub data set {quoted(name)} cannot be read"):
        return datasets.get_dataset_split_names(name)


@contextmanager
def of_the_hub(problem: str) -> Iterator[None]:
    """A context in which any error becomes an `InputError` of one line, which begins with `problem`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of many libraries: the network, the hub, the file formats
        raise InputError(f"{problem}: {brief(error)}") from error


def item_of(feature: Any) -> Any:
    """What a feature of `datasets` is a list of, or the feature itself if it is no list."""
    if isinstance(feature, list) and len(feature) == 1:
        return feature[0]
    return getattr(feature, "feature", feature)


def inner_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type of the values in lists of this type, or the type itself if it is none of lists."""
    import pyarrow

    of_lists = (pyarrow.types.is_list, pyarrow.types.is_large_list, pyarrow.types.is_fixed_size_list)
    return kind.value_type if any(each(kind) for each in of_lists) else kind


def named_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type of the names of classes, for a column of their numbers, or of lists of these."""
    import pyarrow

    return pyarrow.string() if inner_type(kind) is kind else pyarrow.list_(pyarrow.string())


def class_names(numbers: list, classes: list[str], source: str, column: str, first: int) -> list:
    """The names of classes by their numbers; None for a row without a class (-1, or missing).

    Args:
        numbers: of each row, one number, or a list of them, of which the names are a list too.
        source, column: for error messages.
        first: the row of the first number, for error messages.

    Raises:
        InputError: there is no class of a number.
    """

    def name_of(number: int | None, row: int) -> str | None:
        if number is not None and number >= len(classes):
            raise InputError(
                f"{source}: row {row}, column {quoted(column)}: there is no class {number}; the file names "
                f"{len(classes)}, counted from 0: {listed(map(quoted, classes))}. Mend the number, or write the file "
                "again without the names"
            )
        return None if number is None or number < 0 else classes[number]

    return [
        [name_of(number, row) for number in value] if isinstance(value, list) else name_of(value, row)
        for row, value in enumerate(numbers, first)
    ]


def brief(error: Exception) -> str:
    """The message of an error in at most 200 characters."""
    return textwrap.shorten(str(error) or type(error).__name__, 200, placeholder=" ...")
