"""`salience.evaluate`, as a notebook calls it: what it takes, what it gives, and what it refuses."""

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from pandas import DataFrame
from scipy.stats import binomtest
from sklearn.metrics import f1_score

import families
import long_readers
import salience
from labelled import FILLER, WORDS, labelled_rows
from salience import METRICS, Metric
from salience.data.texts import UNKNOWN, Texts
from salience.errors import InputError
from salience.explainers.chance import random_words
from salience.faithfulness.erasure import Erasure, Reading
from salience.faithfulness.evaluation import labelled
from salience.faithfulness.results import interval, mean_of

ROWS = labelled_rows(12, seed=6)
TEXTS, NAMES = [text for text, _ in ROWS], [f"LABEL_{int(label == 'sport')}" for _, label in ROWS]
NUMBERS = [int(name[-1]) for name in NAMES]
SMALL = {"most": 3, "at": 2}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    vocabulary = [*WORDS.values(), " ".join(FILLER)]
    return salience.load(families.save_tiny_model(tmp_path_factory.mktemp("tiny") / "model", vocabulary), device="cpu")


def test_five_lines_of_a_notebook(classifier):
    evaluation = salience.evaluate(
        classifier, TEXTS, NAMES, explainers=("gradient", "occlusion"), metrics=("comprehensiveness", "sufficiency")
    )
    assert [row.explainer for row in evaluation.rows] == ["gradient", "occlusion", "random"]
    estimate = evaluation["occlusion"].metrics["comprehensiveness"]
    values = evaluation["occlusion"].values["comprehensiveness"]
    assert estimate.mean == pytest.approx(values.mean()) and estimate.low < estimate.mean < estimate.high
    assert (estimate.mean, *estimate[1:]) == (mean_of(values), *interval(values))
    assert isinstance(evaluation, salience.Evaluation)


def values_of(evaluation) -> dict:
    return {(row.explainer, name): values.tolist() for row in evaluation.rows for name, values in row.values.items()}


def test_labels_are_names_or_numbers_or_those_of_the_texts(classifier):
    texts = Texts(TEXTS, labels=NUMBERS)
    found = [
        values_of(salience.evaluate(classifier, *given, **SMALL))
        for given in ((TEXTS, NAMES), (TEXTS, np.array(NUMBERS)), (texts,), (tuple(TEXTS), tuple(NUMBERS)))
    ]
    assert str(found[0]) == str(found[1]) == str(found[2]) == str(found[3])
    others = values_of(salience.evaluate(classifier, texts, [1 - number for number in NUMBERS], **SMALL))
    assert others["gradient", "post-hoc-accuracy@2"] != found[0]["gradient", "post-hoc-accuracy@2"]


def test_without_labels_the_metrics_of_accuracy_are_left_out(classifier):
    evaluation = salience.evaluate(classifier, TEXTS, **SMALL)
    assert list(evaluation.metrics) == ["aopc", "decision-flip", "comprehensiveness", "sufficiency", "loo-tau"]
    assert all(len(row.without) == len(row.alone) == 0 and not row.marked for row in evaluation.rows)


def test_texts_and_labels_of_a_table(classifier):
    table = DataFrame({"text": TEXTS, "label": NAMES}, index=[7] * len(TEXTS))
    found = [
        values_of(salience.evaluate(classifier, *given, metrics=["post-hoc-accuracy@1"]))
        for given in ((table["text"], table["label"]), (table[["text"]], table[["label"]]), (TEXTS, NAMES))
    ]
    assert found[0] == found[1] == found[2]


def test_with_labels_it_says_how_good_the_classifier_is(classifier):
    evaluation = salience.evaluate(classifier, TEXTS, NAMES, metrics=["sufficiency"])
    right = [name == found for name, found in zip(NAMES, classifier.predict(TEXTS), strict=True)]
    interval = binomtest(sum(right), len(right)).proportion_ci(method="wilson")
    assert evaluation.scores["accuracy"] == np.mean(right)
    assert evaluation.scores["accuracy_interval"] == pytest.approx([interval.low, interval.high])
    line = f"the classifier on these texts: accuracy {np.mean(right):.3f} [{interval.low:.3f}, {interval.high:.3f}], "
    first, head, _ = str(evaluation).splitlines()
    assert first.startswith(line) and head.startswith("metric")
    assert line in Cells(evaluation._repr_html_()).text
    assert salience.evaluate(classifier, TEXTS, metrics=["sufficiency"]).scores is None


