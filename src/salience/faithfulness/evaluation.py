"""Explainers by metrics: how faithful each explainer is to a classifier, with random scores as the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from salience.data.texts import TextsLike
from salience.explainers.chance import random_words
from salience.explainers.corpus import explain_words
from salience.faithfulness import default_metrics, metrics_named
from salience.faithfulness.detection import detection_by_class, marked_words, mean_detection
from salience.faithfulness.evaluation_input import check_settings, functions_named, labelled, what_is_known
from salience.faithfulness.measuring import Measured, measure
from salience.faithfulness.reading import Reading
from salience.faithfulness.results import Evaluation, Row, row_of
from salience.inference import TextClassifier
from salience.inference.classifier import with_one_label

DRAWS = 5  # of random scores; their mean is the baseline
LEAVE_ONE_OUT_TEXTS = 200


def evaluate(
    classifier: TextClassifier,
    texts: TextsLike,
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
    the row "random": the mean over 5 draws. Explanations are computed in the precision of the classifier. The judge
    computes in fp32, because metrics are made of small differences of probabilities.

    Args:
        classifier: the model that is explained.
        texts: N texts, N pairs of texts, or a `Texts`, which may have labels and marks of words.
        labels: their gold labels, as names or numbers; None takes those of the `Texts`. Without labels, metrics of
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
        curves: also compute the judge's accuracy over the number of words; this takes up to 2 * `most` passes per text
            and explainer.
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
    given = labelled(texts, labels, classifier.labels)
    functions = functions_named(explainers)
    for each in (classifier, judge or classifier):
        with_one_label(each, "a test of explanations")
    known = what_is_known(given)
    chosen = default_metrics(at, known) if metrics is None else metrics_named(metrics)
    check_settings(chosen, known, classifier, judge, curves, {"most": most, "at": at}, pieces)

    generator = np.random.default_rng(seed)
    drawn = np.sort(generator.permutation(len(given))[:leave_one_out_texts])
    encoded = classifier.encode(given, words=True)
    exact = replace(classifier, precision="fp32")
    explained = Reading(encoded, exact.probabilities, classifier.empty_token, drawn)
    judging = (
        explained
        if judge is None
        else Reading(
            judge.encode(given, words=True), replace(judge, precision="fp32").probabilities, judge.empty_token
        )
    )
    if encoded.cut.any():
        longest = classifier.max_length
        say(f"{encoded.cut.sum()} of {len(given)} texts are longer than the {longest} tokens read of each")
    gold = [] if given.labels is None else [classifier.labels[number] for number in given.labels]
    marks = given.marks or []
    marked = marked_words(marks, gold) if "marks" in known else None

    with classifier.computing():
        scores = {
            name: explain_words(classifier.model, encoded, explainer, pieces=pieces)
            for name, explainer in functions.items()
            if name != "random"
        }
    draws = [random_words(encoded.words.counts, generator) for _ in range(DRAWS)]
    scorings = [*scores.values(), *draws]
    measured = measure(judging, explained, scorings, chosen, most, marked, curves, say)
    detected: list[dict[str, dict[str, float]]] = [
        {} if marked is None else detection_by_class(of_words, marks, gold, classifier.labels, at)
        for of_words in scorings
    ]
    table = [_row(*of_explainer) for of_explainer in zip(scores, measured, detected, strict=False)]
    table.append(_row("random", Measured.mean(measured[-DRAWS:]), mean_detection(detected[-DRAWS:])))
    for row in table:
        metric, estimate = next(iter(row.metrics.items()))
        say(f"{row.explainer}: {metric} {estimate.mean:.3g}")
    return Evaluation(table, chosen)


def _row(name: str, measured: Measured, by_class: Mapping[str, Mapping[str, float]]) -> Row:
    """The row of an explainer."""
    return row_of(name, measured.values, measured.without.mean(1), measured.alone.mean(1), by_class)
