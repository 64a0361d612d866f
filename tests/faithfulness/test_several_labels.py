"""`salience.evaluate` where a text can have several labels, beside slow loops: one text, one label, one call."""

import numpy as np
import pytest
import torch
from pandas import DataFrame

import families
import reference_faithfulness as slow
import salience
from labelled import FILLER, WORDS, rows_of_several
from salience.data.texts import UNKNOWN, Texts
from salience.errors import InputError
from salience.faithfulness.results import interval

LABELS = ["food", "music", "sport"]
TEXTS = [text for text, _ in rows_of_several(7, seed=5)]
MOST = 3
NAMES = ["aopc", "decision-flip", "comprehensiveness", "sufficiency", "loo-tau"]
GOLD = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]])


def loaded(folder, seed: int = 0):
    vocabulary = [*WORDS.values(), " ".join(FILLER)]
    classifier = salience.load(families.save_tiny_model(folder, vocabulary, classes=3, seed=seed), device="cpu")
    config = classifier.model.config
    config.id2label, config.problem_type = dict(enumerate(LABELS)), "multi_label_classification"
    # Between the probabilities of the texts, so that labels are predicted for some of them and decisions flip.
    middle = np.median(classifier.predict_proba(TEXTS), axis=0) - 1e-5
    config.label_thresholds = dict(zip(LABELS, middle.tolist(), strict=True))
    return classifier


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return loaded(tmp_path_factory.mktemp("several") / "model")


@pytest.fixture(scope="module")
def evaluation(classifier):
    return salience.evaluate(classifier, TEXTS, explainers=("gradient", "occlusion"), metrics=NAMES, most=MOST)


_asked: dict[tuple[int, str], list[float]] = {}


def logits_of(classifier, text: str) -> list[float]:
    """By the model itself, one text at a time; all labels, metrics and explainers ask about the same texts."""
    key = id(classifier.model), text
    if key not in _asked:
        with torch.no_grad():
            _asked[key] = classifier.model(**classifier.tokenizer(text, return_tensors="pt")).logits[0].tolist()
    return _asked[key]


class OfOneLabel:
    """A label by itself, as a classifier of two classes: the label is predicted, or it is not.

    The probabilities are those of the label and of its absence, moved so that 0.5 is the threshold. They give the
    decision; `label` gives the probability of the label.
    """

    def __init__(self, classifier, number: int):
        self.classifier, self.number = classifier, number

    def label(self, words: list[str]) -> float:
        return 1 / (1 + np.exp(-logits_of(self.classifier, " ".join(words))[self.number]))

    def one_column(self, words: list[str]) -> np.ndarray:
        """For the loops of a predicted class: this class alone, so that it is the most probable one of each text."""
        return np.array([self.label(words)])

    def decision(self, words: list[str]) -> np.ndarray:
        threshold = self.classifier.model.config.label_thresholds[LABELS[self.number]]
        predicted = self.label(words) >= threshold
        return np.array([not predicted, predicted], float)


def expected_of(classifier, text: str, number: int, scores, flips_of=None) -> dict[str, float]:
    """The metrics of a text and a label by the loops of tests/reference_faithfulness.py."""
    words, one = text.split(), OfOneLabel(flips_of or classifier, number)
    return {
        "aopc": slow.aopc(one.one_column, words, scores, MOST),
        "decision-flip": slow.decision_flip(one.decision, words, scores, MOST),
        "comprehensiveness": slow.comprehensiveness(one.one_column, words, scores),
        "sufficiency": slow.sufficiency(one.one_column, words, scores),
        "loo-tau": slow.loo_tau(OfOneLabel(classifier, number).one_column, words, scores),
    }


def explained(classifier, target="predicted") -> dict[tuple[str, int, str], np.ndarray]:
    """The scores of `salience.explain` by explainer, text and label."""
    found = salience.explain(classifier, Texts(TEXTS, labels=GOLD, rows=list(range(len(TEXTS)))),
                             ("gradient", "occlusion"), target)  # fmt: skip
    return {(name, each.row, LABELS[each.target]): scores for each in found for name, scores in each.scores.items()}


def checked(evaluation, classifier, target="predicted", judge=None) -> int:
    """Compares every value with the loops; how many decisions flipped."""
    scores, flipped = explained(classifier, target), 0
    for name in ("gradient", "occlusion"):
        for place, (text, label) in enumerate(zip(evaluation.texts, evaluation.targets, strict=True)):
            expected = expected_of(classifier, TEXTS[text], LABELS.index(label), scores[name, text, label], judge)
            for metric, value in expected.items():
                found = evaluation[name].values[metric][place]
                assert found == pytest.approx(value, abs=2e-4, nan_ok=True), (name, TEXTS[text], label, metric)
            flipped += expected["decision-flip"] <= MOST
    return flipped


