"""What must hold of every metric of the catalogue, and that each equals a slow loop written from its paper."""

from dataclasses import fields
from itertools import permutations

import numpy as np
import pytest
from scripted import EMPTY, CueJudge, texts_of

import families
import reference_faithfulness as reference
import salience
from labelled import FILLER, WORDS, labelled_rows
from salience import METRICS
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers.chance import random_words
from salience.faithfulness import Metric, default_metrics, metrics_named
from salience.faithfulness.erasure import Erasure, Reading

ALL = default_metrics(2, ("labels", "marks"))
MOST = 6
PASSES = {  # of the judge, for one metric alone, over texts of up to 12 words: the whole texts, and erased ones
    "aopc": 1 + MOST, "decision-flip": 1 + MOST, "comprehensiveness": 1 + 4, "sufficiency": 1 + 4,
    "accuracy-drop@2": 1 + 1, "post-hoc-accuracy@2": 1, "loo-tau": 0, "detection@2": 0,
}  # fmt: skip
COUNTS, CUES = [5, 3, 8, 4, 6, 7, 5, 9], [1, 0, 7, 2, 3, 0, 4, 5]


def of_cues(scores, counts=COUNTS, cues=CUES, most=MOST) -> Erasure:
    """Texts of class 1 that have one cue each, which is marked."""
    texts = texts_of(counts, labels=[1] * len(counts))
    return Erasure(Reading(texts, CueJudge(cues), EMPTY), scores, most=most, marked=[[cue] for cue in cues])


def oracle(counts=COUNTS, cues=CUES, sign=1.0) -> list[np.ndarray]:
    """Scores that put the cue first, or last."""
    draw = np.random.default_rng(0)
    return [
        sign * (draw.random(count) + 2 * (np.arange(count) == cue)) for count, cue in zip(counts, cues, strict=True)
    ]


# ---------------------------------------------------------------------------------------------------------- catalogue


def test_the_names_are_those_of_the_field():
    assert set(METRICS) >= {
        "comprehensiveness", "sufficiency", "aopc", "accuracy-drop@k", "post-hoc-accuracy@k", "decision-flip",
        "loo-tau", "detection@k",
    }  # fmt: skip
    assert {field.name for field in fields(Metric)} >= {"compute", "unit", "higher_is_better", "reference"}
    for metric in METRICS.values():
        assert metric.unit and metric.compute.__doc__ and "20" in metric.reference
    assert salience.METRICS is METRICS


def test_a_name_carries_its_number_of_words():
    found = metrics_named(["accuracy-drop@7", "aopc", "post-hoc-accuracy@03"])
    assert list(found) == ["accuracy-drop@7", "aopc", "post-hoc-accuracy@3"]
    assert found["accuracy-drop@7"].compute.keywords == {"k": 7}
    assert found["aopc"] is METRICS["aopc"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("aocp", 'unknown metric "aocp"'),
        ("aocp", 'Did you mean "aopc"'),
        ("comprehensivness", 'Did you mean "comprehensiveness"'),
        ("AOPC@5", 'unknown metric "AOPC@5"'),
        ("aopc@5", 'unknown metric "aopc@5"'),
        ("", 'unknown metric ""'),
        *[(f"accuracy-drop{end}", "such as accuracy-drop@5") for end in
          ("", "@", "@0", "@-1", "@2.5", "@k", "@five", "@²", "@1_0", "@99999999999999999999")],
    ],
)  # fmt: skip
def test_a_name_that_is_none(name, part):
    with pytest.raises(InputError) as raised:
        metrics_named([name])
    assert part in str(raised.value)


def test_what_applies_to_texts_of_which_little_is_known():
    assert "detection@5" not in default_metrics(5, ("labels",))
    assert set(default_metrics(5)) == {"aopc", "decision-flip", "comprehensiveness", "sufficiency", "loo-tau"}
    bare = Erasure(Reading(texts_of([3]), CueJudge([0]), EMPTY), [np.arange(3.0)])
    for name in set(ALL) - set(default_metrics(2)):
        with pytest.raises(ValueError, match=r"needs the (labels|words)"):
            ALL[name].compute(bare)


