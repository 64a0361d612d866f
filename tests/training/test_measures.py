"""The measure "faithfulness", held against slow loops: one text and one call of the classifier at a time."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import families
import reference_faithfulness as reference
from labelled import labelled_rows
from salience.batch import Batch
from salience.classify import TextClassifier
from salience.data.splitting import drawn
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.faithfulness import METRICS, Metric, metrics_named
from salience.faithfulness.accuracy import mean_accuracy_drop
from salience.faithfulness.evaluation import evaluate
from salience.scores.labels import SEVERAL_LABELS
from salience.training.measures import MEASURES, Faithfulness, check_measured, measures_named
from salience.training.task import check_measures

EXPLAINED = {
    "gradient": EXPLAINERS["gradient"], "gradient-x-input": EXPLAINERS["gradient-x-input"],
    "integrated-gradients": IntegratedGradients(8),
}  # fmt: skip
OVER_K = Metric(mean_accuracy_drop, "percentage points", True, "of VAT", "labels")
AS_VAT = Faithfulness(
    EXPLAINED, metrics_named(["accuracy-drop@2", "post-hoc-accuracy@2", "loo-tau"]) | {"over-k": OVER_K},
    texts=8, most=3, leave_one_out_texts=5,
)  # fmt: skip


@pytest.fixture(scope="module")
def classifier():
    """A tiny BERT whose decisions change with the words."""
    model = families.build("bert", classes=3, vocabulary=300).eval()
    families.spread_out(model, 1.0)
    model.config.id2label = dict(enumerate(("food", "music", "sport")))
    tokenizer = families.tiny_tokenizer([text for text, _ in labelled_rows(60)])
    return TextClassifier(model, tokenizer, 32, "fp32")


@pytest.fixture(scope="module")
def task():
    rows = labelled_rows(12)
    texts = [*(text for text, _ in rows[:-1]), "goal"]  # tau needs two words
    labels = [("food", "music", "sport").index(label) for _, label in rows]
    part = Texts(texts, labels=labels)
    return Task(["food", "music", "sport"], part, Texts([]), part)


def scores_of(classifier, text: str, explainer) -> list[float]:
    """The sum of the scores of each word's tokens, by one pass over one text."""
    encoded = classifier.tokenizer(text)
    words = encoded.word_ids()
    one = Batch(
        torch.tensor([encoded["input_ids"]]), torch.ones(1, len(words), dtype=torch.long),
        torch.tensor([[int(word is not None) for word in words]]),
    )  # fmt: skip
    by_word = [0.0] * len(text.split())
    for word, score in zip(words, explainer(classifier.model, one)[0].tolist(), strict=True):
        if word is not None:
            by_word[word] += score
    return by_word


@cache
def predicted(classifier, words: tuple[str, ...]) -> np.ndarray:
    """The probabilities of one text; of no word, those of [CLS] [SEP]."""
    return classifier.predict_proba([" ".join(words)])[0]


def in_a_loop(classifier, judged, scores, most: int, at: int, tau_texts: int) -> dict[str, float]:
    """Every metric that the tests use, text by text."""

    def predict(words):
        return predicted(classifier, tuple(words))

    found: dict[str, list[float]] = {}
    for number, (text, label) in enumerate(judged):
        words, own = text.split(), scores[number]

        def right(part, label=label):
            return 100.0 * (predict(part).argmax() == label)

        def left(count, words=words, own=own):
            return reference.without(words, reference.top(own, count))

        values = {
            f"accuracy-drop@{at}": right(words) - right(left(at)),
            f"post-hoc-accuracy@{at}": right(reference.only(words, reference.top(own, at))),
            "over-k": sum(right(words) - right(left(count)) for count in range(most + 1)) / (most + 1),
            "loo-tau": reference.loo_tau(predict, words, own) if number < tau_texts else float("nan"),
            "comprehensiveness": reference.comprehensiveness(predict, words, own),
            "sufficiency": reference.sufficiency(predict, words, own),
        }
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {name: float(np.nanmean(values)) for name, values in found.items()}


@pytest.mark.parametrize(
    "measure",
    [AS_VAT, pytest.param(Faithfulness(EXPLAINED, texts=100), marks=pytest.mark.whole)],
    ids=["vat", "eraser"],
)
def test_against_a_slow_loop(measure, classifier, task):
    whole = measure.texts >= len(task.test)
    rows = range(12) if whole else np.random.default_rng(0).permutation(12)[: measure.texts]
    judged = [(task.test.texts[row], int(task.test.labels[row])) for row in rows]
    asked = {"most": measure.most, "at": 2, "tau_texts": measure.leave_one_out_texts}
    if whole:
        asked["tau_texts"] = 2  # it is not among the metrics
    random = np.random.default_rng(7)
    draws = [[random.random(len(text.split())).tolist() for text, _ in judged] for _ in range(5)]
    by_draw = [in_a_loop(classifier, judged, scores, **asked) for scores in draws]
    chance = {name: sum(draw[name] for draw in by_draw) / 5 for name in by_draw[0]}
    found = measure(classifier, task, seed=7)
    assert found["judged"] == len(judged)
    for explainer, function in EXPLAINED.items():
        scores = [scores_of(classifier, text, function) for text, _ in judged]
        expected = in_a_loop(classifier, judged, scores, **asked)
        for name in measure.chosen_metrics:
            column = f"{name}_{explainer}_over_random".replace("-", "_")
            assert found[column] == pytest.approx(expected[name] - chance[name], abs=1e-4), column
            assert found["means"][explainer][name] == pytest.approx(expected[name], abs=1e-4)
            assert found["means"]["random"][name] == pytest.approx(chance[name], abs=1e-4)
    excesses = [found[column] for column in measure.columns]
    assert len(excesses) == 3 * len(measure.chosen_metrics) and len({round(each, 6) for each in excesses}) > 3
    assert {*measure.settings} | {*measure.columns} | {"judged", "means"} == set(found)


