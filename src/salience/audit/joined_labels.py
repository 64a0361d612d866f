"""Several labels of a row as its file writes them: as a list, as a list in a text, or divided by a separator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from salience.audit.records import Delimited
from salience.data.values import label_of

# From the new labels of a row and the text of its old ones to the text of the new ones.
Rewritten = Callable[[tuple[str, ...], str], str]


@dataclass(frozen=True)
class Joined:
    """Writes labels.

    Args:
        separator: what divides labels in a text; None writes a list in JSON.
        codec: in which the file is written. Where it does not have all characters, JSON writes others by their number.
    """

    separator: str | None
    codec: str

    def text(self, labels: tuple[str, ...]) -> str:
        """Labels as one text: "joy|fear", or a list in JSON; "[]" for none."""
        return self.json(list(labels)) if self.separator is None or not labels else self.separator.join(labels)

    def json(self, value: list[Any] | str) -> str:
        """A value in JSON."""
        return json.dumps(value, ensure_ascii=not self.codec.startswith("utf"))

    def in_fields(self, delimited: Delimited) -> Rewritten:
        """How labels are written in the fields of a csv or tsv file."""
        return lambda labels, old: delimited.field(self.text(labels))

    def in_json(self, written: Iterable[str]) -> Rewritten:
        """How labels are written in a JSON file.

        Args:
            written: the labels of all rows, as they are written; empty for a row without labels.
        """
        rewritten = self.in_values([json.loads(text) if text else None for text in written])
        return lambda labels, old: self.json(rewritten(labels, json.loads(old)))

    def in_values(
        self, values: Iterable[Any], numbers: Mapping[str, int] | None = None
    ) -> Callable[[tuple[str, ...], Any], Any]:
        """How labels are written as values: a list where the old ones are a list, else a text.

        In a list a label is what the first row that has it has there, such as a number.

        Args:
            values: the labels of all rows.
            numbers: of the labels, by name, where the lists have them in place of the names.
        """
        first: dict[str | None, Any] = {}
        first.update(numbers or {})
        for value in values:
            for each in value if isinstance(value, list) else []:
                first.setdefault(label_of(each), each)
        return lambda labels, old: (
            [first.get(label, label) for label in labels] if isinstance(old, list) else self.text(labels)
        )