def test_pairs(classifier):
    pairs = list(zip(TEXTS[:6], TEXTS[6:], strict=True))
    evaluation = salience.evaluate(classifier, pairs, NAMES[:6], metrics=["aopc"], most=2)
    assert np.isfinite(evaluation["gradient"].values["aopc"]).all()
    alone = salience.evaluate(classifier, TEXTS[:6], NAMES[:6], metrics=["aopc"], most=2)
    assert values_of(evaluation) != values_of(alone)


def test_values_do_not_depend_on_which_other_metrics_are_asked_for(classifier):
    every = salience.evaluate(classifier, TEXTS, NAMES, curves=True, **SMALL)
    for name in every.metrics:
        alone = salience.evaluate(classifier, TEXTS, NAMES, metrics=[name], **SMALL)
        for row in alone.rows:
            expected = every[row.explainer].values[name]
            assert row.values[name] == pytest.approx(expected, abs=1e-4, nan_ok=True), (row.explainer, name)


def test_random_is_the_mean_of_five_draws_and_follows_the_seed(classifier):
    one, same, other = (
        salience.evaluate(classifier, TEXTS, metrics=["aopc", "loo-tau"], most=2, seed=seed)["random"].values
        for seed in (1, 1, 2)
    )
    for name in ("aopc", "loo-tau"):
        assert one[name].tolist() == same[name].tolist() != other[name].tolist()
    generator = np.random.default_rng(1)
    generator.permutation(len(TEXTS))  # of the texts of leave-one-out
    encoded = classifier.encode(TEXTS, words=True)
    reading = Reading(encoded, classifier.probabilities, classifier.empty_token)
    draws = [Erasure(reading, random_words(encoded.words.counts, generator), most=2) for _ in range(5)]
    expected = np.mean([METRICS["aopc"].compute(erasure) for erasure in draws], axis=0)
    # Other texts share the batches, which changes percentage points by rounding.
    assert one["aopc"] == pytest.approx(expected, abs=1e-4)


def test_marked_words(classifier):
    marks = [
        [name if word in WORDS["sport"].split() else "-" for word in text.split()]
        for text, name in zip(TEXTS, NAMES, strict=True)
    ]
    marked = Texts(TEXTS, labels=NUMBERS, marks=marks)
    evaluation = salience.evaluate(classifier, marked, explainers=[], **SMALL)
    assert list(evaluation.metrics)[-1] == "detection@2"
    values = evaluation["random"].values["detection@2"]
    assert np.isnan(values).tolist() == [name == "LABEL_0" for name in NAMES]
    assert list(evaluation["random"].marked) == ["LABEL_1"]
    assert evaluation["random"].marked["LABEL_1"]["F1@2"] == pytest.approx(np.nanmean(values))


def agreement(classifier, texts, gold: list[list[int]]) -> list[float]:
    """F1 of the two highest words of each text against the words `gold`, in percent, by scikit-learn."""
    found = []
    for explanation, own in zip(salience.explain(classifier, texts, ["gradient"]), gold, strict=True):
        scores = explanation.scores["gradient"]
        top = np.isin(np.arange(len(scores)), np.argsort(-scores, kind="stable")[:2])
        found.append(100 * f1_score(np.isin(np.arange(len(scores)), own), top))
    return found


def test_spans_of_characters_are_the_words_that_they_have_a_character_of(classifier):
    """As marks by word: with a name, with that of the other label, in objects, and where the name is no label."""
    texts, labels = ["a dull, slow film", "a song of a cup"], ["LABEL_0", "LABEL_1"]
    spans = [[[2, 9], [13, 17, "LABEL_1"]], [{"start": 3, "end": 5}, {"start": 12, "end": 15, "label": "reason"}]]
    by_word = ["0 1 1 0", ["", "LABEL_1", "", "", "LABEL_1"]]
    expected = agreement(classifier, texts, [[1, 2], [1, 4]])
    for marks in (spans, by_word):
        given = Texts(texts, marks=marks)
        found = salience.evaluate(classifier, given, labels, metrics=["detection@2"], **SMALL)["gradient"]
        assert found.values["detection@2"] == pytest.approx(expected)
        assert {name: values["F1@2"] for name, values in found.marked.items()} == pytest.approx(
            dict(zip(labels, expected, strict=True))
        )


