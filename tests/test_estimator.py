"""The scikit-learn estimator in the places where estimators are used."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import families
from labelled import FILLER, WORDS, labelled_rows
from salience import SalienceClassifier

TEXTS, LABELS = zip(*labelled_rows(60), strict=True)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(families.save_tiny_model(tmp_path_factory.mktemp("tiny"), [*WORDS.values(), " ".join(FILLER)]))


@pytest.fixture(scope="module")
def fitted(tiny):
    return SalienceClassifier(model=tiny, steps=80, learning_rate=0.01, device="cpu").fit(TEXTS, LABELS)


def test_it_learns_and_predicts_with_the_users_labels(fitted):
    texts, labels = zip(*labelled_rows(30, seed=5), strict=True)
    assert fitted.classes_.tolist() == ["food", "music", "sport"]
    assert fitted.score(texts, labels) > 0.6
    probabilities = fitted.predict_proba(texts)
    assert probabilities.shape == (30, 3)
    assert probabilities.sum(1) == pytest.approx(np.ones(30), abs=1e-5)
    assert (fitted.classes_[probabilities.argmax(1)] == fitted.predict(texts)).all()


def test_parameters_are_set_and_cloned(tiny):
    estimator = SalienceClassifier("embedmix", tiny, clean=0.25)
    copy = clone(estimator).set_params(steps=3)
    assert copy.get_params() == estimator.get_params() | {"steps": 3}


@pytest.mark.whole
def test_cross_validation_and_grid_search(tiny):
    estimator = SalienceClassifier(model=tiny, steps=3, device="cpu")
    assert cross_val_score(estimator, np.array(TEXTS), LABELS, cv=3).shape == (3,)
    search = GridSearchCV(estimator, {"method": ["plain", "ssmix"]}, cv=2).fit(list(TEXTS), list(LABELS))
    assert search.best_params_["method"] in ("plain", "ssmix")


def test_it_stands_at_the_end_of_a_pipeline(tiny):
    shout = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    model = make_pipeline(shout, SalienceClassifier(model=tiny, steps=3, device="cpu")).fit(TEXTS, LABELS)
    assert model.predict(TEXTS[:5]).shape == (5,)


def test_save_and_load_without_pickle(fitted, tmp_path):
    fitted.save(tmp_path)
    loaded = SalienceClassifier.load(tmp_path)
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert loaded.predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()
    assert not [file for file in tmp_path.iterdir() if file.suffix in (".pkl", ".pt", ".bin", ".pth", ".joblib")]
    assert json.loads((tmp_path / "salience.json").read_text())["classes"] == ["food", "music", "sport"]


def test_whole_numbers_stay_numbers(tiny, tmp_path):
    numbers = [10 * (list(WORDS).index(label) + 1) for label in LABELS]
    estimator = SalienceClassifier(model=tiny, steps=2, device="cpu").fit(TEXTS, numbers)
    estimator.save(tmp_path)
    assert SalienceClassifier.load(tmp_path).classes_.tolist() == [10, 20, 30]


def test_pairs(tiny):
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    estimator = SalienceClassifier(model=tiny, steps=2, device="cpu").fit(pairs, LABELS)
    assert estimator.predict(np.array(pairs)).shape == (60,)


def test_the_same_seed_gives_the_same_model(tiny):
    one, other = (
        SalienceClassifier(model=tiny, steps=4, random_state=3, device="cpu").fit(TEXTS, LABELS) for _ in range(2)
    )
    assert np.array_equal(one.predict_proba(TEXTS), other.predict_proba(TEXTS))


@pytest.mark.parametrize(
    "texts, labels, message",
    [
        ("one text", ["a"], "give a sequence of texts"),
        ([], [], "no texts"),
        (["a", 3], ["x", "y"], r"X\[1\] is int, not a text"),
        (["a", "b"], ["x"], "2 texts, but 1 labels"),
        (["a", "b"], ["x", "x"], "only one class"),
    ],
)
def test_bad_input_is_a_value_error(texts, labels, message):
    with pytest.raises(ValueError, match=message):
        SalienceClassifier(device="cpu").fit(texts, labels)
