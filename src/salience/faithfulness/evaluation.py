"""Explainers by metrics: how faithful each explainer is to a classifier, with random scores as the baseline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral

import numpy as np

from salience.classify import TextClassifier
from salience.classify.classifier import classifier_of
from salience.data.encoding import Encoded, Words, put_together
from salience.data.labels import WHOLE_NUMBER
from salience.data.marks import marks_in
from salience.data.texts import UNKNOWN, Texts, TextsLike, alone, rows_of
from salience.data.words import Segmenter, Spans
from salience.errors import InputError, counted, listed, unknown
from salience.explainers.chance import random_words
from salience.explainers.explain import (
    check_pieces,
    check_target,
    chosen_labels,
    explain_classes,
    explain_words,
    functions_named,
)
from salience.faithfulness import Metric, default_metrics, metrics_named
from salience.faithfulness.accuracy import right_alone, right_without
from salience.faithfulness.detection import detection_by_class, marked_words, mean_detection
from salience.faithfulness.erasure import JUDGING, Erasure, Reading
from salience.faithfulness.results import CURVES, Evaluation, row_of
from salience.settings import COUNT, is_whole
from salience.work import tracked

DRAWS = 5  # of random scores; their mean is the baseline
LEAVE_ONE_OUT_TEXTS = 200
WINDOW = 512  # texts that are measured at a time


def evaluate(
    classifier: TextClassifier,
    texts: TextsLike,
    labels: Sequence | None = None,
    *,
    explainers: Sequence[str] | Mapping[str, Callable] = ("gradient",),
    metrics: Sequence[str] | None = None,
    judge: TextClassifier | None = None,
    target: int | str = "predicted",
    most: int = 20,
    at: int = 5,
    leave_one_out_texts: int = LEAVE_ONE_OUT_TEXTS,
    pieces: str = "sum",
    curves: bool = False,
    seed: int = 0,
    segmenter: Segmenter | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Tests explanations: removes the words that an explainer scores highest and asks a judge again.

    With labels, the result also has the `scores` of the classifier on the texts, as `salience test` has them.

    Every explainer is applied for the class that the classifier predicts. Where texts are multi-label, it is applied
    for each label that is predicted, and the metrics are about the probability of this label by itself and about the
    decision whether it is predicted; there is one value for each text and label, and none for a text without a label.
    Intervals are over texts. Random scores are always evaluated too, as the row "random": the mean of 5 random orders.
    Explanations are computed in the precision of the classifier. The judge computes in fp32, because metrics are made
    of small differences of probabilities.

    Args:
        texts: N texts or N pairs of texts, as of `TextClassifier.predict_proba`, or a `Texts`, which may have labels
            and marks of words, in any form of docs/guides/correct.md.
        labels: their gold labels: names, or the numbers of classes where no name is a number. None takes those of the
            `Texts`. Without labels, metrics of accuracy cannot be computed. Where a text can have several: lists of
            names, or 0 and 1 (N, C), also as a table.
        explainers: names of `salience.EXPLAINERS`, or functions by name.
        metrics: names of `salience.METRICS`, with a number in place of `k`: "accuracy-drop@5". None is all that
            apply, at `at` words.
        judge: the model whose decisions are watched while words are removed; it must know the same labels. None is
            the explained classifier.
        target: where texts are multi-label, those that are explained: "predicted", "gold" (those in
            `labels`), or the number of a label, for this one in every text.
        most: the largest number of words removed, for "aopc", "decision-flip" and the curves.
        at: the number of words for metrics that need one, if `metrics` is None; and for marked words.
        leave_one_out_texts: the number of texts, sampled at random, for which "loo-tau" is computed.
        pieces: how token scores are aggregated to a word score, "sum" or "max".
        curves: also compute the judge's accuracy over the number of words; this takes up to 2 * `most` passes per text
            and explainer.
        seed: seeds the random scores and the sample of texts.
        segmenter: gives the words of a text, as of `salience.explain`.
        say: is given notes and results.

    Raises:
        InputError: an unknown metric, explainer or label; texts that are none; marks that do not fit their text; a
            metric that needs labels or marks where there are none, or that has no meaning where a text can have
            several labels; a target where a text has one label, or that no text has; a judge with other labels.
        ValueError: an explainer does not fit the model.

    Example::

        evaluation = salience.evaluate(classifier, texts, labels, explainers=("gradient", "occlusion"))
        evaluation["gradient"].metrics["comprehensiveness"].mean
    """
    classifier = classifier_of(classifier, segmenter)
    if judge is not None:
        judge = replace(classifier_of(judge), spans=classifier.word_spans)
    given = labelled(texts, labels, classifier)
    functions, several = functions_named(explainers), classifier.multi_label
    known = what_is_known(given, several)
    chosen = default_metrics(at, known, several) if metrics is None else metrics_named(metrics)
    check_settings(chosen, known, classifier, judge, curves, {"most": most, "at": at}, pieces)
    if "marks" in known:
        given = with_marks_read(given, classifier)

    scores_of_texts = None
    if given.labels is not None:
        scores_of_texts = classifier.predictions(classifier.read(given), given.labels).scores(seed)

    generator = np.random.default_rng(seed)
    asked = asked_of(classifier, given, target, say)
    numbers = np.unique(asked.owners)
    drawn = numbers[generator.permutation(len(numbers))[:leave_one_out_texts]]

    explained = reading_of(classifier, asked, np.flatnonzero(np.isin(asked.owners, drawn)))
    judging = explained if judge is None else reading_of(judge, asked)
    encoded = explained.texts
    if encoded.cut.any():
        cut = len(np.unique(asked.owners[encoded.cut]))
        say(f"{cut} of {len(given)} texts are cut: they are longer than {classifier.max_length} tokens")
    gold, marked = asked.marked_as, None
    if "marks" in known:
        marked = marked_words(asked.texts, gold, encoded.words, classifier.word_spans)

    functions.pop("random", None)
    scores = {name: scores_of(classifier, asked, explained, each, pieces) for name, each in functions.items()}
    draws = [random_words(encoded.words.counts, generator) for _ in range(DRAWS)]
    scorings = [*scores.values(), *draws]
    asked_for = {name: metric.compute for name, metric in chosen.items()}
    if curves:
        asked_for |= dict(zip(CURVES, (right_without, right_alone), strict=True))
    measured = measure(judging, explained, scorings, asked_for, most, marked)
    detected: list[dict[str, dict[str, float]]] = [
        {} if marked is None else detection_by_class(of_words, marked, gold, classifier.labels, at)
        for of_words in scorings
    ]
    measured[-DRAWS:] = [{name: np.mean([draw[name] for draw in measured[-DRAWS:]], axis=0) for name in asked_for}]
    detected[-DRAWS:] = [mean_detection(detected[-DRAWS:])]
    rows = []
    for name, values, of_classes in zip((*scores, "random"), measured, detected, strict=True):
        row = row_of(name, values, of_classes, asked.owners if several else None)
        metric, estimate = next(iter(row.metrics.items()))
        say(f"{row.explainer}: {metric} {estimate.mean:.3g}")
        rows.append(row)
    if asked.targets is None:
        return Evaluation(rows, chosen, scores=scores_of_texts)
    targets = [classifier.labels[number] for number in asked.targets]
    return Evaluation(rows, chosen, asked.owners, targets, scores_of_texts)