# ----------------------------------------------------------------------------------------------------------- contract


@pytest.mark.parametrize("name", ALL)
def test_one_value_a_text(name):
    values = ALL[name].compute(of_cues(oracle()))
    assert values.shape == (len(COUNTS),) and values.dtype.kind == "f"
    assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ALL)
def test_the_catalogue_says_which_way_is_better(name):
    """Scores that know the cue are better than random ones, and those better than the reverse."""
    sign = 1 if ALL[name].higher_is_better else -1
    draw = np.random.default_rng(1)
    chance = np.mean([ALL[name].compute(of_cues(random_words(np.array(COUNTS), draw))).mean() for _ in range(50)])
    best, worst = (ALL[name].compute(of_cues(oracle(sign=way))).mean() for way in (1, -1))
    assert sign * best > sign * chance > sign * worst


@pytest.mark.parametrize("name", ALL)
def test_random_scores_have_the_mean_over_all_orders(name):
    """Each order of the words is equally likely."""
    counts, cues, times = [4, 4, 4], [0, 2, 3], 200
    orders = [
        ALL[name].compute(of_cues([np.array(order, float)] * 3, counts, cues, most=3)).mean()
        for order in permutations(range(4))
    ]
    scores = random_words(np.array(counts * times), np.random.default_rng(2))
    random = ALL[name].compute(of_cues(scores, counts * times, cues * times, most=3)).reshape(times, 3).mean(1)
    error = np.std(random) / len(random) ** 0.5
    assert error > 0 and abs(np.mean(random) - np.mean(orders)) < 3 * error


@pytest.mark.parametrize("name", ALL)
def test_only_the_order_of_the_scores_counts(name):
    draw = np.random.default_rng(3)
    scores = random_words(np.array(COUNTS), draw)
    usual = ALL[name].compute(of_cues(scores))
    for change in (lambda values: 1000 * values - 7, np.exp, lambda values: -1 / (values + 1e-9)):
        assert ALL[name].compute(of_cues([change(values) for values in scores])).tolist() == usual.tolist()


@pytest.mark.parametrize("name", ALL)
def test_ties_go_to_the_first_word(name):
    tied = ALL[name].compute(of_cues([np.zeros(count) for count in COUNTS]))
    by_place = ALL[name].compute(of_cues([-np.arange(count, dtype=float) for count in COUNTS]))
    if name == "loo-tau":  # without an order there is no agreement of orders
        assert np.isnan(tied).all()
    else:
        assert tied.tolist() == by_place.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ALL)
def test_texts_of_no_word_and_of_one(name):
    """They have a value or none, and those of the other texts are what they were."""
    texts = texts_of([0, 1, 5], labels=[0, 1, 1])
    scores = [np.zeros(0), np.array([0.5]), np.array([0.1, 0.9, 0.3, 0.2, 0.8])]
    judge = CueJudge([0, 0, 1])
    every = ALL[name].compute(Erasure(Reading(texts, judge, EMPTY), scores, most=3, marked=[[], [0], [1]]))
    last = texts.take([2])
    alone = ALL[name].compute(Erasure(Reading(last, judge, EMPTY), scores[2:], most=3, marked=[[1]]))
    assert every.shape == (3,) and not np.isinf(every).any()
    assert every[2] == alone[0]
    one_word = {
        "aopc": 100 * 0.7 * 3 / 4, "decision-flip": 1, "comprehensiveness": 0.7, "sufficiency": 0,
        "accuracy-drop@2": 100, "post-hoc-accuracy@2": 100, "loo-tau": np.nan, "detection@2": 100,
    }  # fmt: skip
    no_word = {"aopc": 0, "decision-flip": 4, "accuracy-drop@2": 0, "post-hoc-accuracy@2": 100}
    assert every[1] == pytest.approx(one_word[name], nan_ok=True)
    assert every[0] == pytest.approx(no_word.get(name, np.nan), nan_ok=True)


