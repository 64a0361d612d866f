"""Where the words of a text stand."""

from __future__ import annotations

import re

Span = tuple[int, int]  # from character, to character


def word_spans(text: str) -> list[Span]:
    """Where the words of a text stand: what white space parts."""
    return [match.span() for match in re.finditer(r"\S+", text)]
