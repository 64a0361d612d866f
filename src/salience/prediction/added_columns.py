"""The columns that `salience predict` adds to a file: their names, values and types."""

from __future__ import annotations

import json
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

MOST_PROBABLE, LABEL_SET = "most_probable", "label_set"
TEXTS = ("predicted", MOST_PROBABLE, LABEL_SET)


@dataclass(frozen=True)
class AddedColumns:
    """What is added to a row: the predicted label, its probability, and the probabilities of all labels.

    In a table these are one column for each label, in JSON lines one object. With thresholds, the predicted label is
    missing where its probability is not above its threshold, and the most probable label is added to every row. With
    sets, a list of labels is added, in a table as JSON.
    """

    labels: list[str]
    prefix: str  # begins every name
    as_columns: bool  # a table, not JSON lines
    thresholds: list[float] | None = None  # of the labels
    lowest: float | None = None  # probability of a label in a set

    @classmethod
    def of(
        cls, labels: Iterable[str], prefix: str, as_columns: bool, thresholds: list[float] | None = None,
        lowest: float | None = None,
    ) -> AddedColumns:  # fmt: skip
        """For the labels of a model.

        Args:
            thresholds: one for each label, see `salience.inference.abstaining`; None if every text is decided.
            lowest: the lowest probability of a label in a set, see `salience.prediction.label_sets`; None adds none.

        Raises:
            InputError: two labels have the same name.
        """
        labels = [well_formed(str(label)) for label in labels]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise InputError(
                f"two labels of the model are named {quoted(twice[0])}: rename one of them in its config.json"
            )
        return cls(labels, prefix, as_columns, thresholds, lowest)

    @cached_property
    def names(self) -> list[str]:
        """The names of the added columns, or keys."""
        each = [f"probability_{label}" for label in self.labels] if self.as_columns else ["probabilities"]
        guess = [MOST_PROBABLE] * (self.thresholds is not None)
        names = ["predicted", *guess, "probability", *[LABEL_SET] * (self.lowest is not None), *each]
        return [self.prefix + name for name in names]

    @property
    def limits(self) -> list[float] | None:
        """The probabilities that those of undecided texts are not above; None if every text is decided."""
        return self.thresholds

    @property
    def texts(self) -> list[str]:
        """The names of the added columns that hold texts; the others hold numbers."""
        return [name for name in self.names if name in {self.prefix + each for each in TEXTS}]

    def named(self, probabilities: list[float] | None) -> dict[str, Any]:
        """The added values of one row by name.

        Args:
            probabilities: one for each label; None for a row without a text. NaN becomes None.
        """
        predicted = label = highest = found = None
        each: list[Any] = [None] * len(self.labels)
        if probabilities is not None and all(map(isfinite, probabilities)):
            best = max(range(len(probabilities)), key=probabilities.__getitem__)
            label, highest, each = self.labels[best], probabilities[best], list(probabilities)
            predicted = label if self.thresholds is None or highest > self.thresholds[best] else None
            found = self.set_of(probabilities, best)
        guess, sets = [label] * (self.thresholds is not None), [found] * (self.lowest is not None)
        if not self.as_columns:
            each = [None if probabilities is None else dict(zip(self.labels, each, strict=True))]
        return dict(zip(self.names, [predicted, *guess, highest, *sets, *each], strict=True))

    def set_of(self, probabilities: list[float], best: int) -> list[str] | str | None:
        """The labels of a set, the most probable first; it always holds that one."""
        if self.lowest is None:
            return None
        order = sorted(range(len(probabilities)), key=lambda place: -probabilities[place])
        found = [self.labels[place] for place in order if place == best or probabilities[place] >= self.lowest]
        return json.dumps(found, ensure_ascii=False) if self.as_columns else found

    def check_free(self, names: Iterable[str], source: str) -> None:
        """Checks that no column would be overwritten.

        Raises:
            InputError: one of `names` is the name of an added column.
        """
        names = set(names)
        if clash := [name for name in self.names if name in names]:
            many = len(clash) > 1
            raise InputError(
                f"{source}: the column{'s' if many else ''} {listed(map(quoted, clash))} {'have' if many else 'has'} "
                f"the name of what is added to the rows; rename {'them' if many else 'it'}, or put something before "
                "the names that are added, for example --prefix model_"
            )


def written_columns(data: str, encoding: str, added: AddedColumns) -> dict[str, DataType] | None:
    """The names and types of all columns of the file to write; None for JSON lines, where each row has its own names.

    Raises:
        InputError: a column of the data has the name of one that is added.
    """
    import pyarrow

    if not added.as_columns:
        added.check_free(column_names(data, encoding), data)
        return None
    types = column_types(data, encoding)
    added.check_free(types, data)
    texts = set(added.texts)
    return types | {name: pyarrow.string() if name in texts else pyarrow.float64() for name in added.names}