# ---------------------------------------------------------------------------------------------------- the judge's work


@pytest.mark.parametrize("name", ALL)
def test_a_metric_costs_its_own_passes_only(name):
    counts = [12, 5, 9]
    texts, judge, of_explained = texts_of(counts, labels=[1, 1, 1]), CueJudge([1, 2, 3]), CueJudge([1, 2, 3])
    explained = Reading(texts, of_explained, EMPTY)
    scores = random_words(np.array(counts), np.random.default_rng(0))
    erasure = Erasure(Reading(texts, judge, EMPTY), scores, explained, MOST, [[1], [2], [3]])
    ALL[name].compute(erasure)
    assert judge.calls == PASSES[name]
    assert judge.texts <= PASSES[name] * len(counts)
    assert of_explained.calls == (2 if name == "loo-tau" else 0)


def test_all_metrics_cost_no_more_than_the_two_curves():
    counts = [12, 5, 9]
    judge = CueJudge([1, 2, 3])
    scores = random_words(np.array(counts), np.random.default_rng(0))
    texts = texts_of(counts, labels=[1, 1, 1])
    erasure = Erasure(Reading(texts, judge, EMPTY), scores, Reading(texts, CueJudge([0]), EMPTY), MOST, [[1]] * 3)
    erasure.curve_without(), erasure.curve_alone()
    assert judge.calls == 1 + 2 * MOST
    for metric in ALL.values():
        metric.compute(erasure)
    assert judge.calls == 1 + 2 * MOST


# ------------------------------------------------------------------------------------------------------- a real model


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    vocabulary = [*WORDS.values(), " ".join(FILLER)]
    return salience.load(families.save_tiny_model(tmp_path_factory.mktemp("tiny") / "model", vocabulary), device="cpu")


TEXTS = [text for text, _ in labelled_rows(14, seed=6)]
TEXTS += [" ".join(TEXTS[:6]), "goal", "soup xylophonists"]
LABELS = [number % 2 for number in range(len(TEXTS))]
MARKED = [[0] for _ in TEXTS]


def readings(classifier, texts):
    return Reading(classifier.encode(texts, words=True), classifier.probabilities, classifier.empty_token)


def scores_for(texts, seed=5) -> list[np.ndarray]:
    return [np.random.default_rng([seed, len(text)]).normal(size=len(text.split())) for text in texts]


@pytest.mark.parametrize("name", ALL)
def test_texts_of_other_lengths_in_the_batch_change_nothing(name, classifier):
    texts, scores = Texts(TEXTS, labels=LABELS), scores_for(TEXTS)
    together = ALL[name].compute(Erasure(readings(classifier, texts), scores, most=4, marked=MARKED))
    alone = [
        ALL[name].compute(Erasure(readings(classifier, texts.take([row])), [values], most=4, marked=[[0]]))[0]
        for row, values in enumerate(scores)
    ]
    assert together == pytest.approx(np.array(alone), abs=1e-4, nan_ok=True)


@pytest.mark.parametrize("name", ["comprehensiveness", "sufficiency", "aopc", "decision-flip", "loo-tau"])
def test_the_metric_is_the_papers(name, classifier):
    """One call of the classifier for each text and each number of words, on texts that are written anew."""
    scores = scores_for(TEXTS)
    most = (4,) if name in ("aopc", "decision-flip") else ()
    found = METRICS[name].compute(Erasure(readings(classifier, TEXTS), scores, most=4))
    slow = getattr(reference, name.replace("-", "_"))

    def predict(words: list[str]) -> np.ndarray:
        return classifier.predict_proba([" ".join(words)])[0].astype(float)

    expected = [slow(predict, text.split(), values.tolist(), *most) for text, values in
                zip(TEXTS, scores, strict=True)]  # fmt: skip
    assert len(set(expected)) > 3 or name == "decision-flip"
    assert found == pytest.approx(np.array(expected, float), abs=1e-5 if name != "aopc" else 1e-3, nan_ok=True)
