"""Which of some texts to label next, as values: `salience.suggest`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.data.multilabel import Label
from salience.data.splitting import stripped
from salience.data.texts import Texts, TextsLike
from salience.errors import InputError, unknown
from salience.inference import TextClassifier
from salience.inference.fitted import classifier_of
from salience.settings import is_whole
from salience.suggestions.fresh import FreshTexts
from salience.suggestions.strategies import DEFAULT, STRATEGIES, Strategy
from salience.suggestions.strategy import Pool
from salience.suggestions.view import view_of


@dataclass(frozen=True)
class Suggestion:
    """A text to label, and what the classifier says of it.

    Args:
        place: of the text among those that were given, counted from 0.
        label: the most probable label; where a text can have several, those that are predicted.
        probability: that of this label; None where a text can have several.
    """

    place: int
    label: Label
    probability: float | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The predicted labels: one, or where a text can have several, any number."""
        return (self.label,) if isinstance(self.label, str) else self.label

    @classmethod
    def of(cls, classifier: TextClassifier, place: int, probabilities: np.ndarray) -> Suggestion:
        """A text with the probabilities (C,) that the classifier gives it."""
        if not classifier.multi_label:
            return cls(place, classifier.labels[probabilities.argmax()], float(probabilities.max()))
        return cls(place, tuple(np.array(classifier.labels, object)[classifier.decisions(probabilities)]), None)


def suggest(
    classifier: TextClassifier,
    texts: TextsLike,
    count: int = 50,
    labelled: TextsLike = (),
    strategy: str = DEFAULT,
    seed: int = 0,
) -> list[Suggestion]:
    """Suggests which texts to label next, so that a classifier that is trained on them too becomes better.

    Repetitions of a text, texts that are also labelled, and empty texts are left out; space around texts is ignored.

    Args:
        classifier: trained on the texts that have labels so far.
        texts: N texts without labels, or N pairs.
        count: number of texts to suggest, at most.
        labelled: the texts that have labels.
        strategy: a name of `salience.STRATEGIES`.
        seed: of a strategy that draws.

    Returns:
        The suggestions, the one to label first at the head: `count` of them, or as many as there are texts.

    Raises:
        InputError: an unknown strategy, one that does not fit the classifier, a count below 1, or texts that are none.
    """
    classifier, chosen = classifier_of(classifier), strategy_named(strategy, count)
    check_labels(strategy, classifier)
    given, fresh = Texts.of(texts), FreshTexts(set(stripped(Texts.of(labelled))))
    places = [place for place, row in enumerate(stripped(given)) if fresh.is_fresh(row)]
    if not places:
        return []
    view = view_of(classifier, given.take(places), chosen.reads_vectors)
    return ranked(classifier, *view, np.array(places), chosen, count, seed)


def ranked(
    classifier: TextClassifier, probabilities: np.ndarray, vectors: np.ndarray | None, places: np.ndarray,
    strategy: Strategy, count: int, seed: int,
) -> list[Suggestion]:  # fmt: skip
    """The suggestions among N texts by what a classifier says of them.

    Args:
        classifier: has C labels.
        probabilities: (N, C). Texts for which they are not finite are left out.
        vectors: (N, D), or None.
        places: (N,) of the texts among those that the user has given.
        strategy: what chooses.
        count: number of suggestions, at most.
        seed: of a strategy that draws.
    """
    sound = np.isfinite(probabilities).all(1)
    if not sound.all():
        probabilities, places = probabilities[sound], places[sound]
        vectors = None if vectors is None else vectors[sound]
    pool = Pool(probabilities, vectors, several=classifier.multi_label)
    chosen = strategy.choose(pool, count, np.random.default_rng(seed))
    return [Suggestion.of(classifier, int(places[each]), probabilities[each]) for each in chosen]


def strategy_named(name: str, count: int) -> Strategy:
    """The strategy of this name.

    Raises:
        InputError: there is none, or fewer than one text is wanted.
    """
    if name not in STRATEGIES:
        raise unknown("strategy", name, STRATEGIES)
    if not is_whole(count) or count < 1:
        raise InputError(f"--count is {count}: give the number of texts to suggest, at least 1")
    return STRATEGIES[name]


def check_labels(name: str, classifier: TextClassifier) -> None:
    """Raises an `InputError` if the strategy of this name does not choose among texts with several labels."""
    if classifier.multi_label and not STRATEGIES[name].several:
        others = [other for other, each in STRATEGIES.items() if each.several]
        raise InputError(
            f"--strategy {name} is for texts with one label each, and the model gives a text several labels: use "
            f"--strategy {' or '.join(others)}"
        )
