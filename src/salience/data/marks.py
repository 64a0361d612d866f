"""Words that a person has marked in a text, in the forms that tools write.

A value marks words of a text by

- one mark for each word, in a list or between white space: the name of the text's label, or 1; others say nothing;
- spans of characters, the last of which is not marked: `[[0, 4]]`, with a name `[[0, 4, "joy"]]` as in doccano, and
  objects with `start`, `end`, and perhaps `label` or `labels`, as in Prodigy and Label Studio. A name says nothing
  more, unless it is that of another label: then the span does not count.

In a pair, marks of words are of both texts, one after the other, and spans are in an object by the names of the
columns: `{"premise": [[0, 4]], "hypothesis": []}`. An empty value marks nothing. `Mark`s stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

from salience.data.values import is_missing, listed_values, parsed_value
from salience.data.words import UNSPACED, Spans, spaced_spans, word_spans
from salience.errors import counted, quoted

MARKED = "1"
Named = tuple[int, int, str]  # a span of characters, and the name of its mark; "" if it has none


class Mark(NamedTuple):
    """The characters from `start` to before `end` of a text; `second` says that it is the second one of a pair.

    The `name` is that of a label, where the mark speaks for one of several, or `MARKED`.
    """

    start: int
    end: int
    name: str = MARKED
    second: bool = False


def marks_in(
    value: Any, texts: Mapping[str, str], own: Collection[str], labels: Collection[str], spans: Spans = word_spans
) -> list[Mark]:
    """The marks that count of a text, or of both texts of a pair, in their order.

    Args:
        value: in any of the forms above.
        texts: the text, or both, by the names of their columns.
        own, labels: the names of the row's labels, and of all.
        spans: gives the words of a text.

    Raises:
        TypeError: the value has another form, another number of marks than words, or a span that is not in the text.
    """
    found, columns = values_in(value), list(texts.values())
    if all(isinstance(each, Mark) for each in found):
        return list(found)
    if isinstance(found, Mapping):
        parts = [found.get(name) or [] for name in texts] if found.keys() <= texts.keys() else [[found]]
        named = [spans_in(part, text) for part, text in zip(parts, columns, strict=False)]
    elif all(isinstance(each, Mapping | list | tuple) for each in found):
        if len(columns) > 1:
            raise TypeError(f"spans of a pair are an object, such as {{{quoted(next(iter(texts)))}: [[0, 4]]}}")
        named = [spans_in(found, columns[0])]
    else:
        names = [str(each) for each in found]
        unnamed = set(names) <= {"0", MARKED}  # also where labels are called so
        named = [
            [(start, end, "" if unnamed else name) for start, end, name in part
             if name == MARKED or (name in own and not unnamed)]
            for part in named_words(names, columns, spans)
        ]  # fmt: skip
    return [
        Mark(start, end, name if name in own else MARKED, number > 0)
        for number, part in enumerate(named)
        for start, end, name in sorted(part)
        if name in own or name not in labels
    ]


def values_in(value: Any) -> Any:
    """The values of a list, or those of a text between white space; an object as it is."""
    found = parsed_value(value)
    if is_missing(found):
        return []
    if isinstance(found, str | Number):  # of a text of one word, a table can have the number 1
        return str(found).split()
    return listed_values(found) if isinstance(found, list | tuple | set) else found


def overlap(marks: Iterable[Mark], others: Iterable[Mark]) -> Mark | None:
    """The first mark that has a character in common with one of the others."""
    pairs = ((mark, other) for mark in marks for other in others if mark.second == other.second)
    return next((mark for mark, other in pairs if mark.start < other.end and other.start < mark.end), None)


def spans_in(values: Sequence[Any], text: str) -> list[Named]:
    """Spans of a text as tools write them, from whole word to whole word."""
    found = []
    for value in values:
        if isinstance(value, Mapping):
            names = value.get("label", value.get("labels", ""))
            parts = [value.get("start"), value.get("end"), *(names if isinstance(names, list) else [names])]
        else:
            parts = list(value) if isinstance(value, list | tuple) else []
        start, end, name = [*parts, ""][:3] if len(parts) in (2, 3) else (None, None, None)
        if not (type(start) is type(end) is int):
            raise TypeError(f"{quoted(str(value))} is no span of characters, such as [0, 4]")
        if not 0 <= start < end <= len(text):
            raise TypeError(
                f"the span [{start}, {end}] is outside of the text, which has {counted(len(text), 'character')}"
            )
        found.append((*whole_words(start, end, text), str(name)))
    return found


def whole_words(start: int, end: int, text: str) -> tuple[int, int]:
    """A span that begins and ends where words do; in scripts without spaces as it is."""
    if UNSPACED.search(text, start, end):
        return start, end
    while start and re.match(r"\w\w", text[start - 1 : start + 1]):
        start -= 1
    while end < len(text) and re.match(r"\w\w", text[end - 1 : end + 1]):
        end += 1
    return start, end


def named_words(names: Sequence[str], texts: Sequence[str], spans: Spans) -> list[list[Named]]:
    """The words of a text, or of both texts of a pair, each with its name; there must be as many words as names."""
    words = [spans(text) for text in texts]
    if sum(map(len, words)) != len(names):
        words = [spaced_spans(text) for text in texts]
    if (count := sum(map(len, words))) != len(names):
        what = "text has" if len(texts) == 1 else "texts have"
        raise TypeError(f"{counted(len(names), 'mark')}, but the {what} {counted(count, 'word')} between white space")
    left = iter(names)
    return [[(start, end, next(left)) for start, end in of_text] for of_text in words]
