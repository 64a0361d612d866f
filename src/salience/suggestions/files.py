"""What `salience suggest` reads and writes: the texts of a run, those of a pool, and the columns that a pool gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from salience.classify.parts import Windows
from salience.classify.predictor import texts_in
from salience.data.columns import Columns
from salience.data.reading import stream
from salience.data.splitting import stripped
from salience.data.task import read_part
from salience.data.texts import Texts
from salience.data.values import joined, value_at, well_formed
from salience.errors import InputError, listed, quoted
from salience.runs.folder import RECIPE, read_recipe
from salience.settings import settings_of
from salience.suggestions.suggesting import FreshTexts, Suggestion, digest_of_text
from salience.training.prepare import silent
from salience.training.recipe import DataSettings, Recipe
from salience.training.task import task_of
from salience.work import tracked

if TYPE_CHECKING:
    from pyarrow import DataType


def texts_of_run(model: str | Path) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]], str | None]:
    """The labelled texts of a run, read again from the files that its recipe names.

    Returns:
        The texts that it was trained on; those of its test and validation rows, which are worth no label either: who
        trains on them has no test any more; and a note if they are not known. Of a run on a part of a file (`size`),
        the other rows of the file are not among them. Of a run with a teacher, they are those of the teacher too.
    """
    among = "so they may be among the suggestions"
    try:
        recipe = read_recipe(Path(model).expanduser() / RECIPE)
        names = {*settings_of(DataSettings), "seed"} - {"label_descriptions", "marks", "ignore", "ignore_words"}
        rows = Recipe.from_mapping({name: value for name, value in recipe.items() if name in names})
    except (OSError, InputError, TypeError):
        return set(), set(), f"{model} does not say which texts it was trained on, {among}"
    trained, measured, note = (set(), set(), None) if rows.teacher is None else texts_of_run(rows.teacher)
    try:
        training, *others = labelled_parts(rows)
    except (OSError, InputError) as error:
        return trained, measured, f"the texts that {model} was trained on cannot be read, {among} ({error})"
    own = {row for part in others for row in stripped(part)}
    return trained | set(stripped(training)), measured | own, note


def labelled_parts(rows: Recipe) -> list[Texts]:
    """The training texts of a run, but not those by which a teacher has taught it, and its other labelled texts."""
    if rows.teacher is None:
        task = task_of(rows, silent)
        return [task.training, task.validation, task.test]
    assert rows.text is not None  # a run keeps the columns that it has read
    columns = Columns(
        rows.text, rows.text_pair, rows.label, separator=rows.label_separator, empty_label=rows.empty_label
    )
    measured = filter(None, (rows.validation, rows.test))
    return [Texts([]), *(read_part(source, columns, rows.encoding, rows.bad_rows)[0] for source in measured)]


# Texts -> their probabilities (N, C) and vectors (N, D), as of `view_of`; of an encoder C is 0.
View = Callable[[list], tuple[np.ndarray, np.ndarray | None]]


def read_pool(
    windows: Windows, view: View, classes: int, fresh: FreshTexts
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The fresh texts of a pool: the numbers of their rows (N,), from 1, and the view of them."""
    numbers: list[int] = []
    probabilities, vectors = [np.zeros((0, classes), np.float32)], []
    first = 1
    for texts in tracked(windows.texts(), len(windows.rows), "reading", "rows", len):
        kept = [place for place, row in enumerate(texts) if fresh.is_fresh(row)]
        if kept:
            own: list[Any] = [texts[place] if len(texts[place]) > 1 else texts[place][0] for place in kept]
            of_window, read = view(own)
            probabilities.append(of_window)
            vectors += [] if read is None else [read]
        numbers += [first + place for place in kept]
        first += len(texts)
    return np.array(numbers, np.int64), np.concatenate(probabilities), np.concatenate(vectors) if vectors else None


def chosen_rows(windows: Windows, numbers: Sequence[int], fresh: FreshTexts) -> list[dict]:
    """The rows of these numbers, with all columns, in the order of the numbers. The file is read once more."""
    found: dict[int, dict] = {number: {} for number in numbers}
    for number, row in enumerate(stream(windows.source, windows.encoding), 1):
        if number in found:
            (text,) = texts_in([row], windows.columns, windows.source, number)
            if digest_of_text(text) in fresh.met:
                found[number] = row
    if not all(found.values()):
        raise InputError(f"{windows.source} has changed while it was read: run again")
    return list(found.values())


@dataclass(frozen=True)
class SuggestedColumns:
    """What a row gets: its rank, its most probable label and the probability of that, and empty columns for labels.

    Where texts are multi-label, there is a list of those that are predicted, in a table as JSON, and no
    probability. An encoder gives the rank alone.

    Args:
        prefix: begins the names of all but the columns for a person.
        labels: the names of these. Where a row has a value of such a name, it is kept.
        several: whether a text can have several labels.
        as_columns: whether the rows are those of a table, and not objects.
        trained: the columns of the training rows, which say how several labels are written; None: as JSON.
        predicted: whether a classifier predicts, and not an encoder.
    """

    prefix: str
    labels: tuple[str, ...]
    several: bool
    as_columns: bool
    trained: Columns | None = None
    predicted: bool = True

    @property
    def names(self) -> list[str]:
        """The names of the columns, but for those for a person."""
        own = ["rank", "predicted", "probability"][: (2 if self.several else 3) if self.predicted else 1]
        return [well_formed(self.prefix) + name for name in own]

    def check_free(self, names: Iterable[str], source: str) -> None:
        """Raises an `InputError` if a column that is added would overwrite one of these of the pool `source`."""
        taken = {*names, *self.labels}
        if clash := [name for name in self.names if name in taken]:
            raise InputError(
                f"{source}: {listed(map(quoted, clash))} would be the name of two columns; put something before the "
                "names that are added, for example --prefix model_"
            )

    def typed(self, types: Mapping[str, DataType | str]) -> dict[str, DataType | str]:
        """The names and types of all columns of a table, in their order, from those of the pool."""
        own = dict(zip(self.names, ("int64", "string", "double"), strict=False))  # of several labels, no probability
        return {**types, **own, **{label: types.get(label, "string") for label in self.labels}}

    def filled(self, row: Mapping[str, Any], suggestion: Suggestion, rank: int) -> dict[str, Any]:
        """A row of the pool with the added values; the rank is 1 for the row to label first."""
        labels = [well_formed(label) for label in suggestion.labels]
        predicted: str | list[str] = labels if self.several else "".join(labels)
        if self.several and self.as_columns:
            predicted = joined(labels, None if self.trained is None else self.trained.separator)
        own = dict(zip(self.names, (rank, predicted, suggestion.probability), strict=False))
        return {**row, **own, **{label: value_at(row, label) for label in self.labels}}