@dataclass(frozen=True, eq=False)
class Asked:
    """N explanations that are evaluated, each of a text and a label."""

    texts: Texts  # a text is there once for each of its labels that is explained
    owners: np.ndarray  # (N,) the number of the text
    targets: np.ndarray | None  # (N,) the number of the label; None for the class that each classifier predicts
    marked_as: list[str]  # the name by which words are marked for it; empty if that is not known


def asked_of(
    classifier: TextClassifier, texts: Texts, target: int | str, say: Callable[[str], None] = lambda line: None
) -> Asked:
    """The explanations to evaluate of some texts, as `evaluate` has the target; refuses one that no text has."""
    names = classifier.labels
    check_target(target, len(names))
    if not classifier.multi_label:
        if target != "predicted":
            raise InputError(
                "a target is for multi-label texts only; with one label a text, metrics are about the predicted class"
            )
        gold = [] if texts.labels is None else [names[number] for number in texts.labels]
        return Asked(texts, np.arange(len(texts)), None, gold)
    if target == "gold" and texts.labels is None:
        raise InputError("the target gold needs the labels of the texts")
    right = None if texts.labels is None else classifier.kind.right(texts.labels, len(names))
    decided = classifier.decisions(replace(classifier, precision="fp32").predict_proba(texts))
    pairs = [
        (row, label)
        for row in range(len(texts))
        for label in chosen_labels(target, decided[row], None if right is None else right[row])
    ]
    owners, targets = np.array(pairs, int).reshape(-1, 2).T
    if not len(owners):
        which = "right" if target == "gold" else "predicted"
        raise InputError(
            f"none of {counted(len(texts), 'text')} has a label that is {which}: give the number of a label as target"
        )
    if without := len(texts) - len(np.unique(owners)):
        say(f"{without} of {len(texts)} texts are left out: they have no label that is explained")
    asked = replace(texts, labels=None).take(owners)
    return Asked(asked, owners, targets, [names[number] for number in targets])


