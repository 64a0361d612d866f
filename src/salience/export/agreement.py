"""How far an exported classifier agrees with the original on given texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from salience.data.texts import UNKNOWN, Texts
from salience.errors import counted
from salience.inference import TextClassifier

ENOUGH = 0.99  # share of texts with the same label


@dataclass(frozen=True)
class Agreement:
    """What an exported classifier predicts, beside the original.

    Args:
        texts: number of texts.
        changed: number of texts whose label is another one.
        largest: largest difference of a probability.
        accuracy: of the original and of the export; None if no label is known.
    """

    texts: int
    changed: int
    largest: float
    accuracy: tuple[float, float] | None

    @property
    def share(self) -> float:
        """The share of texts with the same label."""
        return 1 - self.changed / self.texts

    @property
    def is_enough(self) -> bool:
        """Whether the labels of at least 99 % of the texts are the same. Probabilities that are NaN never are."""
        return self.share >= ENOUGH and self.largest <= 1

    def __str__(self) -> str:
        line = (
            f"{self.changed:,} of {counted(self.texts, 'label')} changed ({self.share:.2%} agree), largest difference "
            f"of a probability {self.largest:.2g}"
        )
        return (
            line
            if self.accuracy is None
            else line + ", accuracy {:.4f} instead of {:.4f}".format(*self.accuracy[::-1])
        )

    def as_json(self) -> dict[str, Any]:
        """The values as they are written to a file."""
        values: dict[str, Any] = {
            "texts": self.texts, "labels changed": self.changed, "largest difference of a probability": self.largest,
        }  # fmt: skip
        if self.accuracy is not None:
            values["accuracy"] = dict(zip(("original", "export"), self.accuracy, strict=True))
        return values


def agreement(original: TextClassifier, exported: TextClassifier, texts: Texts) -> Agreement:
    """Predicts N texts, one or more, with both classifiers. The original computes in float32."""
    encoded = original.read(texts)
    before, after = original.probabilities(encoded), exported.probabilities(encoded)
    labels = np.full(len(texts), UNKNOWN) if texts.labels is None else texts.labels
    known = labels != UNKNOWN
    accuracy = [float((each.argmax(1) == labels)[known].mean()) for each in (before, after) if known.any()]
    return Agreement(
        texts=len(texts), changed=int((before.argmax(1) != after.argmax(1)).sum()),
        largest=float(abs(before - after).max()), accuracy=(accuracy[0], accuracy[1]) if accuracy else None,
    )  # fmt: skip
