"""Every setting of a recipe, given values of every type: it is accepted, or one line names it."""

import datetime
import math
import re
from collections import namedtuple
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
import yaml

from salience.errors import InputError
from salience.runs.folder import RunFolder
from salience.runs.retired import RETIRED
from salience.training.recipe import EFFORTS, Plan, Recipe

ITSELF = []
ITSELF.append(ITSELF)  # a yaml file can say this: &a [*a]
LAUGHS = ["lol"]
for _ in range(40):  # and this: 2^40 values in a few lines
    LAUGHS = [LAUGHS, LAUGHS]
Point = namedtuple("Point", "x y")
FOUND = {"pooling": "cls", "head_start": "random", "max_length": 8}  # by the model
VALUES = {
    "true": True, "false": False, "text": "many", "yes": "yes", "empty": "", "list": [1, 2], "no list": [],
    "mapping": {"a": 1}, "no mapping": {}, "number keys": {1: 2}, "nan": math.nan, "inf": math.inf, "-inf": -math.inf,
    "negative": -1, "huge": 10**400, "tiny": 1e-300, "half": 0.5, "zero": 0, "one": 1, "seven": 7.0, "null": None,
    "date": datetime.date(2020, 1, 1), "time": datetime.datetime(2020, 1, 1, 12), "bytes": b"abc", "set": {1, 2},
    "nested list": [[1], [2]], "nested mapping": {"a": {"b": {"c": 1}}}, "mapping of lists": {"a": [1, [2]]},
    "mapping of null": {"a": None}, "mapping of nan": {"a": math.nan}, "itself": ITSELF, "laughs": LAUGHS,
    "mapping of laughs": {"a": LAUGHS}, "complex": 1j, "object": object(), "class": int, "point": Point(1, 2),
    "numpy bool": np.bool_(True), "numpy nan": np.float64("nan"), "array": np.arange(3), "lines": "a\nb",
}  # fmt: skip


def test_any_value_is_taken_or_refused_in_one_line():
    owners = {"method_options": "--method", "model_options": "--model"}  # whose options do not fit
    for name, value in product([field.name for field in fields(Recipe)], VALUES.values()):
        try:
            recipe = Recipe(**({"data": "x"} | {name: value}))
        except InputError as error:
            assert name in str(error) or owners[name] in str(error), (name, value)
            assert "\n" not in str(error) and len(str(error)) < 400
        else:
            recipe.as_mapping()


NUMBERS = ["validation_share", "clean", "learning_rate", "weight_decay", "warmup", "label_smoothing", "max_length",
           "steps", "steps_factor", "batch_size", "accumulation", "evaluations", "patience", "seed"]  # fmt: skip


def test_a_number_is_neither_a_text_nor_true():
    for name, value in product(NUMBERS, [True, "yes", "5", [5], math.nan]):
        with pytest.raises(InputError, match=f"^{name}=.*: give a (whole )?number from"):
            Recipe("x", **{name: value})


def test_numbers_are_written_as_plain_ones():
    recipe = Recipe("x", steps=np.int64(5), learning_rate=np.float32(0.5), batch_size=1e2, clean=0, seed=np.uint8(3))
    assert [type(value) for value in (recipe.steps, recipe.learning_rate, recipe.batch_size, recipe.seed)] == [
        int, float, int, int
    ]  # fmt: skip
    assert (recipe.steps, recipe.learning_rate, recipe.batch_size, recipe.clean, recipe.seed) == (5, 0.5, 100, 0, 3)


def test_values_inside_options_are_plain_ones_too():
    """So that the recipe can be written, and a run that is resumed has the same settings."""
    options = {"levels": (3, np.int64(6))}
    recipe = Recipe("x", class_weights={"a": np.float64(2)}, method="tmix", method_options=options)
    assert recipe.class_weights == {"a": 2.0} and recipe.method_options == {"levels": [3, 6]}
    assert Recipe.from_mapping(yaml.safe_load(yaml.safe_dump(recipe.as_mapping()))) == recipe


