"""`salience.suggest`, what it sees of texts, and which texts it leaves out."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, softmax

import families
from labelled import FILLER, WORDS, labelled_rows
from salience.classify import TextClassifier, load
from salience.classify.classifier import OnnxClassifier
from salience.classify.frozen_encoder import sentence_vectors
from salience.errors import InputError
from salience.scores.labels import SEVERAL_LABELS
from salience.suggestions import STRATEGIES, Suggestion, suggest
from salience.suggestions.suggesting import FreshTexts, digest_of_text, ranked, view_of

TEXTS = list(dict.fromkeys(text for text, _ in labelled_rows(40, seed=5)))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> TextClassifier:
    folder = tmp_path_factory.mktemp("tiny")
    families.save_tiny_model(folder, [*WORDS.values(), " ".join(FILLER)], classes=3)
    return load(folder, device="cpu")


def test_the_text_of_the_smallest_margin_is_the_first(classifier):
    probabilities = classifier.predict_proba(TEXTS)
    found = suggest(classifier, TEXTS, 5, strategy="margin")
    two = np.sort(probabilities, axis=1)[:, -2:]
    assert [each.place for each in found] == np.argsort(two[:, 1] - two[:, 0], kind="stable")[:5].tolist()
    for each in found:
        assert each.label == classifier.labels[probabilities[each.place].argmax()]
        assert each.probability == pytest.approx(probabilities[each.place].max())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labelled_and_repeated_and_empty_texts_are_left_out(classifier, strategy):
    texts = ["", TEXTS[0], f" {TEXTS[1]}", TEXTS[1], TEXTS[2], "  "]
    found = suggest(classifier, texts, labelled=[f"{TEXTS[0]} "], strategy=strategy)
    assert sorted(each.place for each in found) == [2, 4]


def test_pairs_and_no_texts(classifier):
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[0]), (TEXTS[0], TEXTS[1]), (TEXTS[2], "")]
    assert sorted(each.place for each in suggest(classifier, pairs)) == [0, 1]
    assert suggest(classifier, []) == []


def test_bad_input_is_one_line(classifier):
    with pytest.raises(InputError, match="unknown strategy"):
        suggest(classifier, TEXTS, strategy="random")
    for count in (0, 2.5, "2"):
        with pytest.raises(InputError, match="at least 1"):
            suggest(classifier, TEXTS, count)


def test_probabilities_that_are_not_finite_are_left_out():
    probabilities = np.array([[0.5, 0.5], [np.nan, np.nan], [0.9, 0.1]])
    classifier = SimpleNamespace(labels=["a", "b"], multi_label=False)
    for strategy in STRATEGIES.values():
        found = ranked(classifier, probabilities, np.eye(3), None, np.array([4, 5, 7]), strategy, 3, 0)
        assert {each.place for each in found} == {4, 7}
        assert Suggestion(7, "a", 0.9) in found


def test_the_view_is_what_the_classifier_predicts_and_its_head_reads(classifier):
    probabilities, vectors = view_of(classifier, TEXTS, with_vectors=True)
    assert np.allclose(probabilities, classifier.predict_proba(TEXTS), atol=1e-6)
    assert np.allclose(vectors, sentence_vectors(classifier.model, classifier.encode(TEXTS)), atol=1e-5)
    assert view_of(classifier, TEXTS, with_vectors=False)[1] is None


@pytest.mark.parametrize("problem", [None, SEVERAL_LABELS.problem_type])
def test_the_vector_of_a_text_in_windows_gives_its_probabilities(problem, classifier):
    """The head is linear in it: its logits are the mean of those of the windows."""
    classifier.model.config.long_texts, classifier.model.config.problem_type = "windows", problem
    try:
        texts = [" ".join(TEXTS[:12]), TEXTS[0]]
        short = TextClassifier(classifier.model, classifier.tokenizer, 16)
        assert short.read(texts).owners.max() == 1 and len(short.read(texts)) > 2
        probabilities, vectors = view_of(short, texts, with_vectors=True)
        assert np.allclose(probabilities, short.predict_proba(texts), atol=1e-6)
    finally:
        classifier.model.config.long_texts, classifier.model.config.problem_type = "head", None
    head = classifier.model.classifier
    logits = vectors @ head.weight.detach().numpy().T + head.bias.detach().numpy()
    expected = expit(logits) if problem else softmax(logits, axis=1)
    assert np.allclose(probabilities, expected, atol=1e-5)


@pytest.mark.parametrize(("problem", "other"), [(None, " or --strategy margin$"), (SEVERAL_LABELS.problem_type, "$")])
def test_an_export_is_refused_where_vectors_are_read(problem, other, classifier, monkeypatch):
    monkeypatch.setattr(classifier.model.config, "problem_type", problem)
    exported = OnnxClassifier(classifier.model, classifier.tokenizer, 16)
    with pytest.raises(InputError, match=f"gives no vectors.*name the run that was exported{other}"):
        suggest(exported, TEXTS)
    assert not STRATEGIES["margin"].reads_vectors


def test_fresh_texts():
    fresh = FreshTexts({("a",), ("b", "c")})
    rows = [("a",), (" a",), ("b",), ("b ",), (None,), ("",), ("b", "c"), ("c", "b"), ("bc", "b"), ("b", "cb")]
    assert [fresh.is_fresh(row) for row in rows] == [False, False, True, *[False] * 4, True, True, True]
    assert fresh.left_out == {"labelled already": 3, "repeated": 1, "without a text": 2}


def test_a_digest_tells_parts_apart():
    """Also half a surrogate pair, which JSON files can hold."""
    rows = [("ab", "c"), ("a", "bc"), ("abc",), ("\ud83d",), ("\ufffd",)]
    assert len({digest_of_text(row) for row in rows}) == len(rows)
    assert digest_of_text((" ab", "c\n")) == digest_of_text(("ab", "c"))
