"""Texts that are worth a label: not empty, without one so far, and not a repetition of another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from hashlib import blake2b

EMPTY, LABELLED, REPEATED = "without a text", "labelled already", "repeated"


class FreshTexts:
    """Tells texts that it has not met from others. It keeps 16 bytes of each.

    Args:
        labelled: texts, or pairs of texts, that have a label, without the space around them.

    Attributes:
        left_out: how many texts were not fresh, by the reason.
    """

    def __init__(self, labelled: Set[tuple[str, ...]] = frozenset()) -> None:
        self.labelled = labelled
        self.met: set[bytes] = set()
        self.left_out: Counter[str] = Counter()

    def is_fresh(self, row: tuple[str | None, ...]) -> bool:
        """Whether a text, or a pair of texts, is met for the first time; space around it is ignored.

        Args:
            row: the parts; None or blank where one is missing.
        """
        parts = stripped_parts(row)
        met = len(self.met)
        if not all(parts):
            reason = EMPTY
        elif parts in self.labelled:
            reason = LABELLED
        else:
            self.met.add(digest_of_text(row))
            if len(self.met) > met:
                return True
            reason = REPEATED
        self.left_out[reason] += 1
        return False


def stripped_parts(row: tuple[str | None, ...]) -> tuple[str, ...]:
    """The parts of a text without the space around them; "" for one that is missing."""
    return tuple((part or "").strip() for part in row)


def digest_of_text(row: tuple[str | None, ...]) -> bytes:
    """16 bytes that stand for a text, whatever space is around it; BLAKE2."""
    found = blake2b(digest_size=16)
    for part in stripped_parts(row):
        content = part.encode("utf-8", "surrogatepass")
        found.update(len(content).to_bytes(8, "little") + content)
    return found.digest()
