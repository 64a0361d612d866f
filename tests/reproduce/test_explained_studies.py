"""The studies that train, explain and judge: small runs of them, whose numbers are counted again by hand."""

from dataclasses import replace

import numpy as np
import pytest
from test_datasets import write

import families
from salience.data.task import Task
from salience.data.texts import Texts
from salience.faithfulness.erasure import as_judged
from salience.inference import TextClassifier
from salience.models.vocabulary import word_tokenizer
from salience.reproduce import faithful_training, training
from salience.reproduce.vat import judging
from salience.reproduce.vat import tables as vat
from word_models import word_classifier

GOOD, BAD, PLAIN = ("lovely", "great"), ("dull", "awful"), ("film", "plot", "cast", "scene", "story")


def rows(count: int, seed: int) -> list[dict]:
    """Texts of six words of which one decides, with its sentiment marked."""
    random, found = np.random.default_rng(seed), []
    for number in range(count):
        words = list(random.choice(PLAIN, 6))
        kind = ("very negative", "negative", "neutral", "positive", "very positive")[number % 5]
        marks = ["neutral"] * 6
        if kind != "neutral":
            place = int(random.integers(6))
            words[place] = str(random.choice(GOOD if kind.endswith("positive") else BAD))
            marks[place] = kind.split()[-1]
        found.append({"text": " ".join(words), "label": kind, "token_labels": marks})
    return found


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 60), ("dev", 20), ("test", 30)):
        write(tmp_path / "sst_trees", part, rows(count, seed=count))
    return tmp_path


def test_one_cell_of_vat_holds_all_five_tables(folder, monkeypatch):
    plan = replace(vat.PLANS["lstm"], epochs=4, iterations=2, judged=20, most=6)
    monkeypatch.setitem(vat.PLANS, "lstm", plan)
    found = vat.run(vat.Cell("sst5", "lstm-random", 0), folder)
    assert len(found["test"]) == len(found["validation"]) == 3  # iterations 0 to 2
    assert found["accuracy"] == found["test"][int(np.argmax(found["validation"]))]
    assert (found["rows"], found["judged"]) == (60, 20)
    for name in ("random", "ATT", "VAT"):
        own = found["explanations"][name]
        assert len(own["without"]) == len(own["alone"]) == 7
        assert own["without"][0] == own["alone"][0]  # the whole texts
        assert own["AOPC@5"] == pytest.approx(100 * (own["without"][0] - own["without"][5]))
        assert own["post-hoc@5"] == pytest.approx(100 * own["alone"][5])
        assert own["AOPC over K"] == pytest.approx(100 * np.mean(own["without"][0] - np.array(own["without"])))
        assert own["alone"][6] == own["alone"][0]  # six words are all there are
        assert len(own["positive"]) == len(own["negative"]) == 6
    report = vat.report([{"set": "sst5", "encoder": "lstm-random", "seed": 0} | found])
    assert "Table 5" in report and "58.7 26.0 32.7 30.3 54.2 34.7" in report


