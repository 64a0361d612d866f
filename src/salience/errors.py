"""Errors that users can fix themselves, and how values are shown in messages."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from contextlib import suppress
from unicodedata import category

JOINERS = "\u200c\u200d"  # zero-width characters inside emoji and inside words of Persian, Hindi and others
# Unicode categories: control and format characters, lone surrogates, line and paragraph separators.
UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


class InputError(ValueError):
    """An error in the user's input. The command line shows its message without a traceback and ends with exit code 2.

    The message, on one line, says what is wrong, with file, row and column where there are such, and how to fix it.
    """

    def __init__(self, message: str):
        super().__init__(" ".join(message.splitlines()))


class InputWarning(UserWarning):
    """What is likely wrong in the user's input, in one line; the command line shows it as it is."""


def pip_install(extra: str) -> str:
    """The command that installs the packages of an optional part of salience, however this copy was installed.

    It names the packages, because salience itself is on no package index.
    """
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    needed: list[str] = []
    with suppress(PackageNotFoundError):  # the sources alone, without an installation
        needed = requires("salience") or []
    own = [each for each in map(Requirement, needed) if each.marker and each.marker.evaluate({"extra": extra})]
    if not own:
        return f"pip install '.[{extra}]' in the folder of its pyproject.toml"
    return " ".join(["pip install", *(f"'{each.name}{each.specifier}'" for each in own)])


def unknown(kind: str, word: object, words: Iterable[str]) -> InputError:
    """The error for an unknown name of a kind such as "method": it lists the known names and suggests the nearest."""
    words = list(words)
    return InputError(f"unknown {kind} {quoted(word)}; known: {listed(sorted(words), 30)}.{nearest(str(word), words)}")


def nearest(word: str, words: Iterable[str]) -> str:
    """' Did you mean "label"?', to be appended to a message; an empty string if no known word is similar."""
    by_lower_case = {known.lower(): known for known in words}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return f" Did you mean {quoted(by_lower_case[near[0]])}?" if near else ""


def quoted(value: object, longest: int = 60) -> str:
    """A value for a message: in double quotes, on one line, cut if it is long, unprintable characters escaped."""
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 3] + "..."
    return json_printable(json.dumps(text, ensure_ascii=False))


def one_line(value: object, most: int | None = None) -> str:
    """The text of a value, such as an error, with every run of white space as one space, up to `most` characters."""
    return " ".join(str(value).split())[:most]


def is_unprintable(letter: str) -> bool:
    """Whether a character controls the terminal, changes the direction of the text around it, or is invisible."""
    return not letter.isprintable() and category(letter) in UNPRINTABLE and letter not in JOINERS


def printable(text: str) -> str:
    """A text for a terminal: every unprintable character is replaced by U+FFFD."""
    return "".join("\N{REPLACEMENT CHARACTER}" if is_unprintable(letter) else letter for letter in text)


def json_printable(text: str) -> str:
    """JSON on one line for a terminal: the same values, with unprintable characters escaped."""
    return "".join(json.dumps(letter)[1:-1] if is_unprintable(letter) else letter for letter in text)


def listed(items: Iterable[str], most: int = 10) -> str:
    """A list for a message: 'a, b and 5 more'."""
    items = list(items)
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")


def rows_listed(rows: Iterable[int], most: int = 5) -> str:
    """Row numbers for a message: 'row 7', or 'rows 4, 9 and 12 more'."""
    rows = list(rows)
    return ("row " if len(rows) == 1 else "rows ") + listed(map(str, rows), most)


def duration(seconds: float) -> str:
    """About how long: "40 s", "3 min", "2.5 h"."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(number: int, noun: str) -> str:
    """A number with its noun, for a message: '1 row', '1,204 rows'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