def test_a_plan_leaves_nothing_open_and_is_written_as_the_recipe_is():
    plan = Recipe("x").resolved(60, 3, 768, **FOUND)
    assert list(plan.as_mapping()) == list(Recipe("x").as_mapping())
    assert Plan.from_mapping(yaml.safe_load(yaml.safe_dump(plan.as_mapping()))) == plan
    assert plan.resolved(500, 9, 32) == plan
    with pytest.raises(InputError, match="steps, batch_size"):
        Plan.from_mapping(plan.as_mapping() | {"steps": None, "batch_size": None})


def test_a_learning_rate_of_0_is_no_missing_one():
    assert Recipe("x", learning_rate=0).resolved(60, 3, 768, **FOUND).learning_rate == 0
    assert Recipe("x").resolved(60, 3, 768, **FOUND).learning_rate == 5e-5


def test_nothing_behind_options_is_none():
    settings = {"data": "x", "method_options": None, "model_options": None}
    assert Recipe.from_mapping(settings) == Recipe("x")


def test_class_weights_name_labels_that_are_numbers():
    assert Recipe("x", class_weights={0: 1, 1: 2.5}).class_weights == {0: 1, 1: 2.5}


def test_a_method_is_named_with_its_options():
    recipe = Recipe("x", method="dropmix-g:ratio=0.3,height=[2, 4]", method_options={"alpha": 1})
    assert (recipe.method, recipe.method_options) == ("dropmix-g", {"alpha": 1, "ratio": 0.3, "height": [2, 4]})
    with pytest.raises(InputError, match="write it as field=value"):
        Recipe("x", method="ssmix:window")


def test_a_factor_of_the_steps_that_follow_from_the_data():
    """50 rows of two classes: 100 / sqrt(25) = 20 epochs of 50 / 16 steps, 62 of them."""
    for factor, steps in [(1, 62), (0.5, 31), (2, 124), (0.01, 1)]:
        assert Recipe("x", steps_factor=factor).resolved(50, 2, 384, **FOUND).steps == steps
        assert Recipe("x", steps_factor=factor, steps=7).resolved(50, 2, 384, **FOUND).steps == 7


def test_a_retired_setting_is_ignored_where_it_asks_for_nothing_and_else_refused_with_what_to_do():
    for name, (unused, instead) in RETIRED.items():
        for value in unused:
            assert Recipe.from_mapping({"data": "x.csv", name: value}) == Recipe("x.csv")
        with pytest.raises(InputError, match=f"recipe.yaml: {name}=0.5 .*{re.escape(instead)}"):
            Recipe.from_mapping({"data": "x.csv", name: 0.5}, "recipe.yaml")


def test_a_retired_method_is_refused_with_what_to_do():
    instead = {"auto": "salience compare", "plain+ssmix": "--model FOLDER", "plain+ssmix:window=0.2": "--model FOLDER"}
    for name in instead:
        with pytest.raises(InputError, match=f"--method {re.escape(name)} .*{instead[name]}"):
            Recipe("x.csv", method=name)


# What every recipe.yaml of commit 5ce6154 holds beside the settings that remain, where none of it is used.
OF_5CE6154 = {
    "unlabelled": None, "unlabelled_labels": "fixed", "unlabelled_view": "randomunk:window=0.15",
    "unlabelled_partners": "unlabelled", "unlabelled_ratio": 2, "unlabelled_weight": 1.0, "plain_share": 0.0,
    "auto_budget": 12.0, "layer_decay": 1.0, "average": "none", "r_drop": 0.0, "contrastive_memory": 0,
}  # fmt: skip


