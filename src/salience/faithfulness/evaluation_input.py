"""What is given to `salience.evaluate`, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np

from salience.data.labels import WHOLE_NUMBER
from salience.data.texts import UNKNOWN, Texts, TextsLike
from salience.errors import InputError, counted, listed, unknown
from salience.explainers.named import check_pieces
from salience.faithfulness import Metric
from salience.inference import TextClassifier
from salience.settings import COUNT, is_whole


def labelled(texts: TextsLike, labels: Sequence | None, classifier: TextClassifier) -> Texts:
    """The texts with their labels as `Texts` has them; `Texts.labels` is None if no label is known.

    Args:
        labels: of each text, a name, or the number of a class where no name is a number; where a text can have several
            labels, names or 0 and 1 for each. None keeps those of the texts.

    Raises:
        InputError: texts that are none, no texts, an unknown label, too few or too many labels, or lists of labels
            where a text has one label, and the other way round.
    """
    names = classifier.labels
    given = Texts.of(texts)
    if not len(given):
        raise InputError("there are no texts to evaluate explanations on: give at least one")
    if labels is None:
        if given.labels is None or (given.labels == UNKNOWN).all():
            return replace(given, labels=None)
        shape = (len(given), len(names)) if classifier.multi_label else (len(given),)
        if given.labels.shape != shape:
            raise InputError(
                f"the labels of the texts are numbers of the shape {given.labels.shape}, but this classifier needs "
                f"{shape}"
            )
        return given
    if isinstance(labels, str) or len(labels) != len(given):
        raise InputError(f"give a label for each of the {counted(len(given), 'text')}, not {len(labels)}")
    number = _indicators if classifier.multi_label else _number
    return replace(given, labels=np.array([number(label, place, names) for place, label in enumerate(labels)]))


def _number(label: object, place: int, names: list[str]) -> int:
    if isinstance(label, str | Integral) and str(label) in names:
        return names.index(str(label))
    # A number stands for a place among the classes only if it cannot be meant as a name.
    if is_whole(label) and 0 <= int(str(label)) < len(names) and not any(map(WHOLE_NUMBER.fullmatch, names)):
        return int(str(label))
    raise unknown(f"label in labels[{place}]:", label, names)


def _indicators(labels: object, place: int, names: list[str]) -> list[int]:
    if isinstance(labels, str) or not isinstance(labels, Sequence | np.ndarray):
        raise InputError(f"labels[{place}] is no list of labels, and this classifier gives a text several labels")
    if isinstance(labels, np.ndarray) and len(labels) == len(names) and set(labels.tolist()) <= {0, 1}:
        return [int(value) for value in labels]
    numbers = [_number(label, place, names) for label in labels if isinstance(label, str)]
    if len(numbers) < len(labels):
        raise InputError(f"labels[{place}]: give the names of its labels, or an array with 0 or 1 for each of them")
    return [int(number in numbers) for number in range(len(names))]


def what_is_known(texts: Texts, several: bool = False) -> set[str]:
    """What is known of all texts: "labels", "marks" of words, both or neither.

    Args:
        several: whether a text can have several labels. Their words are then marked with any label, whatever the
            labels of the text are, and the one label of a text is never known.

    Raises:
        InputError: some texts have a label and others have none.
    """
    marks = set() if texts.marks is None else {"marks"}
    if texts.labels is None:
        return marks if several else set()
    unlabelled = np.flatnonzero(~texts.labelled)
    if len(unlabelled):
        raise InputError(
            f"texts[{unlabelled[0]}] has no label, but others have one: give all of them a label, or none"
        )
    return marks if several else marks | {"labels"}


def check_settings(
    metrics: Mapping[str, Metric], known: set[str], classifier: TextClassifier, judge: TextClassifier | None,
    curves: bool, counts: Mapping[str, int], pieces: str,
) -> None:  # fmt: skip
    """Refuses settings that do not fit together, before anything is computed.

    Args:
        known: what is known of the texts, as `what_is_known` gives it.
        counts: the settings that are numbers of words, by name.

    Raises:
        InputError: names the setting and what it may be.
    """
    if not metrics:
        raise InputError("name at least one metric, or leave metrics=None for all that apply")
    for name, metric in metrics.items():
        if classifier.multi_label and metric.one_label is not None:
            raise InputError(f"metric {name} has no meaning where a text can have several labels: {metric.one_label}")
        if metric.needs is not None and metric.needs not in known:
            marks = metric.needs == "marks" and (classifier.multi_label or "labels" in known)
            what = "marked words: give a `Texts` with marks" if marks else "labels"
            raise InputError(f"metric {name} needs {what}")
    if curves and classifier.multi_label:
        raise InputError("curves=True: the curves are of accuracy, which counts texts whose one label is right")
    if curves and "labels" not in known:
        raise InputError("curves=True needs labels: the curves are of accuracy")
    for name, count in counts.items():
        if not COUNT.fits(count):
            raise InputError(f"{name}={count}: give {COUNT.words}")
    check_pieces(pieces)
    marks = any(metric.needs == "marks" for metric in metrics.values())
    if (judge is not None or marks) and "head-tail" in (classifier.long, judge.long if judge is not None else ""):
        what = "marks of words need" if marks else "a judge needs"
        raise InputError(
            f"{what} models that read texts from the beginning, and with --long head-tail the middle is left out: "
            f"leave out the {'marks' if marks else 'judge'}"
        )
    if judge is not None and judge.multi_label != classifier.multi_label:
        raise InputError("the judge and the classifier must both give a text one label, or both several")
    if judge is not None and judge.labels != classifier.labels:
        raise InputError(
            f"the judge knows the labels {listed(judge.labels)}, but the classifier {listed(classifier.labels)}: they "
            "must be the same"
        )