@dataclass(frozen=True, eq=False)
class WholeTexts:
    """N texts, or N pairs of texts, in the place of encoded ones, which are windows of them."""

    texts: Texts
    cut: np.ndarray  # (N,) bool, whether something of a text is not read
    spans: Spans
    empty: str = ""  # the text that stands for one of which nothing is left

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> np.ndarray | None:
        return self.texts.labels

    @cached_property
    def words(self) -> Words:
        return Words.of(self.texts, self.spans)

    def take(self, rows: Sequence[int] | np.ndarray) -> WholeTexts:
        return replace(self, texts=self.texts.take(rows), cut=self.cut[np.asarray(rows, int)])

    def keeping(self, kept: np.ndarray, empty: int) -> WholeTexts:
        """The texts with some of their words, as `Encoded.keeping`; of `empty`, a token, `self.empty` is the text."""
        words, columns = self.words, [list[str]() for _ in self.texts.columns]
        for row, own in enumerate(np.split(kept, words.counts.cumsum()[:-1])):
            between = words.second[row]
            parts = [slice(None)] if between is None else [slice(between), slice(between, None)]
            for column, part in zip(columns, parts, strict=True):
                joined = {number - (part.start or 0) for number in words.joined[row]}
                column.append(put_together(words.names[row][part], joined, own[part]))
            if not own.any():
                columns[0][-1] = self.empty
        return replace(self, texts=Texts(columns[0], None if len(columns) == 1 else columns[1]))


def reading_of(classifier: TextClassifier, asked: Asked, rows: np.ndarray | None = None) -> Reading:
    """The texts of explanations as a classifier reads them, which judges them in fp32.

    The words of the texts at `rows`, or of all, are left out one at a time.
    """
    judge = replace(classifier, precision="fp32")
    texts: WholeTexts | Encoded
    if classifier.long == "windows":
        tokenizer = classifier.tokenizer
        nothing = "" if tokenizer.num_special_tokens_to_add() else tokenizer.unk_token or tokenizer.pad_token
        cut = classifier.read(asked.texts).cut_texts
        whole_texts = WholeTexts(asked.texts, cut, judge.word_spans, nothing)
        texts, ask = whole_texts, lambda whole: judge.predict_proba(whole.texts)
    else:
        texts, ask = classifier.encode(asked.texts, words=True), judge.probabilities
    decide = classifier.decisions if classifier.multi_label else None  # else metrics are about the most probable label
    return Reading(texts, ask, classifier.empty_token, rows, asked.targets, decide, asked.owners)


