"""Steps of equal budgets, against a search over all numbers of steps; and a measured step."""

import random

import pytest

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.comparison.planning import TIMED, UNTIMED, Clock, Known, counting_passes, seconds_per_step, steps_of
from salience.training.recipe import Recipe


def test_steps_are_those_whose_total_is_nearest():
    draw = random.Random(0)
    for _ in range(300):
        steps, cost, of_baseline = draw.randint(1, 60), draw.uniform(0.5, 3), draw.uniform(0.5, 3)
        nearest = min(range(1, 500), key=lambda own: abs(own * cost - steps * of_baseline))
        assert steps_of(steps, cost, of_baseline) == nearest
    assert steps_of(120, 2, 1) == 60
    assert steps_of(120, 5 / 3, 1) == 72
    assert steps_of(1, 6, 1) == 1  # at least one


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planned")
    model = families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)])
    data = str(write_csv(folder / "train.csv", labelled_rows(60)))

    def made(method, **settings) -> Recipe:
        return Recipe(data=data, model=str(model), steps=2, device="cpu", method=method, **settings)

    return made


def test_passes_of_several_methods_from_one_model(recipe):
    passes = counting_passes()
    assert [passes(recipe(method)) for method in ("plain", "ssmix", "senmixup")] == [1, 2, 1]
    auto = passes(recipe("attentionmix", method_options={"head": "auto"}))
    assert any(abs(auto - (2 + layer / families.LAYERS / 3)) < 1e-9 for layer in range(families.LAYERS))
    mixtures = [passes(recipe(method, clean=0.0)) for method in ("plain", "ssmix", "senmixup")]
    assert mixtures == pytest.approx([1, 5 / 3, 1])


def test_a_step_of_a_method_is_timed_once_and_kept(recipe, tmp_path, monkeypatch):
    timed, notes = [], []

    def measured(asked):
        timed.append((asked.method, asked.method_options))
        return {"plain": 1.0, "ssmix": 3.0}[asked.method] + asked.method_options.get("window", 0)

    monkeypatch.setattr("salience.comparison.planning.seconds_per_step", measured)
    plan = {
        "wide": recipe("ssmix", method_options={"window": 0.2}, seed=3), "ssmix": recipe("ssmix"),
        "same": recipe("ssmix"), "plain": recipe("plain"), "tf-idf": recipe("tf-idf"),
    }  # fmt: skip
    found = {"pooling": "cls", "head_start": "random", "max_length": 32, "precision": "fp32"}
    plan = {name: each.resolved(60, 2, 32, **found) for name, each in plan.items()}
    file = tmp_path / "grid.json"
    for _ in range(2):  # what was measured is kept
        known = Known.read(file)
        costs = known.costs_of(plan, "wide", "time", notes.append, "one")
        assert costs == pytest.approx({"wide": 3.2, "ssmix": 3, "same": 3, "plain": 1})  # a reference has no steps
        known.write()
    assert timed == [("ssmix", {"window": 0.2}), ("ssmix", {}), ("plain", {})]
    assert notes[0] == "one: a step of wide costs 3.2 seconds" and len(notes) == 3
    assert Known.read(file) == known
    file.write_text("damaged")
    assert Known.read(file) == Known(file)


def test_a_step_is_timed_after_some_that_do_not_count(recipe, monkeypatch):
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
    assert seconds_per_step(recipe("plain")) == (TIMED + 1) / 2
    assert len(clocks[0].seconds) == steps and not times
