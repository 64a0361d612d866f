"""Which of some texts to label next, as values: `salience.suggest`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from salience.classify import TextClassifier, load
from salience.classify.classifier import OnnxClassifier, classifier_of
from salience.classify.frozen_encoder import FrozenEncoder, load_frozen, probabilities_and_vectors
from salience.data.long_texts import merged
from salience.data.splitting import stripped
from salience.data.texts import Texts, TextsLike
from salience.data.values import Label
from salience.errors import InputError, unknown
from salience.models.loading import NoClassifier
from salience.settings import is_whole
from salience.suggestions.strategies import DEFAULT, MOST, STRATEGIES, Pool, Strategy
from salience.work import doing

EMPTY, LABELLED, REPEATED = "without a text", "labelled already", "repeated"  # why a text is not worth a label


class FreshTexts:
    """Tells texts, or pairs of texts, that it has not met from others. It keeps 16 bytes of each.

    Space around texts is ignored. `left_out` counts the texts that were not fresh, by the reason.
    """

    def __init__(self, labelled: Set[tuple[str, ...]] = frozenset()) -> None:
        self.labelled = labelled
        self.met: set[bytes] = set()
        self.left_out: Counter[str] = Counter()

    def is_fresh(self, row: tuple[str | None, ...]) -> bool:
        """Whether a text is met for the first time; parts that are missing are None or blank."""
        parts, digest = tuple((part or "").strip() for part in row), digest_of_text(row)
        reason = EMPTY if not all(parts) else LABELLED if parts in self.labelled else REPEATED
        if reason == REPEATED and digest not in self.met:
            self.met.add(digest)
            return True
        self.left_out[reason] += 1
        return False


def digest_of_text(row: tuple[str | None, ...]) -> bytes:
    """16 bytes that stand for a text, whatever space is around it; BLAKE2."""
    found = blake2b(digest_size=16)
    for part in row:
        content = (part or "").strip().encode("utf-8", "surrogatepass")
        found.update(len(content).to_bytes(8, "little") + content)
    return found.digest()


def strategy_named(name: str, count: int) -> Strategy:
    """The strategy of this name, of which `count` texts are wanted."""
    if name not in STRATEGIES:
        raise unknown("strategy", name, STRATEGIES)
    if not is_whole(count) or count < 1:
        raise InputError(f"--count is {count}: give the number of texts to suggest, at least 1")
    return STRATEGIES[name]


Model: TypeAlias = TextClassifier | FrozenEncoder  # what reads the texts


def load_reader(name: str, max_length: int | None = None, device: str = "auto", precision: str = "auto") -> Model:
    """A trained classifier of this name, or an encoder, as `salience.load` and `load_frozen` load them."""
    try:
        return load(name, max_length, device, precision)
    except NoClassifier:
        return load_frozen(name, max_length, device, precision)


def check_fits(strategy: Strategy, model: Model) -> None:
    """Raises an `InputError` if a strategy needs one label a text, or what a model does not give."""
    if isinstance(model, FrozenEncoder):
        if strategy.reads_probabilities:
            others = [f"--strategy {name}" for name, each in STRATEGIES.items() if not each.reads_probabilities]
            raise InputError(
                "an encoder gives no probabilities, which this strategy reads: "
                f"{' or '.join(['name a trained classifier', *others])}"
            )
        return
    others = [name for name, each in STRATEGIES.items() if each.several or not model.multi_label]
    if model.multi_label and not strategy.several:
        name = next(name for name, each in STRATEGIES.items() if each is strategy)
        raise InputError(
            f"{name} is for texts with one label each, and the model is multi-label: use --strategy "
            f"{' or '.join(others)}"
        )
    if strategy.reads_vectors and isinstance(model, OnnxClassifier):
        without = [f"--strategy {name}" for name in others if not STRATEGIES[name].reads_vectors]
        raise InputError(
            "a classifier that was exported to ONNX gives no vectors, which this strategy reads: "
            f"{' or '.join(['name the run that was exported', *without])}"
        )


def view_of(model: Model, texts: TextsLike, with_vectors: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """The probabilities (N, C) of N texts, and if they are wanted the vectors (N, D) that the head reads, in float32.

    Of a text that is read in windows, the vector is the mean over the windows. Through a linear map it gives the mean
    of their logits, from which the probabilities are. An encoder knows no labels, so that C is 0.
    """
    if isinstance(model, FrozenEncoder):
        vectors = model.vectors(texts)
        return np.zeros((len(vectors), 0), np.float32), vectors
    classifier = model
    if not with_vectors:
        return classifier.predict_proba(texts), None
    encoded = classifier.read(texts)
    probabilities, vectors = probabilities_and_vectors(classifier.model, encoded, classifier.precision)
    if encoded.owners is None:
        return probabilities, vectors
    counts = np.bincount(encoded.owners)
    means = np.add.reduceat(vectors, np.cumsum(counts) - counts, axis=0) / counts[:, None]
    return merged(probabilities, encoded.owners, classifier.multi_label), means.astype(np.float32)


@dataclass(frozen=True)
class Suggestion:
    """A text to label, and what the classifier says of it.

    Args:
        place: of the text among those that were given, counted from 0.
        label: the most probable label; where a text can have several, those that are predicted; none by an encoder.
        probability: that of this label; None where a text can have several, or by an encoder.
    """

    place: int
    label: Label
    probability: float | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The predicted labels: one, or where a text can have several, any number."""
        return (self.label,) if isinstance(self.label, str) else self.label


