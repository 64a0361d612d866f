"""Detecting several labels in one value. Such data are refused; each combination would become a class."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Sequence

from salience.errors import quoted


def holds_several(label: str) -> bool:
    """Whether the label is a list, written as JSON or by Python: '["joy", "fear"]'. "[other]" is an ordinary label."""
    label = label.strip()
    if not (label.startswith(("[", "{")) and label.endswith(("]", "}"))):
        return False
    for parse in (json.loads, ast.literal_eval):
        try:
            return isinstance(parse(label), (list, dict, set))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return False


def joined_labels(labels: Sequence[str]) -> str | None:
    """The problem, as a part of a sentence, if most rows join several labels by | or ; or a comma; otherwise None.

    A separator alone is no proof: "Paris, France" and "Sport;Football" are one label each. But there, later parts
    never come first, while labels in a list (joy|fear, fear|anger, anger) are found at every position.
    """
    counts = Counter(labels)
    for separator in "|;,":
        joined = [label for label in counts if separator in label]
        if 2 * sum(counts[label] for label in joined) <= len(labels):
            continue
        parts = [[part.strip() for part in label.split(separator)] for label in counts]
        first = {each[0] for each in parts}
        later = {part for each in parts for part in each[1:]}
        if len(first | later) > 2 and 2 * len(first & later) > len(later):
            example = max(joined, key=lambda label: counts[label])
            return f"most rows have several labels, joined by {quoted(separator)}, such as {quoted(example)}"
    return None
