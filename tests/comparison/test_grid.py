"""The conditions of a grid, and what its declarations cannot say."""

from dataclasses import replace

import pytest

from salience.cli.compare import METHODS
from salience.comparison.grid import (
    Condition,
    Grid,
    data_sets_of,
    grid_of,
    method_variants,
    setting_variants,
    sizes_of,
)
from salience.errors import InputError
from salience.mixing.ssmix import SSMix
from salience.settings import several_with_options
from salience.training.recipe import Recipe

BASE = Recipe("a.csv", test="b.csv")


def test_the_largest_size_of_each_data_set_and_model():
    """All rows are the largest size, whatever numbers stand beside them."""
    sets = {name: {"data": f"{name}.csv", "test": "b.csv"} for name in ("one", "two")}
    cases = {(): None, (50,): 50, (50, 200, 100): 200, (None, 50): None, (50, None, 200): None}
    for sizes, largest in cases.items():
        grid = Grid({"plain": BASE}, (0, 1), sizes, ("tiny", "large"), sets)
        assert grid.largest() == {Condition(name, model, largest) for name in sets for model in ("tiny", "large")}
    assert {condition.size for condition in Grid({"plain": replace(BASE, size=70)}, (0, 1)).largest()} == {70}


def test_methods_are_named_with_their_options():
    base = replace(BASE, method="ssmix", method_options={"window": 0.2})
    named = method_variants(base, ["plain", "ssmix", "attentionmix:head=auto", SSMix(window=0.3)])
    assert list(named) == ["plain", "ssmix:window=0.2", "attentionmix:head=auto", "ssmix:window=0.3"]
    assert named["ssmix:window=0.3"].method_options == {"window": 0.3}


def test_the_default_is_what_train_does_with_mean_pooling_against_training_without_mixing():
    plain, own = method_variants(BASE, several_with_options(METHODS)).values()
    plan = BASE.resolved(
        100, 2, 384, several=False, validated=False, pooling="mean", head_start="logistic", max_length=512,
        precision="fp32",
    )  # fmt: skip
    assert plain.method == "plain"
    assert (own.method, own.method_options) == (plan.method, plan.method_options)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda: sizes_of("ten"), ("--sizes ten", "or all")),
        (lambda: sizes_of("0"), ("--sizes 0",)),
        (lambda: sizes_of("12,12"), ("--sizes 12,12", "each size once")),
        (lambda: method_variants(BASE, ["ssmix"]), ("--methods ssmix", "at least two")),
        (lambda: method_variants(BASE, ["plain", "plain"]), ("two different methods",)),
        (lambda: method_variants(BASE, ["plain", "smix"]), ("smix", "ssmix")),
        (lambda: method_variants(replace(BASE, method="ssmix", method_options={"window": 0.2}), ["plain", "tmix"]),
         ("window", "ssmix", "not compared")),
        (lambda: setting_variants(BASE, {"one": {}}), ("at least two variants",)),
        (lambda: setting_variants(BASE, {"one": {}, "a/b": {}}), ('"a/b"', "name")),
        (lambda: setting_variants(BASE, {"one": {}, "frozen": {}}), ('"frozen"', "name")),
        (lambda: setting_variants(BASE, {"one": {}, "two": 3}), ("two needs settings",)),
        (lambda: setting_variants(BASE, {"one": {}, "two": {"seed": 3}}), ("two: seed", "same for all")),
        (lambda: setting_variants(BASE, {"one": {}, "two": {"learning_rat": 3}}), ("learning_rate",)),
        (lambda: setting_variants(BASE, {"one": {}, "two": {"learning_rate": "much"}}), ("learning_rate",)),
        (lambda: setting_variants(BASE, {"one": {}, "two": {"method": "mixx"}}), ("mixx",)),
        (lambda: setting_variants(BASE, {"one": {}, "two": {"plain_share": 0.3}}, "g.yaml"),
         ("g.yaml, two: plain_share=0.3", "no longer")),
        (lambda: setting_variants(BASE, {"one": {}, "two": {"model": "x"}}, own_models=False), ("two", "--models")),
        (lambda: data_sets_of({"one": {"data": "a.csv"}}, "s.yaml"), ("s.yaml: one", "`test: FILE`")),
        (lambda: data_sets_of({"one": {"data": "a", "test": "b", "seed": 3}}, "s.yaml"), ("s.yaml, one", "seed")),
        (lambda: data_sets_of({"../one": {"data": "a", "test": "b"}}, "s.yaml"), ('"../one"', "folder")),
        (lambda: data_sets_of({}, "s.yaml"), ("s.yaml: no data sets",)),
        (lambda: data_sets_of({"two": {"data": "a", "test": "b", "unlabelled": "c"}}, "s.yaml"),
         ("s.yaml, two: unlabelled", "no longer")),
        (lambda: gridded(seeds=[0]), ("--seeds", "two")),
        (lambda: gridded(seeds=[1, 1]), ("--seeds", "two")),
        (lambda: gridded(models=["one/tiny", "two/tiny"]), ("--models one/tiny,two/tiny", "same name")),
        (lambda: gridded(methods={"lr:1": {}, "lr-1": {"steps": 2}}), ('"lr:1" and "lr-1"', "folder")),
        (lambda: gridded(calibrate=True), ("plain: calibrate=True", "leave it out")),
        (lambda: gridded(methods=["plain", "tf-idf:window=2"]), ("tf-idf", "window")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(read, said):
    with pytest.raises(InputError) as refused:
        read()
    assert all(words in str(refused.value) for words in said) and "\n" not in str(refused.value)


def gridded(methods=("plain", "ssmix"), seeds=(0, 1), models=(), **settings):
    return grid_of(replace(BASE, **settings), methods, seeds, (), models, {}, ())


def test_a_comparison_needs_test_rows(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(InputError, match=r"a\.csv.*--test"):
        gridded(data=str(tmp_path / "a.csv"), test=None)
