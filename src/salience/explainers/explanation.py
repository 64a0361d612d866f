"""One explanation as a value that can be shown, written and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.templating import render


@dataclass(frozen=True)
class Explanation:
    """One text, the prediction for it, and the scores of its words by one or more explainers.

    Args:
        words: the W words of the text, or of both texts of a pair, as far as they are read.
        second: the number of the first word of a second text; None for a single text.
        labels: the C labels of the classifier.
        probabilities: (C,) predicted.
        target: the number of the class that the scores are computed for.
        gold: the number of the right label; None if it is not known.
        scores: the scores of the words (W,) by the name of the explainer.
        row: the number of the text's row in its file; None for a text that comes from no file.
        cut: whether the text is longer than what the classifier reads.
        decided: the numbers of the predicted labels, where a text can have several; None where it has one. Such an
            explanation is of the decision about its target alone.
        golds: the numbers of the right labels, where a text can have several and they are known.
    """

    words: list[str]
    second: int | None
    labels: list[str]
    probabilities: np.ndarray
    target: int
    gold: int | None
    scores: dict[str, np.ndarray]
    row: int | None = None
    cut: bool = False
    decided: tuple[int, ...] | None = None
    golds: tuple[int, ...] | None = None

    @property
    def predicted(self) -> int:
        """The number of the most probable class; where a text can have several labels, that of the target."""
        return int(self.probabilities.argmax()) if self.decided is None else self.target

    @property
    def is_predicted(self) -> bool:
        """Whether the label `predicted` is one that the classifier gives the text."""
        return self.decided is None or self.target in self.decided

    @property
    def right(self) -> bool | None:
        """Whether the prediction is right, of several labels that about the target; None if it is not known."""
        if self.decided is None:
            return None if self.gold is None else self.gold == self.predicted
        return None if self.golds is None else (self.target in self.golds) == self.is_predicted

    def _repr_html_(self) -> str:
        """In a notebook: the label, and the words with a colour as strong as their score."""
        name = next(iter(self.scores))
        return render(
            "salience.explainers", "explanation.html.jinja",
            label=f"{'' if self.is_predicted else 'not '}{self.labels[self.predicted]} "
            f"({self.probabilities[self.predicted]:.2f})",
            about=name if self.target == self.predicted else f"{name} for {self.labels[self.target]}",
            words=self.coloured(name), second=self.second,
        )  # fmt: skip

    def coloured(self, name: str) -> list[tuple[str, str, str]]:
        """Each word with its score in figures and the colour of that, relative to the largest one in the text.

        Args:
            name: of the explainer.
        """
        scores = self.scores[name]
        known = np.nan_to_num(scores)  # a diverged model gives NaN, which has no colour
        strengths = known / max(np.abs(known).max(initial=0), 1e-12)
        return [
            (word, f"{score:.3g}", colour(strength))
            for word, score, strength in zip(self.words, scores, strengths, strict=True)
        ]


def colour(strength: float) -> str:
    """The colour of a strength from -1, blue, over 0, transparent, to 1, red, as css."""
    return f"rgba({'217,71,58' if strength > 0 else '58,110,217'},{min(abs(strength), 1) * 0.75:.2f})"
