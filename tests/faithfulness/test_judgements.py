"""How often the judge is asked, against what a slow loop over the metrics' definitions finds necessary."""

import weakref
from math import ceil

import numpy as np
import pytest
from scripted import EMPTY, CueJudge, texts_of

import families
import salience
from displays import Seen
from labelled import FILLER, WORDS, labelled_rows
from salience import METRICS, Metric
from salience.data.texts import Texts
from salience.explainers.chance import random_words
from salience.explainers.explain import explain_texts
from salience.faithfulness import default_metrics
from salience.faithfulness import erasure as reading
from salience.faithfulness import evaluation as measuring
from salience.faithfulness.accuracy import right_alone, right_without
from salience.faithfulness.comprehensiveness import BINS
from salience.faithfulness.erasure import Erasure, Reading
from salience.faithfulness.evaluation import measure
from salience.work import shown

TEXTS = [text for text, _ in labelled_rows(20, seed=6)]
TEXTS += [" ".join(TEXTS[:4]), "goal", "soup xylophonists", ""]
LABELS = [number % 2 for number in range(len(TEXTS))]
MOST, AT, DRAWS, LEFT_OUT = 20, 5, 5, 15
# Explainers that do not call the model, so that all its passes are judgements: ids and their opposite.
EXPLAINERS = {
    "late": lambda model, batch, target: batch.input_ids.float(),
    "early": lambda model, batch, target: -batch.input_ids.float(),
}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    vocabulary = [*WORDS.values(), " ".join(FILLER)]
    return salience.load(families.save_tiny_model(tmp_path_factory.mktemp("tiny") / "model", vocabulary), device="cpu")


def kept_words(scores: np.ndarray, curves: bool, left_out: bool) -> set[frozenset[int]]:
    """The words that are kept in each judgement of one text that the metrics' definitions ask for."""
    words, order = frozenset(range(len(scores))), sorted(range(len(scores)), key=lambda word: (-scores[word], word))
    removed = [order[:number] for number in range(MOST + 1)]  # aopc, decision-flip and the curve
    alone = [order[:AT]]  # post-hoc accuracy
    for percent in BINS:  # comprehensiveness and sufficiency
        removed.append(order[: ceil(percent * len(words) / 100)])
        alone.append(order[: ceil(percent * len(words) / 100)])
    if curves:
        alone += [order[:number] for number in range(1, MOST + 1)]
    if left_out:
        removed += [[word] for word in words]
    return {words, *(words - set(part) for part in removed), *map(frozenset, alone)}


@pytest.mark.parametrize("curves", [False, True])
def test_each_erased_text_is_judged_once_and_with_little_padding(curves, classifier, monkeypatch):
    generator = np.random.default_rng(3)
    left_out = generator.permutation(len(TEXTS))[:LEFT_OUT]
    encoded = classifier.encode(TEXTS, words=True)
    draws = [random_words(encoded.words.counts, generator) for _ in range(DRAWS)]
    judgements, tokens = 0, 0
    for row, explanation in enumerate(explain_texts(classifier, Texts(TEXTS), EXPLAINERS)):
        scorings = [*explanation.scores.values(), *(draw[row] for draw in draws)]
        distinct = set().union(*(kept_words(scores, curves, row in left_out) for scores in scorings))
        asked = [*distinct, range(len(explanation.words))]  # the whole text once more, for the classifier's own scores
        judgements += len(asked)
        sizes = [len(classifier.tokenizer.tokenize(word)) for word in explanation.words]
        tokens += sum(2 + sum(sizes[word] for word in kept) for kept in asked)  # [CLS] and [SEP]

    shown = []
    forward = classifier.model.forward

    def recorded(**inputs):
        shown.append(inputs["attention_mask"])
        return forward(**inputs)

    monkeypatch.setattr(classifier.model, "forward", recorded)
    salience.evaluate(
        classifier, TEXTS, LABELS, explainers=EXPLAINERS, most=MOST, at=AT, curves=curves,
        leave_one_out_texts=LEFT_OUT, seed=3,
    )  # fmt: skip
    assert sum(map(len, shown)) == judgements
    assert sum(int(mask.sum()) for mask in shown) == tokens
    assert sum(mask.numel() for mask in shown) <= 1.1 * tokens


# ------------------------------------------------------------------------------------------------------- all at once

COUNTS, CUES = [12, 5, 9, 1, 0, 30], [1, 2, 3, 0, 0, 20]
ALL = default_metrics(2, ("labels", "marks"))
MARKED = [[0] if count else [] for count in COUNTS]


def scorings_of(number: int) -> list[list[np.ndarray]]:
    generator = np.random.default_rng(0)
    return [random_words(np.array(COUNTS), generator) for _ in range(number)]


def readings() -> tuple[Reading, CueJudge]:
    judge = CueJudge(CUES)
    return Reading(texts_of(COUNTS, labels=[1] * len(COUNTS)), judge, EMPTY, [0, 2, 3, 5]), judge


def computed(metrics) -> dict:
    return {name: metric.compute for name, metric in metrics.items()}


WITH_CURVES = computed(ALL) | {"without": right_without, "alone": right_alone}


def values_of(measured) -> list:
    return [(name, values.tolist()) for of_scoring in measured for name, values in of_scoring.items()]


def measured_alone(metrics=ALL, number=3) -> str:
    """Each metric of each scoring by itself, which is what the judge's own tests look at."""
    found = []
    for scores in scorings_of(number):
        for name, metric in metrics.items():
            found.append((name, metric.compute(Erasure(readings()[0], scores, most=MOST, marked=MARKED)).tolist()))
    return str(found)


