"""Explainers by metrics: how faithful each explainer is to a classifier, with random scores as the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from salience.data.texts import TextsLike
from salience.explainers.chance import random_words
from salience.explainers.named import functions_named
from salience.faithfulness import default_metrics, metrics_named
from salience.faithfulness.detection import detection_by_class, marked_words, mean_detection
from salience.faithfulness.evaluation_input import check_settings, labelled, what_is_known
from salience.faithfulness.explained_labels import asked_of
from salience.faithfulness.measuring import Measured, measure
from salience.faithfulness.results import Evaluation, Row, row_of
from salience.faithfulness.whole_texts import reading_of, scores_of
from salience.inference import TextClassifier
from salience.inference.fitted import classifier_of

DRAWS = 5  # of random scores; their mean is the baseline
LEAVE_ONE_OUT_TEXTS = 200


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
    say: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Tests explanations: removes the words that an explainer scores highest and asks a judge again.

    Every explainer is applied for the class that the classifier predicts. Where a text can have several labels, it is
    applied for each label that is predicted, and the metrics are about the probability of this label by itself and
    about the decision whether it is predicted; there is one value for each text and label, and none for a text without
    a label. Intervals are over texts. Random scores are always evaluated too, as
    the row "random": the mean over 5 draws. Explanations are computed in the precision of the classifier. The judge
    computes in fp32, because metrics are made of small differences of probabilities.

    Args:
        classifier: the model that is explained.
        texts: N texts, N pairs of texts, or a `Texts`, which may have labels and marks of words.
        labels: their gold labels: names, or the numbers of classes where no name is a number. None takes those of the
            `Texts`. Without labels, metrics of accuracy cannot be computed. Where a text can have several: lists of
            names, or 0 and 1 (N, C).
        explainers: names of `salience.EXPLAINERS`, or functions by name.
        metrics: names of `salience.METRICS`, with a number in place of `k`: "accuracy-drop@5". None is all that
            apply, at `at` words.
        judge: the model whose decisions are watched while words are removed; it must know the same labels. None is
            the explained classifier.
        target: where a text can have several labels, those that are explained: "predicted", "gold" (those in
            `labels`), or the number of a label, for this one in every text.
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
            where there are none, or that has no meaning where a text can have several labels; a target where a text
            has one label, or that no text has; a judge with other labels.
        ValueError: an explainer does not fit the model.

    Example::

        evaluation = salience.evaluate(classifier, texts, labels, explainers=("gradient", "occlusion"))
        evaluation["gradient"].metrics["comprehensiveness"].mean
    """
    classifier, judge = classifier_of(classifier), None if judge is None else classifier_of(judge)
    given = labelled(texts, labels, classifier)
    functions, several = functions_named(explainers), classifier.multi_label
    known = what_is_known(given, several)
    chosen = default_metrics(at, known, several) if metrics is None else metrics_named(metrics)
    check_settings(chosen, known, classifier, judge, curves, {"most": most, "at": at}, pieces)

    generator = np.random.default_rng(seed)
    asked = asked_of(classifier, given, target, say)
    drawn = asked.drawn(leave_one_out_texts, generator)

    explained = reading_of(classifier, asked, drawn)
    judging = explained if judge is None else reading_of(judge, asked)
    encoded = explained.texts
    if encoded.cut.any():
        cut = len(np.unique(asked.owners[encoded.cut]))
        say(f"{cut} of {len(given)} texts are longer than the {classifier.max_length} tokens read of each")
    gold, marks = asked.marked_as, asked.texts.marks or []
    marked = marked_words(marks, gold) if "marks" in known else None

    scores = {
        name: scores_of(classifier, asked, explained, explainer, pieces)
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
    groups = asked.owners if several else None
    table = [_row(*of_explainer, groups) for of_explainer in zip(scores, measured, detected, strict=False)]
    table.append(_row("random", Measured.mean(measured[-DRAWS:]), mean_detection(detected[-DRAWS:]), groups))
    for row in table:
        metric, estimate = next(iter(row.metrics.items()))
        say(f"{row.explainer}: {metric} {estimate.mean:.3g}")
    if asked.targets is None:
        return Evaluation(table, chosen)
    return Evaluation(table, chosen, asked.owners, [classifier.labels[number] for number in asked.targets])


def _row(name: str, measured: Measured, by_class: Mapping[str, Mapping[str, float]], groups: np.ndarray | None) -> Row:
    """The row of an explainer."""
    return row_of(name, measured.values, measured.without.mean(1), measured.alone.mean(1), by_class, groups)
