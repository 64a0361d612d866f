"""Steps of equal budgets, against a search over all numbers of steps; and a measured step."""

import random

import pytest

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.comparison.budgets import TIMED, UNTIMED, Clock, by_passes, by_time, steps_of
from salience.errors import InputError
from salience.training.recipe import Recipe


def nearest_steps(steps, cost, of_baseline):
    """The number of steps whose total is closest to the baseline's, tried one by one."""
    return min(range(1, 500), key=lambda own: abs(own * cost - steps * of_baseline))


def test_steps_are_those_whose_total_is_nearest():
    draw = random.Random(0)
    for _ in range(300):
        steps, cost, of_baseline = draw.randint(1, 60), draw.uniform(0.5, 3), draw.uniform(0.5, 3)
        assert steps_of(steps, cost, of_baseline) == nearest_steps(steps, cost, of_baseline)
    assert steps_of(120, 2, 1) == 60
    assert steps_of(120, 5 / 3, 1) == 72
    assert steps_of(1, 6, 1) == 1  # at least one
    assert (steps_of(1, 6, 1, least=2), steps_of(120, 2, 1, least=2)) == (2, 60)


def recipe_of(tmp_path, **settings) -> Recipe:
    model = families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])
    data = str(write_csv(tmp_path / "train.csv", labelled_rows(60)))
    return Recipe(data=data, model=str(model), steps=2, device="cpu", **settings)


def test_passes_of_several_methods_from_one_model(tmp_path):
    methods = ["plain", "ssmix", "senmixup", "attentionmix:head=auto"]
    found = by_passes({name: recipe_of(tmp_path, method=name) for name in methods})
    assert list(found) == methods
    auto = found.pop("attentionmix:head=auto")
    assert found == {"plain": 1, "ssmix": 2, "senmixup": 1}
    assert any(abs(auto - (2 + layer / families.LAYERS / 3)) < 1e-9 for layer in range(families.LAYERS))
    mixtures = by_passes({name: recipe_of(tmp_path, method=name, clean=0.0) for name in methods[:3]})
    assert mixtures == pytest.approx({"plain": 1, "ssmix": 5 / 3, "senmixup": 1})


def test_a_plain_stage_has_its_share_of_the_cost(tmp_path):
    """By steps of both stages, summed up one by one: 3 of 8 are plain ones, or 1 of 4."""
    expected = {
        "plain+ssmix": sum([1.0] * 3 + [2.0] * 5) / 8,
        "plain+plain": 1,
        "plain+senmixup": 1,
        "plain": 1,
    }
    found = by_passes({name: recipe_of(tmp_path, method=name) for name in expected})
    assert found == pytest.approx(expected)
    quarter = by_passes({"plain+ssmix": recipe_of(tmp_path, method="ssmix", plain_share=0.25, clean=0.0)})
    assert quarter == pytest.approx({"plain+ssmix": sum([1.0] + [5 / 3] * 3) / 4})


def test_texts_without_labels_cost_a_teacher_and_their_own_passes(tmp_path):
    """For each labelled text of a step: the teacher's pass, the student's, and those of two other texts."""
    few, more = (
        str(write_csv(tmp_path / f"{count}.csv", [[text] for text, _ in labelled_rows(count, seed=2)], ["text"]))
        for count in (8, 80)
    )
    settings = {
        "with": {"method": "plain", "unlabelled_view": "plain"},
        "more of them": {"method": "plain", "unlabelled_ratio": 5},
        "mixed": {"method": "plain", "unlabelled_view": "ssmix"},
        "mixed with all": {"method": "plain", "unlabelled_view": "ssmix", "unlabelled_partners": "all"},
        "labelled by the model": {"method": "plain", "unlabelled_view": "plain", "unlabelled_labels": "moving"},
        "ssmix": {"method": "ssmix"},
        "none of them": {"method": "plain", "unlabelled_ratio": 0},
    }
    recipes = {name: recipe_of(tmp_path, unlabelled=more, **each) for name, each in settings.items()}
    expected = {"with": 1 + 1 + 2, "more of them": 1 + 1 + 5, "mixed": 1 + 1 + 2 * 5 / 3,
                "mixed with all": 1 + 1 + 3 * 5 / 3, "labelled by the model": 1 + 1 + 2 + 2 / 3, "ssmix": 2 + 2 + 2,
                "none of them": 1}  # fmt: skip
    recipes["with few"] = recipe_of(tmp_path, unlabelled=few, **settings["with"])  # a step has all of them
    assert by_passes(recipes) == pytest.approx(expected | {"with few": 1 + 1 + 8 / 16})
    with pytest.raises(InputError, match="--budget time cannot measure the two phases of --unlabelled"):
        by_time({"with": recipes["with"]})


def test_a_step_of_a_method_is_timed_once_and_a_plain_one_too(tmp_path, monkeypatch):
    timed = []

    def seconds_per_step(recipe):
        timed.append((recipe.method, recipe.method_options, recipe.plain_share))
        return {"plain": 1.0, "ssmix": 3.0}[recipe.method] + recipe.method_options.get("window", 0)

    monkeypatch.setattr("salience.comparison.budgets.seconds_per_step", seconds_per_step)
    names = ["plain+ssmix:window=0.2", "plain+ssmix", "ssmix", "plain"]
    found = by_time({name: recipe_of(tmp_path, method=name) for name in names})
    assert found == pytest.approx(
        {names[0]: (3 * 1 + 5 * 3.2) / 8, "plain+ssmix": (3 * 1 + 5 * 3) / 8, "ssmix": 3, "plain": 1}
    )
    assert timed == [("plain", {}, 0), ("ssmix", {"window": 0.2}, 0), ("ssmix", {}, 0)]


def test_a_step_is_timed_after_some_that_do_not_count(tmp_path, monkeypatch):
    """A clock that goes on by the number of the step: the median of the timed ones is known."""
    clocks = []

    class Slower(Clock):
        def __init__(self):
            super().__init__()
            clocks.append(self)

    steps = UNTIMED + TIMED
    times = [value for step in range(steps) for value in (0.0, 100.0 if step < UNTIMED else step - UNTIMED + 1.0)]
    monkeypatch.setattr("salience.comparison.budgets.Clock", Slower)
    monkeypatch.setattr("salience.comparison.budgets.moment", lambda: times.pop(0))
    found = by_time({"plain": recipe_of(tmp_path, method="plain")})
    assert len(clocks[0].seconds) == steps and not times
    assert found == {"plain": (TIMED + 1) / 2}
