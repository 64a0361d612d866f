"""Explainers by metrics: how faithful each explainer is to a classifier, with random scores as the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from salience.explainers.chance import random_words
from salience.explainers.corpus import explain_words
from salience.explainers.explanations import Text, words_of
from salience.faithfulness import METRICS, default_metrics, metrics_named
from salience.faithfulness.accuracy import accuracy_alone, accuracy_without
from salience.faithfulness.detection import detection_by_class, marked_words, mean_detection
from salience.faithfulness.erasure import Erasure, Reading
from salience.faithfulness.evaluation_input import check_settings, functions_named, labelled, what_is_known
from salience.faithfulness.results import Evaluation, Row, row_of
from salience.inference import TextClassifier

DRAWS = 5  # of random scores; their mean is the baseline
LEAVE_ONE_OUT_TEXTS = 200


def evaluate(
    classifier: TextClassifier,
    texts: Sequence[str] | Sequence[tuple[str, str]] | Sequence[Text],
    labels: Sequence[str] | Sequence[int] | None = None,
    *,
    explainers: Sequence[str] | Mapping[str, Callable] = ("gradient",),
    metrics: Sequence[str] | None = None,
    judge: TextClassifier | None = None,
    most: int = 20,
    at: int = 5,
    leave_one_out_texts: int = LEAVE_ONE_OUT_TEXTS,
    pieces: str = "sum",
    curves: bool = False,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Tests explanations: removes the words that an explainer scores highest and asks a judge again.

    Every explainer is applied for the class that the classifier predicts. Random scores are always evaluated too, as
    the row "random": the mean over 5 draws.

    Args:
        classifier: the model that is explained.
        texts: N texts, N pairs of texts, or N `Text`s, which may have labels and marks of words.
        labels: their gold labels, as names or numbers; None takes those of the `Text`s. Without labels, metrics of
            accuracy cannot be computed.
        explainers: names of `salience.EXPLAINERS`, or functions by name.
        metrics: names of `salience.METRICS`, with a number in place of `k`: "accuracy-drop@5". None is all that
            apply, at `at` words.
        judge: the model whose decisions are watched while words are removed; it must know the same labels. None is
            the explained classifier.
        most: the largest number of words removed, for "aopc", "decision-flip" and the curves.
        at: the number of words for metrics that need one, if `metrics` is None; and for marked words.
        leave_one_out_texts: the number of texts, drawn at random, for which "loo-tau" is computed.
        pieces: how token scores are aggregated to a word score, "sum" or "max".
        curves: also compute the judge's accuracy over the number of words; this takes 2 * `most` passes per explainer.
        seed: seeds the random scores and the draw of texts.
        say: is given progress messages.

    Raises:
        InputError: an unknown metric, explainer or label; texts that are none; a metric that needs labels or marks
            where there are none; a judge with other labels.
        ValueError: an explainer does not fit the model.

    Example::

        evaluation = salience.evaluate(classifier, texts, labels, explainers=("gradient", "occlusion"))
        evaluation["gradient"].metrics["comprehensiveness"].mean
    """
    rows = labelled(texts, labels, classifier.labels)
    functions = functions_named(explainers)
    known = what_is_known(rows)
    chosen = default_metrics(at, known) if metrics is None else metrics_named(metrics)
    check_settings(chosen, known, classifier, judge, curves, {"most": most, "at": at}, pieces)

    generator = np.random.default_rng(seed)
    drawn = np.sort(generator.permutation(len(rows))[:leave_one_out_texts]).tolist()
    words = words_of(classifier, rows, pieces)
    explained = Reading(words, classifier.probabilities, classifier.empty_token, drawn)
    judging = explained if judge is None else Reading(words_of(judge, rows), judge.probabilities, judge.empty_token)
    if words.cut.any():
        say(f"{words.cut.sum()} of {len(rows)} texts are longer than the {classifier.max_length} tokens read of each")
    marks = [row.marks or () for row in rows]
    gold = [None if row.label is None else classifier.labels[row.label] for row in rows]
    marked = marked_words(marks, gold) if "marks" in known else None

    def measured(name: str, scores: list[np.ndarray]) -> Row:
        erasure = Erasure(judging, scores, explained, most, marked)
        without, alone = (accuracy_without(erasure), accuracy_alone(erasure)) if curves else (np.zeros(0),) * 2
        values = {metric: chosen[metric].compute(erasure) for metric in sorted(chosen, key=_place)}
        by_class = {} if marked is None else detection_by_class(scores, marks, gold, classifier.labels, at)
        return row_of(name, {metric: values[metric] for metric in chosen}, without, alone, by_class)

    table = []
    for name in [*(name for name in functions if name != "random"), "random"]:
        if name == "random":
            table.append(_mean_row([measured(name, random_words(words.counts, generator)) for _ in range(DRAWS)]))
        else:
            table.append(measured(name, explain_words(classifier.model, words, functions[name])))
        metric, estimate = next(iter(table[-1].metrics.items()))
        say(f"{name}: {metric} {estimate.mean:.3g}")
    return Evaluation(table, chosen)


def _place(name: str) -> int:
    """The place of a metric in the catalogue."""
    return [stem.removesuffix("@k") for stem in METRICS].index(name.partition("@")[0])


def _mean_row(draws: Sequence[Row]) -> Row:
    """The mean over draws of random scores."""
    first = draws[0]
    return row_of(
        first.explainer,
        {metric: np.mean([draw.values[metric] for draw in draws], axis=0) for metric in first.values},
        np.mean([draw.without for draw in draws], axis=0),
        np.mean([draw.alone for draw in draws], axis=0),
        mean_detection([draw.marked for draw in draws]),
    )
