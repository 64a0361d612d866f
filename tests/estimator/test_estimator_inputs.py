"""Texts in every container that scikit-learn's users have, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from salience import SalienceClassifier
from salience.data.values import well_formed
from salience.errors import InputError

TEXTS = ["goal match", "song band", "soup bread"]


def test_a_table_of_two_columns_holds_pairs(short, texts, labels):
    pairs = list(zip(texts, reversed(texts), strict=True))
    estimator = short().fit(pairs, labels)
    table = pd.DataFrame(pairs, columns=["text", "second"])
    assert np.array_equal(estimator.predict_proba(table), estimator.predict_proba(pairs))
    with pytest.raises(InputError, match="the model was trained on pairs of texts, and these are single texts"):
        estimator.predict(texts)


def test_pairs_for_a_classifier_of_single_texts_are_refused(fitted, tmp_path):
    for _ in range(2):
        with pytest.raises(InputError, match="the model was trained on single texts, and these are pairs of texts"):
            fitted.predict([("goal", "match")])
        fitted.save(tmp_path)
        fitted = SalienceClassifier.load(tmp_path)


REFUSED = {
    "one text": ("goal", "give a sequence of texts"),
    "bytes": (b"goal", "give a sequence of texts"),
    "None": (None, "X is NoneType; give a sequence of texts"),
    "a number": (3, "X is int; give a sequence"),
    "an array without dimensions": (np.array("goal"), "X is ndarray; give a sequence"),
    "a dict": ({"text": TEXTS}, "X is dict; give a sequence"),
    "a set": (set(TEXTS), "X is set; give a sequence"),
    "a sparse matrix": (csr_array(np.eye(3)), "X is csr_array .*sparse matrix"),
    "numbers": (np.eye(3), r"X\[0\] is ndarray of shape \(3,\), not a text"),
    "a missing text": (["a", None], r"X\[1\] is missing \(None\)"),
    "nan": (["a", "b", float("nan")], r"X\[2\] is missing \(nan\)"),
    "pandas' NA": (pd.Series(["a", pd.NA], dtype="string"), r"X\[1\] is missing \(<NA>\)"),
    "a missing text of a table": (pd.DataFrame({"text": ["a", None]}), r"X\[1\] is missing"),
    "bytes among texts": (["a", b"b"], r"X\[1\] is bytes, not a text"),
    "dicts": ([{"text": "a"}], r"X\[0\] is dict, not a text"),
    "three texts": ([("a", "b", "c")], r"X\[0\] is tuple of shape \(3,\), not a text"),
    "a pair among texts": (["a", ("b", "c")], r"X\[1\] is tuple of shape \(2,\), not a text"),
    "a text among pairs": ([("a", "b"), "c"], r"X\[0\] is a pair of texts, but X\[1\] is str"),
    "a missing second text": ([("a", "b"), ("c", None)], r"X\[1\]\[1\] is missing"),
}


@pytest.mark.parametrize("X, message", REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_text_is_refused_by_fit_and_predict(X, message, fitted, short):
    for method in (fitted.predict, fitted.predict_proba, lambda X: short().fit(X, ["sport", "food", "music"])):
        with pytest.raises(InputError, match=message):
            method(X)


@pytest.mark.parametrize(
    "X, place", [(["a", ""], r"X\[1\]"), (["a", " \n"], r"X\[1\]"), ([("", "b")] * 2, r"X\[0\]\[0\]")], ids=str
)
def test_nothing_is_learnt_from_an_empty_text(X, place, short):
    with pytest.raises(InputError, match=f"{place} is an empty text"):
        short().fit(X, ["sport", "food"])


@pytest.mark.parametrize("nothing", [[], np.array([], dtype=str), pd.DataFrame({"text": []})], ids=repr)
def test_no_texts_have_no_labels(nothing, fitted, short):
    """A model is not fitted to them, and they have no score."""
    predicted = fitted.predict(nothing)
    assert predicted.shape == (0,) and predicted.dtype == fitted.classes_.dtype
    assert fitted.predict_proba(nothing).shape == (0, 3)
    for act in (short().fit, fitted.score):
        with pytest.raises(InputError, match="no texts: X is empty"):
            act(nothing, [])


def test_an_empty_text_is_predicted(fitted):
    """In a batch as by itself: whoever predicts may not be able to leave a row out."""
    alone = [fitted.predict_proba([text])[0] for text in ("", " \n", "goal")]
    assert np.allclose(fitted.predict_proba(["", " \n", "goal"]), alone, atol=1e-6)
    assert np.array_equal(alone[0], alone[1])


def test_half_characters_are_replaced_as_in_files(short, fitted, texts, labels):
    halved = [f"{text} \ud83d" for text in texts]
    replaced = [f"{text} \ufffd" for text in texts]
    assert [well_formed(text) for text in halved] == replaced
    assert np.array_equal(fitted.predict_proba(halved), fitted.predict_proba(replaced))
    estimator, same = short().fit(halved, labels), short().fit(replaced, labels)
    assert np.array_equal(estimator.predict_proba(texts), same.predict_proba(texts))


@pytest.mark.parametrize("odd", ["\x00", "\u200b", "\U0010ffff", "\u202e", "word " * 300], ids=ascii)
def test_odd_texts_are_texts(odd, fitted, short, labels):
    assert fitted.predict_proba([odd]).sum() == pytest.approx(1, abs=1e-5)
    short(validation_share=0).fit([odd] * len(labels), labels)


@pytest.mark.parametrize("use", ["predict", "predict_proba"])
def test_before_fit(use):
    with pytest.raises(NotFittedError):
        getattr(SalienceClassifier(), use)(TEXTS)
    with pytest.raises(NotFittedError):
        getattr(SalienceClassifier(), use)([])


def test_marks_are_trained_on_as_further_texts(short, texts, labels, monkeypatch):
    from salience.training import prepare as preparing

    seen = []
    make = preparing.Prepared
    monkeypatch.setattr(
        preparing, "Prepared", lambda *given, **named: seen.append(made := make(*given, **named)) or made
    )
    first = [[[0, len(text.split()[0])]] for text in texts]
    short(method="plain").fit(texts, labels, marks=first, ignore=[None] * len(texts))
    (prepared,) = seen
    assert len(prepared.training) == 2 * len(texts)
    assert prepared.training.labels[: len(texts)].tolist() == prepared.training.labels[len(texts) :].tolist()


MARKED = [[[0, 1]]] * 24


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"marks": [[]]}, "24 texts, but 1 values in marks"),
        ({"ignore": [[[0, 999]]] * 24}, r'row 0, column "ignore".*999'),
        ({"marks": MARKED, "ignore": MARKED}, 'marked in both "marks" and "ignore"'),
    ],
)
def test_marks_that_do_not_fit_are_refused(given, message, short, texts, labels):
    with pytest.raises(InputError, match=message):
        short(method="plain").fit(texts, labels, **given)
