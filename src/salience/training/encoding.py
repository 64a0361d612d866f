"""Encoding the parts of a task, with a line on what is not read of them."""

from __future__ import annotations

from collections.abc import Callable

from salience.data.encoding import Encoded
from salience.data.texts import Texts
from salience.inference import TextClassifier


def encode_part(classifier: TextClassifier, texts: Texts, role: str, note: Callable[[str], None]) -> Encoded:
    """The texts of one part with their labels. `note` is told how many are longer than what is read."""
    encoded, longest = classifier.read(texts), classifier.max_length
    if encoded.cut.any():
        share = encoded.cut_texts.mean()
        note(
            f"{share:.1%} of the {role} texts are longer than the {longest} tokens read of each; the rest is left out"
        )
    return encoded
