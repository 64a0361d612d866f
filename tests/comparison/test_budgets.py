"""Steps of equal budgets, against a search over all numbers of steps; and a measured step."""

import random

import pytest

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.comparison.planning import TIMED, UNTIMED, Clock, by_passes, by_time, steps_of
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


def test_a_step_of_a_method_is_timed_once_and_a_plain_one_too(tmp_path, monkeypatch):
    timed = []

    def seconds_per_step(recipe):
        timed.append((recipe.method, recipe.method_options))
        return {"plain": 1.0, "ssmix": 3.0}[recipe.method] + recipe.method_options.get("window", 0)

    monkeypatch.setattr("salience.comparison.planning.seconds_per_step", seconds_per_step)
    names = ["ssmix:window=0.2", "ssmix", "plain"]
    found = by_time({name: recipe_of(tmp_path, method=name) for name in names})
    assert found == pytest.approx({names[0]: 3.2, "ssmix": 3, "plain": 1})
    assert timed == [("ssmix", {"window": 0.2}), ("ssmix", {}), ("plain", {})]


def test_a_step_is_timed_after_some_that_do_not_count(tmp_path, monkeypatch):
    """A clock that goes on by the number of the step: the median of the timed ones is known."""
    clocks = []

    class Slower(Clock):
        def __init__(self):
            super().__init__()
            clocks.append(self)

    steps = UNTIMED + TIMED
    times = [value for step in range(steps) for value in (0.0, 100.0 if step < UNTIMED else step - UNTIMED + 1.0)]
    monkeypatch.setattr("salience.comparison.planning.Clock", Slower)
    monkeypatch.setattr("salience.comparison.planning.moment", lambda: times.pop(0))
    found = by_time({"plain": recipe_of(tmp_path, method="plain")})
    assert len(clocks[0].seconds) == steps and not times
    assert found == {"plain": (TIMED + 1) / 2}
