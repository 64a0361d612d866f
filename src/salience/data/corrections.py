"""What corrected rows teach: further texts to train on, made of the words that a person has marked in the rows.

- *The marked words as a text of their own*, with the label of the row: what decides the label does so alone, too.
  (Zaidan, Eisner and Piatko, 2007, https://aclanthology.org/N07-1033, take the marked words away instead, and ask for
  a margin between both texts.)
- *Counterexamples* for words that must not count: the row without them, and a row of another label with them.
  (Teso and Kersting, 2019, arXiv:1805.08578, Sec. 3, put other words in their place.)

Words that several texts ignore are taken out of all in place of that: a shortcut stands in more texts than a
person looks at.

docs/research/studies/marks.md compares them with other uses of the same marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import regex

from salience.data.marks import MARKED, Mark
from salience.data.texts import Texts
from salience.data.words import UNSPACED, plain_word

ENCLOSING = ("()", "[]", "{}", "<>", '""', "''", "“”", "‘’", "«»", "„“")
AGREED = 2  # texts that ignore the same words, from which on these are taken out of all texts
Labelled = tuple[list[str], np.ndarray]  # a text, or both texts of a pair, and the label, or 0 and 1 (C,)


def further_texts(texts: Texts, names: Sequence[str], taken_out: Sequence[str] = ()) -> Texts:
    """The texts, with labels of these `names`, that the marks in N labelled texts give; always the same ones.

    Phrases that are `taken_out` of all texts need no counterexamples.
    """
    found = [*marked_words(texts, names), *counterexamples(texts, taken_out)]
    columns = [[row[part] for row, _ in found] for part in range(len(texts.columns))]
    labels = np.array([label for _, label in found], np.int64).reshape(-1, *texts.known_labels.shape[1:])
    return Texts(columns[0], columns[1] if len(columns) > 1 else None, labels=labels)


def marked_words(texts: Texts, names: Sequence[str]) -> Iterator[Labelled]:
    """The marked words of each text that has any.

    Where texts are multi-label, the words that are marked by the name of one are a text of this label alone.
    In a pair, a text without marks stays whole.
    """
    for number, marks in enumerate(texts.marks or []):
        row, label = [column[number] for column in texts.columns], texts.known_labels[number]
        for name in dict.fromkeys(mark.name if label.ndim else MARKED for mark in marks):
            own = [mark for mark in marks if mark.name == name or not label.ndim]
            parts = [[mark for mark in own if mark.second == (place > 0)] for place in range(len(row))]
            of_name = label if name == MARKED else (np.array(names) == name).astype(int)
            yield [together(text, part) if part else text for text, part in zip(row, parts, strict=True)], of_name


def counterexamples(texts: Texts, taken_out: Sequence[str] = ()) -> Iterator[Labelled]:
    """Of each text with words that must not count: the text without them, and a text of another label with them.

    A text that has no other words, and the second one where all labels are equal, are left out.
    """
    labels, random = texts.known_labels, np.random.default_rng(0)
    needless = {" ".join(words.lower().split()) for words in taken_out}
    for number, marks in enumerate(texts.ignore or []):
        row = [column[number] for column in texts.columns]
        marks = [mark for mark in joined(marks, row) if plain(mark, row) not in needless]
        if not marks:
            continue
        parts = [[mark for mark in marks if mark.second == (place > 0)] for place in range(len(row))]
        bare = [without(text, part) for text, part in zip(row, parts, strict=True)]
        if all(bare):
            yield bare, labels[number]
        others = np.flatnonzero((labels != labels[number]).reshape(len(labels), -1).any(1))
        if len(others):
            other = int(random.choice(others))
            with_them = [
                inserted(column[other], together(text, part), random) if part else column[other]
                for column, text, part in zip(texts.columns, row, parts, strict=True)
            ]
            yield with_them, labels[other]


def agreed_words(texts: Texts) -> list[str]:
    """The words and phrases that at least `AGREED` of the texts ignore, and that decide in none, in lower case.

    A text that stands several times counts once: a correction of it is one, and stands in all of its rows.
    """
    rows = list(zip(*texts.columns, strict=True))
    said = {(plain(mark, row), row) for row, marks in zip(rows, texts.ignore or [], strict=False)
            for mark in joined(marks, row)}  # fmt: skip
    ignored = Counter(words for words, _ in sorted(said) if words)
    deciding = [row[mark.second][mark.start : mark.end] for row, marks in zip(rows, texts.marks or [], strict=False)
                for mark in joined(marks, row)]  # fmt: skip
    agreed = [words for words, count in ignored.items() if count >= AGREED]
    return [words for words in agreed if not any(map(pattern([words]).search, deciding))]


def joined(marks: Sequence[Mark], row: Sequence[str]) -> list[Mark]:
    """The marks of a text, or of both texts of a pair; those with nothing but white space between them are one."""
    found = list[Mark]()
    for mark in sorted(marks, key=lambda mark: (mark.second, mark.start)):
        last = found[-1] if found else None
        if last and last.second == mark.second and not row[mark.second][last.end : mark.start].strip():
            found[-1] = last._replace(end=max(last.end, mark.end))
        else:
            found.append(mark)
    return found


def plain(mark: Mark, row: Sequence[str]) -> str:
    """Marked words in lower case, without signs before and behind them."""
    return " ".join(plain_word(row[mark.second][mark.start : mark.end]).split())


def together(text: str, marks: Sequence[Mark]) -> str:
    """The marked words of a text; a space is between two of them, unless nothing is there in the text."""
    parts, reached = list[str](), 0
    for start, end, *_ in sorted(marks):
        if parts and start > reached:
            parts.append(" ")
        parts.append(text[max(start, reached) : end])
        reached = max(reached, end)
    return "".join(parts)


def without(text: str, marks: Sequence[Mark]) -> str:
    """A text without its marked words, nor the white space around them but one sign."""
    kept = list(text)
    for start, end, *_ in marks:
        kept[start:end] = [""] * (end - start)
    return " ".join("".join(kept).split()) if marks else text


def inserted(text: str, words: str, random: np.random.Generator) -> str:
    """A text with further words before one of its own, or at its end."""
    own = text.split()
    place = int(random.integers(len(own) + 1))
    return " ".join([*own[:place], words, *own[place:]])


def without_phrases(texts: Texts, phrases: Sequence[str]) -> Texts:
    """The texts without some words or phrases, in any case of letters. One that has no other words stays as it is."""
    if not phrases:
        return texts
    wanted = pattern(phrases)

    def bare(text: str) -> str:
        found = [Mark(*match.span()) for match in wanted.finditer(text)]
        return without(text, found) or text

    columns = [list(map(bare, column)) for column in texts.columns]
    return replace(texts, texts=columns[0], second=columns[1] if len(columns) > 1 else None)


def pattern(phrases: Sequence[str]) -> regex.Pattern:
    """What finds words, signs and phrases, in any case of letters and with any white space between their words.

    Words are whole ones. Brackets and quotation marks around a phrase belong to it: "(Reuters)" without its word would
    still name a source.
    """
    letter = rf"[\w--{UNSPACED.pattern}]"  # where no spaces stand between words, each sign can begin one
    written = []
    for phrase in sorted(phrases, key=len, reverse=True):
        words = r"\s+".join(map(regex.escape, phrase.split()))
        begins, ends = (regex.match(letter, sign, regex.V1) for sign in (phrase[0], phrase[-1]))
        written.append((rf"(?<!{letter})" if begins else "") + words + (rf"(?!{letter})" if ends else ""))
    any_of = f"(?:{'|'.join(written)})"
    enclosed = (regex.escape(sign[0]) + rf"\s*{any_of}\s*" + regex.escape(sign[1]) for sign in ENCLOSING)
    return regex.compile("|".join([*enclosed, any_of]), regex.IGNORECASE | regex.V1)
