"""What changes in each column of a corrected copy: in that of the labels, or in the columns of 0 and 1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from salience.data.values import Label


class Edit(NamedTuple):
    """What changes in one column.

    Attributes:
        column: its name.
        changes: the number of a row to its new label, or to None if it is deleted. In a column of 0 and 1, each row
            that has new labels gets the other value.
        indicator: whether it is a column of 0 and 1.
    """

    column: str
    changes: Mapping[int, Label | None]
    indicator: bool


def edits_of(
    label: str | tuple[str, ...], labels: Mapping[int, Label], changes: Mapping[int, Label | None]
) -> list[Edit]:
    """The edits that make the changes, one after the other; rows are deleted by the last one.

    Args:
        label, labels, changes: as of `salience.audit.corrected.write_corrected`.
    """
    if isinstance(label, str):
        return [Edit(label, changes, indicator=False)]
    new = {row: change for row, change in changes.items() if change is not None}
    of_columns = {
        name: {row: change for row, change in new.items() if (name in change) != (name in labels[row])}
        for name in label
    }
    deleted = {row: change for row, change in changes.items() if change is None}
    edits = [Edit(name, changed, indicator=True) for name, changed in of_columns.items() if changed]
    return [*edits, Edit(label[0], deleted, indicator=True)]


def opposite(labels: tuple[str, ...], old: Any) -> Any:
    """The other value of a column of 0 and 1, written as the old one: 1.0 for 0.0, false for true.

    Args:
        labels: the new labels of the row.
        old: the value, or the text in which a file has it.
    """
    if not isinstance(old, str):
        return type(old)(1 - old)  # of a bool, too
    for yes, no in (("1", "0"), ("true", "false"), ("True", "False"), ("TRUE", "FALSE")):
        for this, other in ((yes, no), (no, yes)):
            if this in old:
                return old.replace(this, other, 1)
    return "0" if "true" in old.lower() else "1"


def opposite_in_json(labels: tuple[str, ...], old: str) -> str:
    """As `opposite`, of a value that is written in JSON."""
    return json.dumps(opposite(labels, json.loads(old)))
