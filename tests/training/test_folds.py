"""Folds: stratified, and never through a group or through rows of one text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.training.estimate import choose_folds, fold_numbers, obstacle, recipe_of_folds, usual_estimate
from salience.training.recipe import Recipe


def texts_of(labels, texts=None, **known) -> Texts:
    texts = [f"text {number}" for number in range(len(labels))] if texts is None else texts
    return Texts(list(texts), labels=np.array(labels), **known)


def task_of(texts: Texts, **parts) -> Task:
    return Task([f"class {number}" for number in range(texts.known_labels.max() + 1)], texts, **parts)


def folds_of(texts: Texts, estimate: str | None = None, said: list | None = None, **settings):
    note = (lambda line: None) if said is None else said.append
    return choose_folds(Recipe("x", estimate=estimate, **settings), task_of(texts), note)


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_classes_are_spread_evenly(count):
    labels = np.repeat([0, 1, 2], [60, 41, 20])
    numbers = fold_numbers(texts_of(labels), count, 0)
    assert set(numbers) == set(range(1, count + 1))
    for label in range(3):
        sizes = np.bincount(numbers[labels == label], minlength=count + 1)[1:]
        assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(numbers, fold_numbers(texts_of(labels), count, 1))
    assert np.array_equal(numbers, fold_numbers(texts_of(labels), count, 0))


@pytest.mark.parametrize("count", [2, 5])
def test_no_group_is_divided(count):
    random = np.random.default_rng(0)
    groups = [f"author {number}" for number in random.integers(0, 40, 300)]
    labels = random.integers(0, 3, 300)
    numbers = fold_numbers(texts_of(labels, groups=groups), count, 0)
    for group in set(groups):
        assert len({number for number, of in zip(numbers, groups, strict=True) if of == group}) == 1
    assert np.bincount(numbers)[1:].min() > 300 / count / 2
    for label in range(3):  # as evenly as the groups allow
        sizes = np.bincount(numbers[labels == label], minlength=count + 1)[1:]
        assert sizes.max() - sizes.min() <= 12


def test_equal_texts_are_one_group_and_space_around_them_is_ignored():
    texts = [f"text {number % 25}" + " " * (number // 25) for number in range(100)]
    numbers = fold_numbers(texts_of(np.arange(100) % 2, texts), 5, 0)
    together = {}
    for text, number in zip(texts, numbers, strict=True):
        together.setdefault(text.strip(), set()).add(number)
    assert all(len(found) == 1 for found in together.values()) and len(set(numbers)) == 5


def test_pairs_are_equal_if_both_texts_are():
    first, second = ["a", "a", "b", "b", "c", "c"] * 4, ["x", "y"] * 12
    numbers = fold_numbers(Texts(first, second, np.array([0, 1] * 12)), 2, 0)
    for pair in set(zip(first, second, strict=True)):
        assert len({n for n, of in zip(numbers, zip(first, second, strict=True), strict=True) if of == pair}) == 1
    assert len(set(numbers)) == 2


def test_named_groups_take_the_place_of_equal_texts():
    """Then equal texts of two authors may be in two parts."""
    texts = texts_of([0, 1] * 10, ["same"] * 20, groups=[str(number) for number in range(20)])
    assert len(set(fold_numbers(texts, 2, 0))) == 2
    assert obstacle(texts_of([0, 1] * 10, ["same"] * 20), 2) == "there is only 1 text"


@pytest.mark.parametrize(
    ("texts", "kind", "message"),
    [
        (texts_of([0, 0, 1, 1, 2]), "folds:3", "parts, but no class has more than 2 rows: use --estimate folds:2, or"),
        (texts_of([0, 0, 1, 1, 2]), "holdout", "into 5 parts, but no class has more than 2 rows"),
        (texts_of([0, 1, 2]), "folds:2", "into 2 parts, but no class has more than 1 row: add rows, or use"),
        (texts_of([0, 1] * 9, "abc" * 6), "folds:5", "there are only 3 texts"),
        (texts_of([0, 1] * 9, groups=["a"] * 18), "folds:2", "there is only 1 group"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_divided(texts, kind, message):
    with pytest.raises(InputError) as error:
        folds_of(texts, kind)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_run_that_leaves_the_estimate_open_goes_on_without_one():
    said = []
    assert folds_of(texts_of([0, 1, 2]), said=said) is None
    assert said == ["no estimate: no class has more than 1 row"]
    assert usual_estimate(task_of(texts_of([0, 1, 2]))) == "none"
    rows = texts_of([0, 1] * 4)
    assert usual_estimate(task_of(rows)) == "folds:2"
    assert usual_estimate(task_of(rows, test=rows)) == "folds:2"
    assert usual_estimate(task_of(rows, validation=rows)) == "none"
    many = texts_of([0, 1] * 2500)
    assert usual_estimate(task_of(many)) == "folds:2" and usual_estimate(task_of(many, test=rows)) == "none"


def test_classes_in_one_part_are_named_once():
    said = []
    labels = np.repeat([0, 1, 2, 3], [20, 15, 1, 1])
    folds = folds_of(texts_of(labels), "folds:3", said)
    assert said == [
        'estimate: the classes "class 2", "class 3" are each in one part only, and are predicted by models that have '
        "not seen them"
    ]
    assert Counter(folds.numbers[labels == 2].tolist()).total() == 1


def test_of_a_holdout_only_the_first_part_counts():
    labels, said = np.repeat([0, 1], [50, 5]), []
    folds = folds_of(texts_of(labels, groups=["a"] * 10 + [str(n) for n in range(40)] + ["b"] * 5), "holdout", said)
    inside = folds.numbers[labels == 1][0] == 1
    assert len(said) == int(inside) and folds.predicted == [1]


def test_groups_without_an_estimate():
    with pytest.raises(InputError, match=r'^--group "author" has no effect without an estimate: add --estimate .*$'):
        folds_of(texts_of([0, 1] * 4, groups=list("abcdefgh")), "none", group="author")


def test_groups_of_which_there_is_only_one():
    said = r'^--group "author" has no effect without an estimate: none can be made, because there is only 1 group'
    with pytest.raises(InputError, match=said):
        folds_of(texts_of([0, 1] * 4, groups=["a"] * 8), None, group="author")


def test_groups_of_rows_that_are_held_out_need_no_estimate():
    """--validation-share does not divide them. The rows of a --validation file are others, and have no groups."""
    rows = texts_of([0, 1] * 4, groups=list("abcdefgh"))
    task = Task(["x", "y"], rows.take(range(6)), rows.take([6, 7]))
    given = Recipe("x", group="author", estimate="none", validation_share=0.25)
    assert choose_folds(given, task, print) is None
    with pytest.raises(InputError, match=r'^--group "author" has no effect without an estimate'):
        choose_folds(replace(given, validation="other.csv", validation_share=0.0), task, print)


def test_steps_follow_from_the_rows_if_those_of_the_run_do():
    def plan_of(recipe, rows):
        return recipe.resolved(rows, 2, 384, pooling="cls", head_start="random", max_length=8)

    asked = Recipe("x", learning_rate=0.1)
    run = plan_of(asked, 100)
    parts = recipe_of_folds(run, 100, 2)
    assert parts.steps is None and plan_of(parts, 50).steps == plan_of(asked, 50).steps != run.steps
    longer = recipe_of_folds(plan_of(Recipe("x", steps_factor=2.5), 100), 100, 2)
    assert plan_of(longer, 50).steps == round(2.5 * 62)
    assert plan_of(recipe_of_folds(plan_of(Recipe("x", steps=7), 100), 100, 2), 50).steps == 7
    large = recipe_of_folds(plan_of(Recipe("x"), 3000), 3000, 2)
    assert plan_of(large, 1500).batch_size == 32  # that of the run


@pytest.mark.parametrize("value", ["folds:1", "folds:21", "folds:", "folds:2.0", "folds", "Holdout", "5", 5, True, ""])
def test_kinds_that_are_none(value):
    with pytest.raises(InputError, match=r"^estimate=.*: give none, holdout, or folds:K"):
        Recipe("x", estimate=value)


@pytest.mark.parametrize("value", ["none", "holdout", "folds:2", "folds:20", None])
def test_kinds_of_estimates(value):
    assert Recipe("x", estimate=value).estimate == value