def scores_of(
    classifier: TextClassifier, asked: Asked, reading: Reading, explainer: Callable, pieces: str = "sum"
) -> list[np.ndarray]:
    """The scores of the words (W,) of each text by an explainer, in the precision of the classifier."""
    if isinstance(reading.texts, WholeTexts):
        found = explain_classes(classifier, replace(asked.texts, labels=None), {"": explainer}, asked.targets, pieces)
        return [each.scores[""] for each in found]
    with classifier.computing():
        return explain_words(classifier.model, reading.texts, explainer, asked.targets, pieces)


def measure(
    judging: Reading, explained: Reading, scorings: Sequence[Sequence[np.ndarray]],
    computations: Mapping[str, Callable[[Erasure], np.ndarray]], most: int,
    marked: Sequence[Sequence[int]] | None = None,
) -> list[dict[str, np.ndarray]]:  # fmt: skip
    """What is computed of each scoring of N texts, `WINDOW` texts at a time: values (..., N) by name.

    Everything is computed twice. The first time only tells which erased texts are needed. Each of these is judged
    once, in batches of texts of similar length over all scorings, metrics and numbers of words. What the judge says is
    held for one window at a time: C probabilities for each erased text, of which there are at most about 2 * `most`
    for each text and scoring, and one for each word.

    Args:
        judging, explained: the texts as the judge and as the explained classifier read them; may be the same.
        scorings: the scores of the words (W,) of all texts, by each explainer or sample.
        computations: the `compute` of metrics by name, and other functions of an erasure.
    """

    def of_window(rows: slice) -> list[dict[str, np.ndarray]]:  # a function, whose end frees what the judge has said
        judges = judging.part(rows)
        reads = None if explained is judging else explained.part(rows)
        of_texts = reads, most, None if marked is None else marked[rows]
        erasures = [Erasure(judges, scores[rows], *of_texts) for scores in scorings]
        with judges.together(), (judges if reads is None else reads).together(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is computed here is no result
            for erasure in erasures:
                for compute in computations.values():
                    compute(erasure)
        return [{name: compute(erasure) for name, compute in computations.items()} for erasure in erasures]

    starts = range(0, len(judging), WINDOW)
    slices = (slice(start, min(start + WINDOW, len(judging))) for start in starts)
    what = "texts" if judging.targets is None else "labels of texts"
    judged = tracked(slices, len(judging), JUDGING, what, lambda rows: rows.stop - rows.start)
    windows = [of_window(rows) for rows in judged]
    return [
        {name: np.concatenate([part[name] for part in parts], axis=-1) for name in computations}
        for parts in zip(*windows, strict=True)
    ]


def labelled(texts: TextsLike, labels: Sequence | None, classifier: TextClassifier) -> Texts:
    """The texts with their labels, as `evaluate` takes them; `Texts.labels` is None if no label is known."""
    names = classifier.labels
    given = Texts.of(texts)
    if not len(given):
        raise InputError("there are no texts to evaluate explanations on: give at least one")
    if labels is None:
        if given.labels is None or (given.labels == UNKNOWN).all():
            return replace(given, labels=None)
        shape = (len(given), len(names)) if classifier.multi_label else (len(given),)
        if given.labels.shape != shape:
            raise InputError(f"the labels of the texts are {given.labels.shape}, but this classifier needs {shape}")
        return given
    rows = rows_of(labels, "labels", "labels")
    if len(rows) != len(given):
        raise InputError(f"give a label for each of the {counted(len(given), 'text')}, not {len(rows)}")
    if classifier.multi_label:
        numbers: list = [_indicators(row, place, names) for place, row in enumerate(rows)]
    else:
        numbers = [_number(alone(row), place, names) for place, row in enumerate(rows)]
    return replace(given, labels=np.array(numbers))


def with_marks_read(texts: Texts, classifier: TextClassifier) -> Texts:
    """The texts with `Mark`s in place of what they have in any form. Of several labels, any may be marked."""
    names, found = classifier.labels, []
    for place, (value, *row) in enumerate(zip(texts.marks or [], *texts.columns, strict=True)):
        own = names if classifier.multi_label else [names[texts.known_labels[place]]]
        columns = dict(zip(("text", "text_pair"), row, strict=False))
        try:
            found.append(marks_in(value, columns, own, names, classifier.word_spans))
        except TypeError as error:
            raise InputError(f"marks[{place}]: {error}") from error
    return replace(texts, marks=found)


def _number(label: object, place: int, names: list[str]) -> int:
    if isinstance(label, str | Integral) and str(label) in names:
        return names.index(str(label))
    # A number stands for a place among the classes only if it cannot be meant as a name.
    if is_whole(label) and 0 <= int(str(label)) < len(names) and not any(map(WHOLE_NUMBER.fullmatch, names)):
        return int(str(label))
    raise unknown(f"label in labels[{place}]:", label, names)


def _indicators(labels: object, place: int, names: list[str]) -> list[int]:
    if isinstance(labels, str) or not isinstance(labels, Sequence | np.ndarray):
        raise InputError(f"labels[{place}] is no list of labels, and this classifier is multi-label")
    if isinstance(labels, np.ndarray) and len(labels) == len(names) and set(labels.tolist()) <= {0, 1}:
        return [int(value) for value in labels]
    if not all(isinstance(label, str) for label in labels):
        raise InputError(f"labels[{place}]: give the names of its labels, or an array with 0 or 1 for each of them")
    numbers = [_number(label, place, names) for label in labels]
    return [int(number in numbers) for number in range(len(names))]


def what_is_known(texts: Texts, several: bool = False) -> set[str]:
    """What is known of all texts: "labels", "marks" of words, both or neither.

    Where texts are multi-label, words are marked with any label, and the one label of a text is never known.
    """
    known = set() if texts.marks is None else {"marks"}
    if texts.labels is not None and not texts.labelled.all():
        raise InputError(
            f"texts[{texts.labelled.argmin()}] has no label, but others have one: give all of them a label, or none"
        )
    if several:
        return known
    return set() if texts.labels is None else known | {"labels"}


def check_settings(
    metrics: Mapping[str, Metric], known: set[str], classifier: TextClassifier, judge: TextClassifier | None,
    curves: bool, counts: Mapping[str, int], pieces: str,
) -> None:  # fmt: skip
    """Refuses settings that do not fit together, before anything is computed; `known` is as of `what_is_known`."""
    if not metrics:
        raise InputError("name at least one metric, or leave metrics=None for all that apply")
    for name, metric in metrics.items():
        if classifier.multi_label and metric.one_label is not None:
            raise InputError(f"metric {name} is not available for multi-label texts: {metric.one_label}")
        if metric.needs is not None and metric.needs not in known:
            marks = metric.needs == "marks" and (classifier.multi_label or "labels" in known)
            what = "marked words: give a `Texts` with marks" if marks else "labels"
            raise InputError(f"metric {name} needs {what}")
    if curves and "labels" not in known:
        raise InputError("curves=True: the curves are of accuracy, which needs one label of each text")
    for name, count in counts.items():
        if not COUNT.fits(count):
            raise InputError(f"{name}={count}: give {COUNT.words}")
    check_pieces(pieces)
    marks = any(metric.needs == "marks" for metric in metrics.values())
    if (judge is not None or marks) and "head-tail" in (classifier.long, judge.long if judge is not None else ""):
        what = "marks of words need" if marks else "a judge needs"
        raise InputError(
            f"{what} models that read texts from the beginning, and with --long head-tail the middle is left out"
        )
    if judge is not None and (judge.multi_label, judge.labels) != (classifier.multi_label, classifier.labels):
        raise InputError(
            f"the judge knows the labels {listed(judge.labels)}, but the classifier {listed(classifier.labels)}: they "
            "must be the same, and both give a text one label, or both several"
        )