def suggest(
    classifier: TextClassifier | str, texts: TextsLike, count: int = 50, labelled: TextsLike = (),
    strategy: str = DEFAULT, seed: int = 0,
) -> list[Suggestion]:  # fmt: skip
    """Suggests which texts to label next, so that a classifier that is trained on them too becomes better.

    Repetitions of a text, texts that are also labelled, and empty texts are left out; space around texts is ignored.

    Args:
        classifier: trained on the texts that have labels so far, or its name; or the name of an encoder, where there
            are no such texts.
        texts: N unlabelled texts, or N pairs.
        count: number of texts to suggest, at most.
        labelled: the texts that have labels. A strategy that reads vectors also avoids texts like these.
        strategy: a name of `salience.STRATEGIES`; "balanced" for a classifier of `salience describe`.
        seed: of a strategy that is random.

    Returns:
        The suggestions, the one to label first at the head: `count` of them, or as many as there are texts.

    Raises:
        InputError: an unknown strategy, one that does not fit the classifier, a count below 1, or texts that are none.
    """
    model = load_reader(classifier) if isinstance(classifier, str) else classifier_of(classifier)
    chosen = strategy_named(strategy, count)
    check_fits(chosen, model)
    given, known = Texts.of(texts), stripped(Texts.of(labelled))
    fresh = FreshTexts(set(known))
    places = [place for place, row in enumerate(stripped(given)) if fresh.is_fresh(row)]
    if not places:
        return []
    view = view_of(model, given.take(places), chosen.reads_vectors)
    of_labelled = labelled_vectors(model, known) if chosen.reads_vectors else None
    return ranked(model, *view, of_labelled, np.array(places), chosen, count, seed)


def labelled_vectors(model: Model, labelled: Iterable[tuple[str, ...]]) -> np.ndarray | None:
    """The vectors (M, D) of the labelled texts, or of `MOST` of them, always the same ones; None if there are none."""
    texts = [row if len(row) > 1 else row[0] for row in sorted(set(labelled)) if all(row)]
    kept = [texts[place] for place in np.random.default_rng(0).permutation(len(texts))[:MOST]]
    return view_of(model, kept, True)[1] if kept else None


def ranked(
    model: Model, probabilities: np.ndarray, vectors: np.ndarray | None, labelled: np.ndarray | None,
    places: np.ndarray, strategy: Strategy, count: int, seed: int,
) -> list[Suggestion]:  # fmt: skip
    """The suggestions among N texts by what a model says of them, where its probabilities are finite.

    Args:
        probabilities, vectors: (N, C), and (N, D) or None, as of `view_of`.
        labelled: (M, D), as of `labelled_vectors`.
        places: (N,) of the texts among those that the user has given.
    """
    sound = np.isfinite(probabilities).all(1)
    probabilities, places = probabilities[sound], places[sound]
    vectors = None if vectors is None else vectors[sound]
    classifier = None if isinstance(model, FrozenEncoder) else model
    several = classifier is not None and classifier.multi_label
    pool = Pool(None if classifier is None else probabilities, vectors, labelled, several=several)
    found = []
    with doing("choosing"):
        chosen = strategy.choose(pool, count, np.random.default_rng(seed))
    for each in chosen:
        own, place = probabilities[each], int(places[each])
        if classifier is None:
            found.append(Suggestion(place, (), None))
        elif classifier.multi_label:
            labels = tuple(np.array(classifier.labels, object)[classifier.decisions(own)])
            found.append(Suggestion(place, labels, None))
        else:
            found.append(Suggestion(place, classifier.labels[own.argmax()], float(own.max())))
    return found