def test_marks_of_pairs_are_in_both_texts(classifier):
    pairs = [("a song of a cup", "a dull, slow film"), ("a cup", "a song")]
    spans = [{"text": [[2, 6]], "text_pair": [[8, 12]]}, {"text_pair": [[2, 6]]}]
    expected = agreement(classifier, pairs, [[1, 7], [3]])
    for marks in (spans, ["0 1 0 0 0 0 0 1 0", "0 0 0 1"]):
        given = Texts(*map(list, zip(*pairs, strict=True)), labels=[0, 1], marks=marks)
        found = salience.evaluate(classifier, given, metrics=["detection@2"], most=2)["gradient"]
        assert found.values["detection@2"] == pytest.approx(expected)


def test_marks_that_do_not_fit_are_refused(classifier):
    for value, message in (
        ("0 1", "2 marks, but the text has 1 word"),
        ([[2, 9]], r"the span \[2, 9\] is outside of the text"),
    ):
        with pytest.raises(InputError, match=rf"marks\[1\]: {message}"):
            salience.evaluate(classifier, Texts(["a", "goal"], labels=[0, 1], marks=[[], value]))


def test_a_judge_of_its_own(classifier, tmp_path):
    judge = salience.load(families.save_tiny_model(tmp_path / "judge", [*WORDS.values()], seed=3), device="cpu")
    evaluation = salience.evaluate(classifier, TEXTS, NAMES, judge=judge, curves=True, **SMALL)
    right = np.mean([name == found for name, found in zip(NAMES, judge.predict(TEXTS), strict=True)])
    assert evaluation["gradient"].without[0] == evaluation["random"].alone[0] == right


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)

    def handle_data(self, data):
        self.text += f" {data}"


def test_it_shows_itself(classifier):
    evaluation = salience.evaluate(
        classifier,
        TEXTS,
        explainers={"<b>mine</b>": salience.EXPLAINERS["gradient"]},
        metrics=["loo-tau", "sufficiency"],
    )
    head, *lines = str(evaluation).splitlines()
    assert head.split() == ["metric", "<b>mine</b>", "random", "unit", "better"]
    assert lines[1].startswith("sufficiency") and lines[1].split()[-2:] == ["probability", "lower"]
    assert f"{evaluation['random'].metrics['sufficiency'].mean:.3g} [" in lines[1]
    page = Cells(evaluation._repr_html_())
    assert "b" not in page.elements and page.elements.count("td") == 4
    assert "<b>mine</b>" in page.text and "probability, lower is better" in page.text
    with pytest.raises(InputError, match='unknown explainer "gradient"'):
        evaluation["gradient"]


def test_plain_rows(classifier):
    evaluation = salience.evaluate(classifier, TEXTS, metrics=["sufficiency", "aopc"], most=2)
    rows = evaluation.to_rows()
    assert [(row["explainer"], row["metric"]) for row in rows] == [
        ("gradient", "sufficiency"), ("gradient", "aopc"), ("random", "sufficiency"), ("random", "aopc"),
    ]  # fmt: skip
    assert rows[0] == {
        "explainer": "gradient", "metric": "sufficiency", **evaluation["gradient"].metrics["sufficiency"]._asdict(),
        "unit": "probability", "higher_is_better": False,
    }  # fmt: skip


def test_what_is_undefined_for_every_text_is_a_dash(classifier):
    evaluation = salience.evaluate(classifier, ["goal", "song"], metrics=["loo-tau"])
    assert np.isnan(evaluation["gradient"].metrics["loo-tau"]).all()
    assert str(evaluation).splitlines()[1].split()[:3] == ["loo-tau", "-", "-"]


def test_a_metric_of_ones_own(classifier, monkeypatch):
    """One line in the catalogue."""
    monkeypatch.setitem(METRICS, "words", Metric(lambda erasure: erasure.counts.astype(float), "words", True, "mine"))
    evaluation = salience.evaluate(classifier, TEXTS, metrics=["words"])
    assert evaluation["gradient"].values["words"].tolist() == [len(text.split()) for text in TEXTS]
    assert "words" in salience.evaluate(classifier, TEXTS[:2], most=1).metrics


