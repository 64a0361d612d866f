"""What is given to `salience.evaluate`, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral

from salience.errors import InputError, counted, listed, unknown
from salience.explainers import EXPLAINERS
from salience.explainers.explanations import Text
from salience.explainers.word_tokens import PIECES
from salience.faithfulness import Metric
from salience.inference import TextClassifier, as_columns
from salience.settings import COUNT


def labelled(texts, labels: Sequence[str] | Sequence[int] | None, names: list[str]) -> list[Text]:
    """The texts with the numbers of their labels.

    Args:
        labels: names or numbers; None keeps those of the texts.
        names: the labels that the classifier knows.

    Raises:
        InputError: texts that are none, no texts, an unknown label, or too few or too many labels.
    """
    rows = texts if isinstance(texts, str) else list(texts)
    if not (isinstance(rows, list) and all(isinstance(row, Text) for row in rows)):
        first, second = as_columns(rows)
        rows = [Text(text) for text in first] if second is None else list(map(Text, first, second))
    if not rows:
        raise InputError("there are no texts to evaluate explanations on: give at least one")
    if labels is None:
        return rows
    if isinstance(labels, str) or len(labels) != len(rows):
        raise InputError(f"give a label for each of the {counted(len(rows), 'text')}, not {len(labels)}")
    numbers = [_number(label, place, names) for place, label in enumerate(labels)]
    return [replace(row, label=number) for row, number in zip(rows, numbers, strict=True)]


def _number(label: object, place: int, names: list[str]) -> int:
    if isinstance(label, str) and label in names:
        return names.index(label)
    if isinstance(label, Integral) and not isinstance(label, bool) and 0 <= int(label) < len(names):
        return int(label)
    raise unknown(f"label in labels[{place}]:", label, names)


def functions_named(explainers: Sequence[str] | Mapping[str, Callable]) -> dict[str, Callable]:
    """The explainers by name, of `EXPLAINERS` where only names are given.

    Raises:
        InputError: an unknown name, or one string.
    """
    if isinstance(explainers, Mapping):
        return dict(explainers)
    if isinstance(explainers, str):
        raise InputError(f"give a sequence of explainers, not one string: for example [{explainers!r}]")
    for name in explainers:
        if name not in EXPLAINERS:
            raise unknown("explainer", name, EXPLAINERS)
    return {name: EXPLAINERS[name] for name in explainers}


def what_is_known(rows: Sequence[Text]) -> set[str]:
    """What is known of all texts: "labels", "marks" of words, both or neither.

    Raises:
        InputError: some texts have a label and others have none.
    """
    without = [place for place, row in enumerate(rows) if row.label is None]
    if without and len(without) < len(rows):
        raise InputError(f"texts[{without[0]}] has no label, but others have one: give all of them a label, or none")
    if without:
        return set()
    return {"labels"} if any(row.marks is None for row in rows) else {"labels", "marks"}


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
        if metric.needs is not None and metric.needs not in known:
            what = "labels" if "labels" not in known else "marked words: give `Text`s with marks"
            raise InputError(f"metric {name} needs {what}")
    if curves and "labels" not in known:
        raise InputError("curves=True needs labels: the curves are of accuracy")
    for name, count in counts.items():
        if not COUNT.fits(count):
            raise InputError(f"{name}={count}: give {COUNT.words}")
    if pieces not in PIECES:
        raise unknown("pieces", pieces, PIECES)
    if judge is not None and judge.labels != classifier.labels:
        raise InputError(
            f"the judge knows the labels {listed(judge.labels)}, but the classifier {listed(classifier.labels)}: they "
            "must be the same"
        )