def test_each_predicted_label_has_a_value_by_the_loops(evaluation, classifier):
    decided = [(row, label) for row, labels in enumerate(classifier.predict(TEXTS)) for label in labels]
    assert list(zip(evaluation.texts.tolist(), evaluation.targets, strict=True)) == decided
    several = {row for row, _ in decided}
    assert len(several) < len(decided)  # some texts have two
    assert 0 < checked(evaluation, classifier) < 2 * len(decided)


@pytest.mark.parametrize(("target", "pairs"), [
    ("gold", [(int(row), LABELS[label]) for row, label in np.argwhere(GOLD)]),
    pytest.param(1, [(row, "music") for row in range(7)], marks=pytest.mark.whole),
])  # fmt: skip
def test_other_targets(target, pairs, classifier):
    """A label that is not predicted flips when it becomes predicted. And the judge may be another classifier."""
    found = salience.evaluate(classifier, TEXTS, GOLD, explainers=("gradient", "occlusion"), metrics=NAMES,
                              target=target, most=MOST)  # fmt: skip
    assert list(zip(found.texts.tolist(), found.targets, strict=True)) == pairs
    assert checked(found, classifier, target) > 0
    named = [[LABELS[number] for number in np.flatnonzero(row)] for row in GOLD]
    again = salience.evaluate(classifier, TEXTS, named, metrics=NAMES, target=target, most=MOST)
    table = salience.evaluate(classifier, TEXTS, DataFrame(GOLD, columns=LABELS), metrics=["aopc"], most=1)
    right = [named[row] == labels for row, labels in enumerate(classifier.predict(TEXTS))]
    assert found.scores["subset_accuracy_at_thresholds"] == np.mean(right)
    assert table.scores == found.scores == again.scores
    assert again["gradient"].values["aopc"].tolist() == pytest.approx(
        found["gradient"].values["aopc"].tolist(), abs=1e-4
    )


def test_a_judge_decides_by_its_own_thresholds(classifier, tmp_path):
    judge = loaded(tmp_path / "judge", seed=4)
    found = salience.evaluate(classifier, TEXTS, explainers=("gradient", "occlusion"), metrics=NAMES, judge=judge,
                              most=MOST)  # fmt: skip
    checked(found, classifier, judge=judge)
    own = salience.evaluate(classifier, TEXTS, metrics=["aopc"], most=MOST)
    assert own["gradient"].values["aopc"].tolist() != found["gradient"].values["aopc"].tolist()


def test_a_text_is_asked_about_once_for_all_of_its_labels(classifier, monkeypatch):
    asked, judge = [], type(classifier).probabilities

    def counted(self, encoded):
        asked.extend(tuple(encoded[row]["input_ids"].tolist()) for row in range(len(encoded)))
        return judge(self, encoded)

    monkeypatch.setattr(type(classifier), "probabilities", counted)
    names = {LABELS[number] for number in range(3)}
    texts = ["goal the song", "a soup"]
    labels = np.ones((2, 3), int)
    found = salience.evaluate(classifier, texts, labels, explainers=[], metrics=["loo-tau"], target="gold")
    assert len(found.targets) == 6 and set(found.targets) == names
    whole_and_parts = 2 + 3 + 2
    assert len(asked) - 4 == whole_and_parts  # two more for the decisions about the whole texts, two for their scores


def test_intervals_are_over_texts(evaluation):
    values = evaluation["gradient"].values["aopc"]
    expected = interval(values, groups=evaluation.texts)
    assert evaluation["gradient"].metrics["aopc"][1:] == expected
    # A slow bootstrap: texts are drawn, each with all of its values.
    random, means = np.random.default_rng(0), []
    texts = sorted(set(evaluation.texts.tolist()))
    drawn = random.integers(len(texts), size=(2000, len(texts)))
    for draw in drawn:
        own = [value for text in draw for value, of in zip(values, evaluation.texts, strict=True) if of == texts[text]]
        means.append(np.mean(own))
    assert expected == pytest.approx(np.quantile(means, [0.025, 0.975]))
    assert interval(np.repeat(values, 2), groups=np.arange(len(values)).repeat(2)) == pytest.approx(interval(values))


def test_rows_of_values(evaluation):
    rows = evaluation.to_value_rows()
    assert len(rows) == 3 * len(evaluation.targets)
    assert rows[0] == {
        "explainer": "gradient", "text": evaluation.texts[0], "label": evaluation.targets[0],
        **{name: pytest.approx(evaluation["gradient"].values[name][0], nan_ok=True) for name in NAMES},
    }  # fmt: skip


