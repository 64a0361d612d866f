"""SetFit as a baseline: what the package is asked, with a stand-in for it, and the package itself where it is."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import families
from labelled import FILLER, WORDS, labelled_rows
from salience.data.texts import Texts
from salience.training.from_setfit import setfit_probabilities
from salience.training.references import equal_steps

NAMES = list(WORDS)


def texts_of(count: int, seed: int = 0) -> Texts:
    rows = labelled_rows(count, seed)
    return Texts([text for text, _ in rows], labels=np.array([NAMES.index(label) for _, label in rows]))


@pytest.fixture
def folder(tmp_path):
    return families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])


@pytest.fixture
def asked(monkeypatch):
    """A stand-in for both packages, whose vectors are the lengths of texts; what they are asked is noted."""
    asked = SimpleNamespace(arguments=None, rows=None, source=None)

    class Body:
        def __init__(self, source, **options):
            asked.source, asked.options = source, options

    class Model:
        def __init__(self, model_body, model_head):
            self.model_head = model_head

        def predict_proba(self, texts, as_numpy, show_progress_bar):
            print("progress")
            assert as_numpy
            asked.test = texts
            return self.model_head.predict_proba([[len(text)] for text in texts])

    class Trainer:
        def __init__(self, model, args, train_dataset):
            self.model, asked.arguments, asked.rows = model, args, train_dataset

        def train(self):
            print("progress", file=sys.stderr)
            texts, labels = asked.rows["text"], asked.rows["label"]
            self.model.model_head.fit([[len(text)] for text in texts], list(labels))

    setfit, transformers = ModuleType("setfit"), ModuleType("sentence_transformers")
    setfit.SetFitModel, setfit.Trainer, setfit.TrainingArguments = Model, Trainer, lambda **options: options
    transformers.SentenceTransformer = Body
    monkeypatch.setitem(sys.modules, "setfit", setfit)
    monkeypatch.setitem(sys.modules, "sentence_transformers", transformers)
    return asked


def test_it_can_be_stopped_earlier(asked, folder):
    training = Texts(["a", "bb", "ccc"], labels=[1, 1, 0])
    setfit_probabilities(training, Texts(["aa"]), 2, str(folder), steps=equal_steps(100, 6))
    assert asked.arguments["max_steps"] == 76  # of 16 pairs; the default recipe has 153 steps of 16 texts


def test_the_package_is_asked_with_its_own_settings(asked, folder, capsys):
    training = Texts(["a", "bb", "a bb ccc dddd"], ["x", "y", "z"], labels=[1, 1, 3])
    found = setfit_probabilities(training, Texts(["aa", "aa"], ["b", "b b b b b"]), 5, str(folder), seed=7)
    assert asked.rows["text"][:] == ["a x", "bb y", "a bb ccc dddd z"]
    assert asked.rows["label"][:] == [1, 1, 3]
    assert asked.test == ["aa b", "aa b b b b b"]
    assert asked.source == str(folder)
    assert asked.options == {"trust_remote_code": False, "model_kwargs": {"use_safetensors": True}}
    # Nothing but the seed, and what concerns files and the terminal.
    quiet = {"report_to": "none", "save_strategy": "no", "logging_strategy": "no", "show_progress_bar": False}
    assert asked.arguments.pop("output_dir")
    assert asked.arguments == quiet | {"seed": 7}
    head = LogisticRegression().fit([[3], [4], [15]], [1, 1, 3])
    expected = np.zeros((2, 5))
    expected[:, [1, 3]] = head.predict_proba([[4], [12]])
    assert found.dtype == np.float32
    assert found == pytest.approx(expected)
    assert capsys.readouterr() == ("", "")


def test_a_missing_package_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "setfit", None)
    with pytest.raises(ValueError, match=r"SetFit needs the package setfit: pip install 'salience\[setfit\]'"):
        setfit_probabilities(texts_of(6), texts_of(3), 3, str(folder))


def test_one_class_has_no_pairs_to_tell_apart(asked, folder):
    with pytest.raises(ValueError, match="SetFit needs training rows of at least two classes"):
        setfit_probabilities(Texts(["a", "b"], labels=[1, 1]), texts_of(3), 3, str(folder))


def test_the_package_itself(folder, tmp_path, monkeypatch, capfd):
    pytest.importorskip("setfit")
    monkeypatch.chdir(tmp_path)
    training, test = texts_of(16), texts_of(9, 1)
    found = setfit_probabilities(training, test, 4, str(folder), seed=1)
    assert found.shape == (9, 4)
    assert found.sum(1) == pytest.approx(1, abs=1e-5)
    assert (found[:, 3] == 0).all()
    assert (setfit_probabilities(training, test, 4, str(folder), seed=1) == found).all()
    assert (setfit_probabilities(training, test, 4, str(folder), seed=2) != found).any()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny"]
    assert capfd.readouterr().out == ""