def test_marked_words_are_found_polarity_by_polarity():
    """Scores that point at the marked word find it at 1; those of texts of the other polarity do not count."""
    part = Texts(
        ["a lovely film", "a dull film", "no opinion", "two words parted"],
        labels=[3, 0, 2, 4],
        marks=[
            ["neutral", "positive", "neutral"],
            ["neutral", "very negative", "neutral"],
            ["neutral"] * 2,
            ["positive"],
        ],
    )
    labels = ("very negative", "negative", "neutral", "positive", "very positive")
    scores = [np.array([0.0, 1.0, 0.5]), np.array([1.0, 0.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    found = judging.detection(scores, part, labels)
    assert found["positive"][:3] == [100, 100, 100]  # the fourth text's words are not parted as its marks are
    assert found["negative"][:3] == [0, 0, 0]
    assert found["negative"][4] == 100  # recall at 5: all three words are taken


def test_trainings_are_compared_beyond_chance(tmp_path, monkeypatch):
    """One cell on a tiny BERT; its excess over random scores is what the report shows."""
    labelled = [{"text": row["text"], "label": row["label"].split()[-1]} for row in rows(120, seed=1)]
    labelled = [row for row in labelled if row["label"] != "neutral"]
    for part, own in (("train", labelled[:60]), ("dev", labelled[60:75]), ("test", labelled[75:])):
        write(tmp_path / "sst2", part, own)
    texts = [row["text"] for row in labelled]

    def tiny(name, labels):
        model = families.build("bert", classes=2, vocabulary=300)
        model.config.id2label = dict(enumerate(labels))
        return model, families.tiny_tokenizer(texts)

    monkeypatch.setattr(training, "load_classifier", tiny)
    monkeypatch.setattr(faithful_training, "TAU_TEXTS", 5)
    runs = []
    for name in faithful_training.TRAININGS:
        for seed in (0, 1):
            cell = faithful_training.Cell("sst2", name, seed)
            if name in ("plain", "ssmix") and seed == 0:
                runs.append({"set": "sst2", "training": name, "seed": 0} | faithful_training.run(cell, tmp_path))
            else:
                runs.append(runs[0] | {"training": name, "seed": seed})
    plain = runs[0]
    assert set(plain["explainers"]) == set(faithful_training.EXPLAINED)
    for found in (plain["random"], *plain["explainers"].values()):
        assert set(found) == set(faithful_training.METRICS)
    line = next(row for row in faithful_training.report(runs).splitlines() if "| gradient | AOPC@5" in row)
    excess = plain["explainers"]["gradient"]["AOPC@5"] - plain["random"]["AOPC@5"]
    assert f"| {excess:.2f} ± 0.00 |" in line and line.count("+0.00") >= 2


def test_turns_are_held_against_the_same_classifier_without_them():
    found = {"plain": [1.0, 2.0], "att": [2.0, 5.0], "vat": [5.5, 6.5]}
    plain, att, vat_to_plain, vat_to_att = faithful_training.against_plain(found).split(" | ")
    assert plain == "1.50 ± 0.71"
    assert [own.split()[0] for own in (att, vat_to_plain, vat_to_att)] == ["+2.00", "+4.50", "+2.50"]


def test_every_training_is_by_its_own_method(monkeypatch):
    """ATT, VAT and plain training read the texts as they are, the first two with classifiers of their own."""
    asked, built, data = [], [], Task(["negative", "positive"], *[Texts(["a film"], labels=[0])] * 3)
    for module in (training, faithful_training):
        monkeypatch.setattr(
            module, "train_classifier", lambda reader, data, recipe: asked.append(recipe) or (reader, [])
        )
    monkeypatch.setattr(training, "load_classifier", lambda *values: (None, None))
    monkeypatch.setattr(
        faithful_training,
        "build_attention_classifier",
        lambda own, *rest: built.append(own) or (word_classifier("lstm", pooling=own.pooling), None),
    )
    for name in faithful_training.TRAININGS:
        faithful_training.train(faithful_training.Cell("sst2", name, 7), data)
    assert [own.method for own in asked] == ["plain", "ssmix", "attentionmix", "dropmix-g", "plain", "plain"]
    assert [own.pooling for own in built] == ["additive", "variational"]
    assert [own.procedure_options for own in asked] == [{}] * 5 + [{"iterations": 1}]
    assert {own.seed for own in asked} == {7}


def test_scores_of_a_pair_stay_with_their_words_where_the_judge_reads_more():
    """The explained model reads a, b | p, q, the judge a, b, c | p, q, r."""
    tokenizer, pair = word_tokenizer(["a b c p q r"]), [("a b c", "p q r")]
    whole = len(tokenizer(["a b c"], ["p q r"])["input_ids"][0])
    own, judged = (
        TextClassifier(None, tokenizer, longest).encode(pair, words=True).words for longest in (whole - 2, whole)
    )
    assert (own.names, judged.names) == ([["a", "b", "p", "q"]], [["a", "b", "c", "p", "q", "r"]])
    (found,) = as_judged([np.array([1.0, 2.0, 3.0, 4.0])], own, judged)
    assert found.tolist() == [1, 2, -np.inf, 3, 4, -np.inf]
    (back,) = as_judged([np.arange(6.0)], judged, own)
    assert back.tolist() == [0, 1, 3, 4]