@pytest.mark.parametrize(
    ("given", "settings", "part"),
    [
        ((["goal"],), {"metrics": ["aocp"]}, 'Did you mean "aopc"'),
        ((["goal"],), {"metrics": []}, "name at least one metric"),
        ((["goal"],), {"metrics": ["accuracy-drop@2"]}, "metric accuracy-drop@2 needs labels"),
        ((["goal"], ["LABEL_1"]), {"metrics": ["detection@2"]}, "metric detection@2 needs marked words"),
        ((Texts(["goal"], marks=[["LABEL_1"]]),), {"metrics": ["detection@2"]}, "metric detection@2 needs labels"),
        ((["goal"],), {"curves": True}, "curves=True: the curves are of accuracy"),
        ((["goal"],), {"explainers": ["gradiant"]}, 'Did you mean "gradient"'),
        ((["goal"],), {"explainers": "gradient"}, "not one string"),
        ((["goal"],), {"metrics": "aopc"}, "not one string"),
        ((["goal"],), {"pieces": "mean"}, 'unknown pieces "mean"'),
        ((["goal"],), {"most": 0}, "most=0: give a whole number from 1 to 1,000,000"),
        ((["goal"],), {"at": 2.5}, "at=2.5: give a whole number from 1 to 1,000,000"),
        ((["goal"], ["LABEL_9"]), {}, 'unknown label in labels[0]: "LABEL_9"'),
        ((["goal", "song"], [0, 2]), {}, 'unknown label in labels[1]: "2"'),
        ((["goal", "song"], [0, True]), {}, 'unknown label in labels[1]: "True"'),
        ((["goal"], [0, 1]), {}, "a label for each of the 1 text, not 2"),
        ((Texts(["goal", "song"], labels=[1, UNKNOWN]),), {}, "texts[1] has no label"),
        (([],), {}, "no texts"),
        (("goal",), {}, "give a sequence of texts"),
        ((["goal", ("song", "band")],), {}, "texts[1] is tuple of shape (2,), not a text"),
        ((["goal"], {"LABEL_1"}), {}, "labels is set; give a sequence of labels"),
    ],
)  # fmt: skip
def test_bad_input_is_named(given, settings, part, classifier):
    with pytest.raises(InputError) as raised:
        salience.evaluate(classifier, *given, **settings)
    assert part in str(raised.value)


def test_labels_that_are_numbers_are_names_first(tmp_path):
    """A number stands for a class by its place only where no class has a number as its name."""
    model = families.save_tiny_model(tmp_path / "numbered", [*WORDS.values()], classes=3)
    classifier = salience.load(model, device="cpu")
    assert labelled(["a", "b"], [2, np.int64(0)], classifier).known_labels.tolist() == [2, 0]
    for number in range(3):
        classifier.model.config.id2label[number] = str(number + 1)
    assert classifier.labels == ["1", "2", "3"]
    assert labelled(["a", "b", "c"], [3, "1", np.int64(2)], classifier).known_labels.tolist() == [2, 0, 1]
    with pytest.raises(InputError, match=r'unknown label in labels\[0\]: "0"; known: 1, 2, 3'):
        labelled(["a"], [0], classifier)


def test_models_that_leave_out_the_middle_of_texts(classifier):
    """Words after the gap have other places than in the whole text, so that neither marks nor a judge's words fit."""
    both = long_readers.classifier("head-tail"), long_readers.classifier("windows")
    for one, judge in (both, both[::-1]):
        with pytest.raises(InputError, match="a judge needs models that read texts from the beginning"):
            salience.evaluate(one, ["a film"], judge=judge)
    marked = Texts(["a film"], labels=[1], marks=[["", "LABEL_1"]])
    with pytest.raises(InputError, match="marks of words need models that read texts from the beginning"):
        salience.evaluate(both[0], marked)
    assert salience.evaluate(both[1], marked, metrics=["detection@1"], most=1)
    assert salience.evaluate(both[0], ["a film"], metrics=["aopc"], most=1)


def test_a_judge_with_other_labels(classifier, tmp_path):
    model = families.save_tiny_model(tmp_path / "three", [*WORDS.values()], classes=3)
    with pytest.raises(InputError, match="the judge knows the labels LABEL_0, LABEL_1, LABEL_2, but the classifier"):
        salience.evaluate(classifier, TEXTS, judge=salience.load(model, device="cpu"))


def test_texts_that_are_cut_are_said(classifier):
    told = []
    salience.evaluate(replace(classifier, max_length=5), TEXTS, metrics=["aopc"], most=1, say=told.append)
    cut = sum(len(text.split()) > 3 for text in TEXTS)
    assert told[0] == f"{cut} of 12 texts are cut: they are longer than 5 tokens"
    assert told[1].startswith("gradient: aopc ") and told[2].startswith("random: aopc ")


def test_the_catalogue_does_not_wait_for_torch():
    """The command line lists it."""
    code = "import sys, salience; assert salience.METRICS; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
