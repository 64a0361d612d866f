"""Facts on the data of a run, against numbers that are counted by hand."""

import pytest

import families
from salience.classify import TextClassifier
from salience.data.task import Task
from salience.data.texts import Texts
from salience.models.loading import load_classifier
from salience.runs.results import data_facts

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    folder = families.save_tiny_model(tmp_path_factory.mktemp("facts") / "tiny", [" ".join(WORDS)])
    model, tokenizer = load_classifier(str(folder), ["a", "b"])
    return TextClassifier(model, tokenizer, max_length=6)


def facts_of(classifier, training, test):
    task = Task(["a", "b"], training, test=test)
    parts = {"training": classifier.encode(training), "test": classifier.encode(test)}
    return data_facts(task, parts, classifier.tokenizer, classifier.max_length)


def test_every_number_is_that_of_the_texts(classifier):
    """A text of n words has n + 2 tokens, because every word is one and there are two special ones."""
    training = Texts(["one", " one ", "one two three", "two", "two", " ".join(WORDS)], labels=[0, 1, 0, 1, 1, 1])
    test = Texts(["one two", "two\n", "three"], labels=[0, 1, 0])
    found = facts_of(classifier, training, test)
    assert found == {"max_length": 6, "parts": {
        "training": {
            "rows": 6, "classes": {"a": 2, "b": 4}, "tokens": {"median": 3.0, "percentile_95": 10, "longest": 10},
            "cut": 1, "duplicates": 2, "contradictions": 2,
        },
        "test": {
            "rows": 3, "classes": {"a": 2, "b": 1}, "tokens": {"median": 3.0, "percentile_95": 4, "longest": 4},
            "cut": 0, "duplicates": 0, "contradictions": 0, "in_training": 1,
        },
    }}  # fmt: skip


def test_pairs_are_equal_if_both_texts_are(classifier):
    training = Texts(["one", "one", "two"], ["two", "three", "two"], labels=[0, 1, 1])
    test = Texts(["one", "two"], ["three", "one"], labels=[1, 0])
    found = facts_of(classifier, training, test)["parts"]
    assert (found["training"]["duplicates"], found["training"]["contradictions"]) == (0, 0)
    assert found["test"]["in_training"] == 1
    assert found["test"]["tokens"]["longest"] == 5  # two words and three special tokens


def test_pairs_in_windows_have_the_length_of_both_texts(classifier):
    """10 words in two texts and three special tokens; the classifier reads 6 tokens at once."""
    windows = load_classifier(classifier.model.config._name_or_path, ["a", "b"])
    reader = TextClassifier(*windows, max_length=6)
    reader.model.config.long_texts = "windows"
    pairs = Texts([" ".join(WORDS), "one"], ["one two", "two"], labels=[0, 1])
    found = data_facts(Task(["a", "b"], pairs), {"training": reader.read(pairs)}, reader.tokenizer, reader.max_length)[
        "parts"
    ]["training"]
    assert found["tokens"]["longest"] == 13 and found["tokens"]["median"] == (13 + 5) / 2