def test_all_scorings_and_metrics_share_two_calls():
    whole, judge = readings()
    measured = measure(whole, whole, scorings_of(3), computed(ALL), MOST, MARKED)
    assert judge.calls == 1 + 1  # the whole texts, and all that is left of them
    assert str(values_of(measured)) == measured_alone()


def test_what_is_judged_in_parts_is_the_same(monkeypatch):
    whole, judge = readings()
    usual = values_of(measure(whole, whole, scorings_of(2), WITH_CURVES, MOST, MARKED))
    monkeypatch.setattr(reading, "AT_ONCE", 7)
    other, in_parts = readings()
    assert str(values_of(measure(other, other, scorings_of(2), WITH_CURVES, MOST, MARKED))) == str(usual)
    assert in_parts.texts == judge.texts and in_parts.calls == 1 + ceil((judge.texts - len(COUNTS)) / 7)


@pytest.mark.parametrize("window", [1, 2, 4])
def test_answers_are_held_for_a_window_of_texts(window, monkeypatch):
    whole, _ = readings()
    usual = values_of(measure(whole, whole, scorings_of(2), WITH_CURVES, MOST, MARKED))
    monkeypatch.setattr(measuring, "WINDOW", window)
    parts: list[weakref.ref] = []
    part_of = Reading.part

    def part(self, rows):
        assert not any(old() for old in parts)  # its answers are forgotten
        parts.append(weakref.ref(new := part_of(self, rows)))
        return new

    monkeypatch.setattr(Reading, "part", part)
    seen = Seen()
    with shown(lambda: seen):
        windowed = measure(whole, whole, scorings_of(2), WITH_CURVES, MOST, MARKED)
    for (name, values), (same, expected) in zip(values_of(windowed), usual, strict=True):
        assert name == same and np.allclose(values, expected, rtol=1e-12, atol=0, equal_nan=True)
    assert len(parts) == ceil(len(COUNTS) / window)
    assert seen.moved_to() == {("predicting shortened texts", 6, "texts"): pytest.approx(6)}


def odd_words(erasure: Erasure) -> np.ndarray:
    """Asks the judge for every other word, a question of its own."""
    kept = np.concatenate([np.arange(count) % 2 == 1 for count in erasure.counts])
    return erasure.judge.keeping(kept)[:, 1].astype(float)


def bisected(erasure: Erasure) -> np.ndarray:
    """The smallest number of words that flips the decision, by questions that depend on the answers."""
    predicted, low, high = erasure.judge.whole.argmax(1), np.zeros(len(COUNTS), int), np.array(COUNTS) + 1
    while (low < high).any():
        middle = (low + high) // 2
        flipped = erasure.without(middle).argmax(1) != predicted
        low, high = np.where(flipped | (low == high), low, middle + 1), np.where(flipped, middle, high)
    return low.astype(float)


def test_a_metric_with_questions_of_its_own(monkeypatch):
    whole, judge = readings()
    metrics = {"odd": Metric(odd_words, "probability", True, "mine"), "aopc": METRICS["aopc"]}
    measured = measure(whole, whole, scorings_of(3), computed(metrics), MOST)
    assert judge.calls == 1 + 1
    assert str(values_of(measured)) == measured_alone(metrics)
    cues = [cue % 2 == 1 and cue < count for cue, count in zip(CUES, COUNTS, strict=True)]
    assert [value > 0.5 for value in measured[0]["odd"]] == cues


def test_a_metric_whose_questions_depend_on_the_answers():
    whole, _ = readings()
    metrics = {"bisected": Metric(bisected, "words", False, "mine"), "decision-flip": METRICS["decision-flip"]}
    for of_scoring in measure(whole, whole, scorings_of(3), computed(metrics), max(COUNTS)):
        with_words = np.array(COUNTS) > 0  # no words, no flip
        assert (of_scoring["bisected"] == of_scoring["decision-flip"])[with_words].all()


def test_what_metrics_warn_of_before_the_answers_are_there_is_not_shown(recwarn):
    def per_drop(erasure):
        drop = erasure.judge.whole[:, 1] - erasure.without(30)[:, 1]
        return 1 / np.where(np.array(COUNTS) > 0, drop, 1)

    whole, _ = readings()
    (measured,) = measure(whole, whole, scorings_of(1), {"mine": per_drop}, MOST)
    assert np.isfinite(measured["mine"]).all() and not recwarn.list


def test_an_error_leaves_nothing_noted():
    whole, judge = readings()
    with pytest.raises(RuntimeError, match="stopped"), whole.together():
        assert whole.keeping(np.zeros(sum(COUNTS), bool)).tolist() == whole.whole.tolist()
        raise RuntimeError("stopped")
    assert judge.calls == 1
    assert whole.keeping(np.zeros(sum(COUNTS), bool))[0].argmax() == 0 and judge.calls == 2


def test_a_text_may_be_asked_for_several_times_at_once():
    whole, judge = readings()
    kept = np.array([False] * 5 + [False, False, True, False, False] + [True] * 5 + [False] * 5)
    found = whole.keeping(kept, [1, 1, 1, 1])
    assert found.argmax(1).tolist() == [0, 1, 1, 0] and (judge.calls, judge.texts) == (2, len(COUNTS) + 2)
    assert whole.keeping(np.zeros(0, bool), []).shape == (0, 2)