def test_numbers_that_are_undefined_are_null(classifier):
    part = Texts(["goal", "song"], labels=[2, 1])
    found = Faithfulness(["gradient"], ["loo-tau"])(classifier, Task(classifier.labels, part, part, part), 0)
    assert found["loo_tau_gradient_over_random"] is None and found["means"]["random"]["loo-tau"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_what_a_comparison_shows():
    columns = MEASURES["faithfulness"].columns
    assert list(columns) == [
        f"{metric}_{explainer}_over_random"
        for metric in ("comprehensiveness", "sufficiency") for explainer in ("gradient", "integrated_gradients")
    ]  # fmt: skip
    found = columns["sufficiency_gradient_over_random"]
    assert (found.title, found.direction, found.scale) == ("sufficiency, gradient", "points, lower is better", 100)
    found = AS_VAT.columns["accuracy_drop@2_gradient_x_input_over_random"]
    assert (found.direction, found.scale) == ("percentage points, higher is better", 1)


def test_of_several_labels_the_right_ones_are_explained(classifier, task):
    """As `evaluate` does for the target "gold", which is held against loops elsewhere."""
    several = replace(classifier, model=deepcopy(classifier.model))
    several.model.config.problem_type = SEVERAL_LABELS.problem_type
    draw = np.random.default_rng(0)
    part = replace(task.test, labels=(draw.random((len(task.test), 3)) < 0.4).astype(int))
    measure = Faithfulness(EXPLAINED, texts=8, most=3, metrics=["comprehensiveness", "sufficiency", "loo-tau"])
    found = measure(several, Task(task.labels, part, Texts([]), part), 0)
    texts = drawn(part, 8, 0)
    expected = evaluate(several, texts, explainers=EXPLAINED, metrics=list(measure.metrics), target="gold", most=3)
    assert found["judged"] == (texts.labels.sum(1) > 0).sum() < 8
    for name in EXPLAINED:
        for metric in measure.metrics:
            assert found["means"][name][metric] == pytest.approx(expected[name].metrics[metric].mean, abs=1e-6)
    check_measures({"faithfulness": measure}, multi_label=True)
    with pytest.raises(InputError, match="--faithfulness is not available for multi-label texts: accuracy-drop"):
        check_measures({"faithfulness": AS_VAT}, multi_label=True)
    check_measures({"faithfulness": AS_VAT}, multi_label=False)


def test_measures_go_to_other_processes():
    """A study's measure, pickled, is the same one."""
    again = pickle.loads(pickle.dumps(AS_VAT))
    assert again.settings == AS_VAT.settings and again.functions == AS_VAT.functions


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"explainers": ["gradeint"]}, 'unknown explainer "gradeint"'),
        ({"metrics": ["aopcc"]}, 'unknown metric "aopcc"'),
        ({"metrics": ["detection@5"]}, "detection@5 needs marked words"),
        ({"metrics": ()}, "at least one explainer and one metric"),
        ({"texts": 0}, "texts=0: give a whole number"),
    ],
)
def test_settings_at_fault_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        Faithfulness(**settings)


def test_measures_by_name():
    assert measures_named(["faithfulness"]) == {"faithfulness": MEASURES["faithfulness"]}
    assert measures_named({"faithfulness": AS_VAT}) == {"faithfulness": AS_VAT}
    with pytest.raises(InputError, match='unknown measure "faith"; known: faithfulness'):
        measures_named(["faith"])
    with pytest.raises(InputError, match="not one string"):
        measures_named("faithfulness")


def test_a_run_that_was_measured_otherwise_is_none():
    kept = {"faithfulness": {**AS_VAT.settings, "judged": 8}}
    check_measured({"faithfulness": AS_VAT}, kept, "run")
    with pytest.raises(InputError, match="run was run without --faithfulness"):
        check_measured(MEASURES, {}, "run")
    with pytest.raises(InputError, match="run was run with faithfulness: texts=8, not 200: choose another --output"):
        check_measured({"faithfulness": Faithfulness(EXPLAINED, AS_VAT.metrics, most=3)}, kept, "run")
    steps = EXPLAINED | {"integrated-gradients": IntegratedGradients(9)}
    with pytest.raises(InputError, match="IntegratedGradients"):
        check_measured({"faithfulness": Faithfulness(steps, AS_VAT.metrics, 8, 3, 5)}, kept, "run")


def test_every_metric_of_the_catalogue_can_be_named():
    names = [name.replace("@k", "@3") for name, metric in METRICS.items() if metric.needs != "marks"]
    assert list(Faithfulness(metrics=names).chosen_metrics) == names
