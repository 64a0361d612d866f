"""Part-of-speech tags of texts, from spaCy, from another tagger, or given with the texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise

from salience.data.words import word_spans
from salience.errors import InputError, counted, quoted

Tagged = list[tuple[int, int, str]]  # the words of a text: first character, character after the last, tag
Tagger = Callable[[Sequence[str]], Iterator[Tagged]]


@dataclass(frozen=True)
class SpacyTagger:
    """Tags words with universal parts of speech by a spaCy pipeline.

    Calling it with texts yields the tagged words of each text, without white space.

    Args:
        name: the pipeline, which must be installed.

    Raises:
        InputError: spaCy or the pipeline is not installed.
    """

    name: str = "en_core_web_sm"

    def __call__(self, texts: Sequence[str]) -> Iterator[Tagged]:
        """Yields the tags of each text. Raises an `InputError` if spaCy or the pipeline is not installed."""
        if find_spec("spacy") is None:
            raise InputError("parts of speech need spaCy (pip install spacy), or a column of tags: --tags COLUMN")
        import spacy

        try:
            pipeline = spacy.load(self.name, exclude=["ner", "lemmatizer"])
        except OSError as error:
            raise InputError(
                f"spaCy has no pipeline {self.name!r}: python -m spacy download {self.name}, or choose another one "
                "with --tagger"
            ) from error
        for document in pipeline.pipe(texts):
            yield [(word.idx, word.idx + len(word), word.pos_) for word in document if not word.is_space]


def given_tags(text: str, tags: Sequence[str], row: int) -> Tagged:
    """The tagged words of a text whose tags are given, one for each word between white space.

    Args:
        text: the text.
        tags: one tag for each word.
        row: number of the text's row, from 1, for messages.

    Raises:
        InputError: the numbers of words and tags differ; names the row.
    """
    spans = word_spans(text)
    if len(spans) != len(tags):
        raise InputError(
            f"row {row} has {counted(len(spans), 'word')}, separated by white space, but {counted(len(tags), 'tag')}: "
            "give one tag for each word"
        )
    return [(*span, tag) for span, tag in zip(spans, tags, strict=True)]


def in_order(text: str, tagged: Tagged, number: int) -> Tagged:
    """The tagged words of a text in the order of the text; a tagger may return them in any order.

    Args:
        text: the text.
        tagged: its tagged words.
        number: number of the text, from 1, for messages.

    Raises:
        InputError: a word is empty or outside the text, or two words overlap; names the text and the words.
    """
    ordered = sorted((start, end, tag) for start, end, tag in tagged)
    for start, end, tag in ordered:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"text {number}: a tagged word is characters {start} to {end} ({quoted(tag)}), but the text has "
                f"{counted(len(text), 'character')}; write 0 <= from < to <= {len(text)}"
            )
    for (start, end, _), (next_start, next_end, _) in pairwise(ordered):
        if next_start < end:
            raise InputError(
                f"text {number}: the tagged words at characters {start} to {end} and {next_start} to {next_end} "
                "overlap; give every character to one word at most"
            )
    return ordered
