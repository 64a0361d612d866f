"""What an audit finds: its findings and their kinds, and names of rows and labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from salience.data.task import Task
from salience.data.texts import Texts

Named = str | list[str]  # the label of a row; where a text can have several, the list of their names
KINDS = {  # kind: what it is called on the page and in the terminal
    "label": "likely wrong labels",
    "duplicate": "groups of near-duplicates",
    "leak": "test rows with a near-duplicate in the data",
    "test_duplicate": "groups of near-duplicate test rows",
    "outlier": "outliers",
    "classes": "pairs of classes that are hard to tell apart",
    "word": "words that give the label away",
    "deciding_word": "words by which a classifier decides",
}


@dataclass(frozen=True)
class Finding:
    """Something that a person should look at."""

    kind: str  # a key of `KINDS`
    rows: list[int]  # their numbers in the file, 1 for the first row below the header; none if it is about test rows
    suggestion: str  # what to do about it, in a few words
    score: float  # how strong the finding is; its meaning depends on the kind, see docs/guides/audit.md
    details: dict[str, Any] = field(default_factory=dict)  # further values, which JSON can hold

    def as_row(self) -> dict[str, Any]:
        """The finding as a line of audit.jsonl."""
        first = {"kind": self.kind, "rows": self.rows, "suggestion": self.suggestion, "score": round(self.score, 6)}
        return first | self.details


def kinds_of(task: Task, explained: bool) -> list[str]:
    """The kinds of findings that there can be: two need test rows, one a single label a text, one explained rows."""
    possible = {
        "classes": not task.multi_label, "deciding_word": explained,
        "leak": len(task.test) > 0, "test_duplicate": len(task.test) > 0,
    }  # fmt: skip
    return [kind for kind in KINDS if possible.get(kind, True)]


def ignorable(findings: Sequence[Finding]) -> list[str]:
    """The words and phrases that give a label away, each once."""
    return list(dict.fromkeys(each.details["word"] for each in findings if each.kind == "word"))


def rows_of(texts: Texts) -> list[int]:
    """The number of each text's row in its file, from 1 on."""
    return texts.rows or list(range(1, len(texts) + 1))


def named(label: int | np.ndarray, names: Sequence[str]) -> Named:
    """The name of a class number, or the names of the labels of 0 and 1 (C,)."""
    if np.ndim(label) == 0:
        return names[int(label)]
    return [names[number] for number in np.flatnonzero(label).tolist()]


def shown(label: Named) -> str:
    """A label for a reader: "joy", or "joy, fear", or "no label"."""
    return label if isinstance(label, str) else ", ".join(label) or "no label"


def written(label: Named) -> str:
    """A label as files of text have it: "joy"; of several labels a list in JSON."""
    return label if isinstance(label, str) else json.dumps(label, ensure_ascii=False)