def test_the_recipe_of_an_earlier_run_repeats_it():
    recipe = Recipe("x.csv", method="ssmix", steps=5, checksums={"x.csv": "0"})
    assert Recipe.from_mapping(recipe.as_mapping() | OF_5CE6154) == recipe
    earlier = recipe.as_mapping()
    del earlier["head_end"], earlier["effort"]
    assert Recipe.from_mapping(earlier) == replace(recipe, head_end="trained")
    del earlier["checksums"]  # a file that a person wrote
    assert Recipe.from_mapping(earlier) == replace(recipe, checksums={})


SMALL = FOUND | {"pooling": "mean", "head_start": "logistic"}


def test_efforts_are_steps_rates_and_heads():
    """400 rows of four classes: 10 epochs, 250 steps of 16."""
    plans = {name: Recipe("x", effort=name).resolved(400, 4, 384, **SMALL) for name in (None, *EFFORTS)}
    found = {
        name: (plan.steps, plan.batch_size, plan.learning_rate, plan.head_end, plan.steps_factor)
        for name, plan in plans.items()
    }
    assert found == {
        None: (62, 16, 1e-4, "logistic", 0.25),
        "normal": (62, 16, 1e-4, "logistic", 0.25),
        "quick": (31, 16, 2e-4, "logistic", 0.125),
        "best": (250, 16, 5e-5, "logistic", 1.0),
    }


def test_efforts_with_many_rows_see_larger_shares():
    """2,500 rows of four classes: 4 epochs, 312 steps of 32."""
    plans = {name: Recipe("x", effort=name).resolved(2500, 4, 384, **SMALL) for name in (None, *EFFORTS)}
    found = {name: (plan.steps, plan.batch_size, plan.learning_rate, plan.head_end) for name, plan in plans.items()}
    assert found == {
        None: (156, 32, 1e-4, "logistic"),
        "normal": (156, 32, 1e-4, "logistic"),
        "quick": (78, 32, 1e-4, "logistic"),
        "best": (312, 32, 5e-5, "logistic"),
    }


def test_all_layers_are_trained_unless_fewer_are_asked_for():
    for effort in EFFORTS:
        assert Recipe("x", effort=effort).resolved(400, 4, 384, **SMALL).trained_layers == "all"
    assert [Recipe("x", trained_layers=asked).trained_layers for asked in ("auto", "2", 0)] == ["all", 2, 0]


@pytest.mark.parametrize(
    ("rows", "found"),
    [(10_001, SMALL), (60, SMALL | {"several": True}), (60, FOUND | {"pooling": "cls"})],
    ids=["many rows", "several labels", "cls"],
)
def test_elsewhere_there_is_one_effort(rows, found):
    best = Recipe("x", effort="best").resolved(rows, 4, 384, **found)
    assert replace(best, effort=None) == Recipe("x").resolved(rows, 4, 384, **found)
    assert best.steps_factor == 1 and best.head_end == "trained" and best.trained_layers == "all"
    with pytest.raises(InputError, match="--effort quick is for encoders with mean pooling, one label a text and up"):
        Recipe("x", effort="quick").resolved(rows, 4, 384, **found)


def test_validation_rows_choose_among_trained_heads():
    assert Recipe("x").resolved(60, 4, 384, **SMALL, validated=True).head_end == "trained"


def test_the_steps_of_an_effort_are_a_factor_that_can_be_replaced():
    assert Recipe("x", effort="quick", steps_factor=2).resolved(400, 4, 384, **SMALL).steps == 500


def test_an_interrupted_run_is_resumed_unless_it_used_what_is_retired(tmp_path):
    recipe = Recipe("x.csv", method="ssmix").as_mapping()
    folder = RunFolder(tmp_path / "run", resume=True)
    folder.work.mkdir()
    (folder.work / "recipe.yaml").write_text(yaml.safe_dump(recipe | OF_5CE6154))
    folder.open(recipe)
    (folder.work / "recipe.yaml").write_text(yaml.safe_dump(recipe | OF_5CE6154 | {"plain_share": 0.375}))
    with pytest.raises(InputError, match=r"run: plain_share=0\.375 .*--model FOLDER"):
        folder.open(recipe)
