"""Which labels of texts an evaluation of explanations is about: the predicted class, or some of several labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from salience.data.texts import Texts
from salience.errors import InputError, counted
from salience.explainers.named import check_target
from salience.explainers.several_labels import chosen_labels
from salience.inference import TextClassifier


@dataclass(frozen=True, eq=False)
class Asked:
    """N explanations that are evaluated, each of a text and a label.

    Args:
        texts: the text of each; a text is there once for each of its labels that is explained.
        owners: (N,) the number of its text.
        targets: (N,) the number of its label; None for the class that each classifier predicts.
        marked_as: the name by which words are marked for it; empty if that is not known.
    """

    texts: Texts
    owners: np.ndarray
    targets: np.ndarray | None
    marked_as: list[str]

    def drawn(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """The numbers of the explanations of `count` texts, which are drawn at random."""
        texts = np.unique(self.owners)
        return np.flatnonzero(np.isin(self.owners, texts[generator.permutation(len(texts))[:count]]))


def asked_of(
    classifier: TextClassifier, texts: Texts, target: int | str, say: Callable[[str], None] = lambda line: None
) -> Asked:
    """The explanations to evaluate of some texts.

    Args:
        texts: with labels, if they are known.
        target: "predicted", "gold", or the number of a label.
        say: is told how many texts have no such label.

    Raises:
        InputError: the target is none of these, or needs labels that are not known; the classifier gives each text one
            label, and something else than "predicted" is asked for; or no text has such a label.
    """
    names = classifier.labels
    check_target(target, len(names))
    if not classifier.multi_label:
        if target != "predicted":
            raise InputError(
                "a target is chosen where a text can have several labels; with one label, metrics are about the "
                "predicted class"
            )
        gold = [] if texts.labels is None else [names[number] for number in texts.labels]
        return Asked(texts, np.arange(len(texts)), None, gold)
    if target == "gold" and texts.labels is None:
        raise InputError("the target gold needs the labels of the texts")
    right = None if texts.labels is None else classifier.problem.right(texts.labels, len(names))
    decided = classifier.decisions(replace(classifier, precision="fp32").predict_proba(texts))
    pairs = [
        (row, label)
        for row in range(len(texts))
        for label in chosen_labels(target, decided[row], None if right is None else right[row])
    ]
    owners, targets = np.array(pairs, int).reshape(-1, 2).T
    without = len(texts) - len(np.unique(owners))
    if not len(owners):
        which = "right" if target == "gold" else "predicted"
        raise InputError(
            f"none of {counted(len(texts), 'text')} has a label that is {which}: give the number of a label as target"
        )
    if without:
        say(f"{without} of {len(texts)} texts are left out: they have no label that is explained")
    asked = replace(texts, labels=None).take(owners)
    return Asked(asked, owners, targets, [names[number] for number in targets])