def test_words_are_marked_with_the_label_that_is_explained(classifier):
    marks = [[next((label for label, of in WORDS.items() if word in of.split()), "-") for word in text.split()]
             for text in TEXTS]  # fmt: skip
    found = salience.evaluate(classifier, Texts(TEXTS, marks=marks), explainers=("gradient",), target=2, at=2, most=1)
    assert list(found.metrics) == [
        "aopc",
        "decision-flip",
        "comprehensiveness",
        "sufficiency",
        "loo-tau",
        "detection@2",
    ]
    scores = explained(classifier, 2)
    for row, value in enumerate(found["gradient"].values["detection@2"]):
        right = [place for place, mark in enumerate(marks[row]) if mark == "sport"]
        top = slow.top(scores["gradient", row, "sport"], 2)
        hits = len(top & set(right))
        expected = 200 * hits / (len(top) + len(right)) if right else np.nan
        assert value == pytest.approx(expected, nan_ok=True)


def test_a_mark_with_the_name_of_a_label_counts_for_it_and_one_without_a_name_for_all(classifier):
    text, marks = "a song of a cup", [[[2, 6, "music"], [12, 15, "sport"], [7, 9]]]
    for target, own in ((1, {1, 2}), (2, {4, 2}), (0, {2})):
        found = salience.evaluate(
            classifier, Texts([text], marks=marks), metrics=["detection@2"], target=target, most=1
        )
        (explanation,) = salience.explain(classifier, [text], ["gradient"], target=target)
        hits = len(slow.top(explanation.scores["gradient"], 2) & own)
        assert found["gradient"].values["detection@2"].tolist() == pytest.approx([200 * hits / (2 + len(own))])


@pytest.mark.parametrize(
    ("given", "settings", "part"),
    [
        ((TEXTS, GOLD), {"metrics": ["accuracy-drop@2"]},
         "metric accuracy-drop@2 is not available for multi-label texts: it counts texts whose one"),
        ((TEXTS, GOLD), {"metrics": ["post-hoc-accuracy@1"]}, "post-hoc-accuracy@1 is not available for multi-label"),
        ((TEXTS, GOLD), {"curves": True}, "curves=True: the curves are of accuracy"),
        ((TEXTS,), {"metrics": ["detection@2"]}, "metric detection@2 needs marked words"),
        ((TEXTS,), {"target": "gold"}, "the target gold needs the labels"),
        ((TEXTS,), {"target": "golden"}, 'unknown target "golden"'),
        ((TEXTS,), {"target": 3}, 'unknown target "3"'),
        ((TEXTS, GOLD * 0), {"target": "gold"}, "none of 7 texts has a label that is right"),
        ((TEXTS, ["food"] * 7), {}, "labels[0] is no list of labels"),
        ((TEXTS, [["fod"]] * 7), {}, 'unknown label in labels[0]: "fod"'),
        ((TEXTS, [[1]] * 7), {}, "labels[0]: give the names of its labels"),
        ((Texts(TEXTS, labels=[1] * 7),), {}, "this classifier needs (7, 3)"),
        ((Texts(TEXTS, labels=[[1, 0, 0]] * 6 + [[UNKNOWN] * 3]),), {}, "texts[6] has no label"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_refusals(given, settings, part, classifier):
    with pytest.raises(InputError) as caught:
        salience.evaluate(classifier, *given, most=1, **settings)
    assert part in str(caught.value)


def test_what_needs_a_classifier_of_several_labels(classifier, tmp_path):
    one = salience.load(families.save_tiny_model(tmp_path / "one", TEXTS, classes=3), device="cpu")
    with pytest.raises(InputError, match="a target is for multi-label texts only"):
        salience.evaluate(one, TEXTS, target="gold")
    with pytest.raises(InputError, match=r"this classifier needs \(7,\)"):
        salience.evaluate(one, Texts(TEXTS, labels=GOLD))
    one.model.config.id2label = dict(enumerate(LABELS))
    with pytest.raises(InputError, match="both give a text one label, or both several"):
        salience.evaluate(classifier, TEXTS, judge=one)


def test_texts_without_a_label_are_left_out_and_counted(classifier):
    told = []
    found = salience.evaluate(classifier, TEXTS, GOLD, metrics=["aopc"], target="gold", most=1, say=told.append)
    assert "1 of 7 texts are left out: they have no label that is explained" in told
    assert 2 not in found.texts
