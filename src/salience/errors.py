"""What a user can mend: one clear line, no traceback."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from unicodedata import category

JOINERS = "\u200c\u200d"  # parts of emoji and of words in Persian, Hindi and others
UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, half characters, line and paragraph separators


class InputError(ValueError):
    """The user's input is at fault; the message is one clear line naming file, row, column and the mend."""

    def __init__(self, message: str):
        super().__init__(" ".join(message.splitlines()))


def unknown(kind: str, word: object, words: Iterable[str]) -> InputError:
    """The error for a word that is not among the known ones, which it lists: kind is "method", "model", ..."""
    words = list(words)
    return InputError(f"unknown {kind} {quoted(word)}; known: {listed(sorted(words), 30)}.{nearest(str(word), words)}")


def nearest(word: str, words: Iterable[str]) -> str:
    """' Did you mean "label"?', to be appended to a message; nothing if no word comes near."""
    by_lower_case = {known.lower(): known for known in words}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return f" Did you mean {quoted(by_lower_case[near[0]])}?" if near else ""


def quoted(value: object, longest: int = 60) -> str:
    """A value as a message shows it: in double quotes, on one line, cut where it is long, without raw controls."""
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 3] + "..."
    return json_printable(json.dumps(text, ensure_ascii=False))


def is_unprintable(letter: str) -> bool:
    """Whether a character steers a terminal, turns the direction of the text around it, or cannot be seen."""
    return not letter.isprintable() and category(letter) in UNPRINTABLE and letter not in JOINERS


def printable(text: str) -> str:
    """A text for a terminal: every unprintable character is replaced by U+FFFD."""
    return "".join("\N{REPLACEMENT CHARACTER}" if is_unprintable(letter) else letter for letter in text)


def json_printable(text: str) -> str:
    """JSON for a terminal: the same values, with every unprintable character of its strings as an escape.

    Args:
        text: JSON on one line, as `json.dumps` writes it without `indent`.
    """
    return "".join(json.dumps(letter)[1:-1] if is_unprintable(letter) else letter for letter in text)


def listed(items: Iterable[str], most: int = 10) -> str:
    """The first of many items: 'a, b and 5 more'."""
    items = list(items)
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")


def rows_listed(rows: Iterable[int], most: int = 5) -> str:
    """'row 7', or 'rows 4, 9 and 12 more'."""
    rows = list(rows)
    return ("row " if len(rows) == 1 else "rows ") + listed(map(str, rows), most)


def counted(number: int, noun: str) -> str:
    """'1 row', '1,204 rows'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
