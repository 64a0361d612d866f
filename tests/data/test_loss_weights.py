"""The weights of classes and labels in the loss, against the definition and scikit-learn's "balanced"."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from salience.data.labels import loss_weights

LABELS = ["a"] * 6 + ["b"] * 3 + ["c"]
NAMES = ["a", "b", "c"]
HOW = (
    "give none, auto, or name=weight,name2=weight; names with commas are weighted in a yaml file, as "
    "`class_weights: {name: weight}`"
)


def class_weights(spec, labels, names):
    return loss_weights(spec, np.array([names.index(label) for label in labels]), names)


def mean_weight(weights):
    return sum(weights[NAMES.index(label)] for label in LABELS) / len(LABELS)


def test_weights():
    assert class_weights("none", LABELS, NAMES) is None
    assert class_weights("auto", LABELS, NAMES) == pytest.approx([10 / 18, 10 / 9, 10 / 3])
    assert class_weights("c=4", LABELS, NAMES) == pytest.approx([1 / 1.3, 1 / 1.3, 4 / 1.3])
    assert class_weights(" a = 0.5, c=2", LABELS, NAMES) == pytest.approx([0.5 / 0.8, 1 / 0.8, 2 / 0.8])
    assert class_weights({"a": 0.5, "c": "2"}, LABELS, NAMES) == class_weights("a=0.5,c=2", LABELS, NAMES)


def test_a_class_without_rows_has_the_mean_weight():
    assert class_weights("auto", LABELS, [*NAMES, "d"]) == pytest.approx([10 / 18, 10 / 9, 10 / 3, 1])


def test_names_with_commas_are_weighted_by_a_mapping():
    names = ["yes, very", "1"]
    assert class_weights({"yes, very": 3, 1: 1}, names, names) == pytest.approx([1.5, 0.5])


@pytest.mark.parametrize("spec", ["auto", "a=3", "a=0.1,b=100", "c=1e-3"])
def test_the_mean_weight_of_the_training_rows_is_one(spec):
    assert mean_weight(class_weights(spec, LABELS, NAMES)) == pytest.approx(1)


def test_a_name_may_contain_an_equals_sign():
    assert class_weights("x=y=3", ["x=y", "z"], ["x=y", "z"]) == pytest.approx([1.5, 0.5])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("atuo", f'class weights "atuo": {HOW}'),
        ("", f'class weights "": {HOW}'),
        (["a"], "class weights ['a']: give none, auto, or the weight of each name"),
        ({"d": 2}, 'unknown class in the class weights "d"; known: a, b, c.'),
        ({"a": None}, 'class weights: the weight of "a" is "None"; give a number above 0'),
        ("d=2", 'unknown class in the class weights "d"; known: a, b, c.'),
        ("a=0", 'class weights: the weight of "a" is "0"; give a number above 0'),
        ("a=-1", 'class weights: the weight of "a" is "-1"; give a number above 0'),
        ("a=much", 'class weights: the weight of "a" is "much"; give a number above 0'),
        ("a=inf", 'class weights: the weight of "a" is "inf"; give a number above 0'),
        ("b=1,a=nan", 'class weights: the weight of "a" is "nan"; give a number above 0'),
    ],
)
def test_weights_that_make_no_sense(complaint, spec, reason):
    assert complaint(class_weights, spec, LABELS, NAMES) == reason


SEVERAL = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]])


def test_texts_with_a_label_weigh_as_much_as_those_without_it():
    weights = loss_weights("auto", SEVERAL, ["a", "b", "c", "d"])
    assert weights == pytest.approx([1 / 3, 3, 1, 1])
    for of_label, weight in zip(SEVERAL.T[:2], weights, strict=False):
        without, having = compute_class_weight("balanced", classes=np.array([0, 1]), y=of_label)
        assert weight == pytest.approx(having / without)


def test_weights_of_labels_by_name():
    names = ["a", "b", "c", "d"]
    assert loss_weights("none", SEVERAL, names) is None
    assert loss_weights("c=4,a=0.5", SEVERAL, names) == [0.5, 1.0, 4.0, 1.0]


def test_an_unknown_label_has_no_weight(complaint):
    assert complaint(loss_weights, "e=4", SEVERAL, ["a", "b", "c", "d"]) == (
        'unknown class in the class weights "e"; known: a, b, c, d.'
    )
