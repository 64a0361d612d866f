"""Steps of equal budgets, against a search over all numbers of steps; and a measured step."""

import random
from dataclasses import replace

import pytest

import families
from labelled import FILLER, WORDS, labelled_rows, rows_of_several, write_csv
from salience.comparison.grid import Grid, setting_variants
from salience.comparison.planning import (
    TIMED,
    UNTIMED,
    Clock,
    Known,
    counting_passes,
    plans_of,
    seconds_per_step,
    steps_of,
)
from salience.errors import InputError
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
        return Recipe(data=data, model=str(model), device="cpu", method=method, **{"steps": 2} | settings)

    return made


def test_passes_of_several_methods_from_one_model(recipe):
    passes = counting_passes()
    assert [passes(recipe(method)) for method in ("plain", "ssmix", "senmixup")] == [1, 2, 1]
    auto = passes(recipe("attentionmix", method_options={"head": "auto"}))
    assert any(abs(auto - (2 + layer / families.LAYERS / 3)) < 1e-9 for layer in range(families.LAYERS))
    mixtures = [passes(recipe(method, clean=0.0)) for method in ("plain", "ssmix", "senmixup")]
    assert mixtures == pytest.approx([1, 5 / 3, 1])


def test_methods_are_compared_at_one_depth(recipe, tmp_path):
    """Otherwise a difference between them would be one of depth, and their passes those of another training."""

    def planned(folder: str, **recipes):
        test, notes = str(write_csv(tmp_path / "test.csv", labelled_rows(9, seed=1))), []
        grid = Grid({name: replace(each, test=test) for name, each in recipes.items()}, [0])
        (plans,) = plans_of(grid, tmp_path / folder, note=notes.append).values()
        assert ("all layers are trained by all methods" in str(notes)) == ("ssmix" in recipes)
        return {name: plan.trained_layers for name, plan in plans.items()}, {n: p.steps for n, p in plans.items()}

    top = {"trained_layers": 1, "steps": 8}
    plain, sentence, whole = recipe("plain", **top), recipe("senmixup", **top), recipe("plain", steps=8)
    assert planned("top", plain=plain, senmixup=sentence) == ({"plain": 1, "senmixup": 1}, {"plain": 8, "senmixup": 8})
    depths, steps = planned("all", plain=plain, senmixup=sentence, ssmix=recipe("ssmix", **top))
    assert set(depths.values()) == {"all"} and steps == {"plain": 8, "senmixup": 8, "ssmix": 4}
    depths, _ = planned("asked", plain=whole, top=plain)  # two depths are what is compared
    assert depths == {"plain": "all", "top": 1}


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


@pytest.fixture(scope="module")
def planned(recipe):
    """Plans of variants of plain training with four steps, over one or two data sets; and what was told."""

    def made(variants, output, budget="passes", sets=None, seeds=(0, 1), **settings):
        base = replace(recipe("plain", **settings), steps=4, test=recipe("plain").data)
        notes = []
        grid = Grid(setting_variants(base, variants), seeds, (), (), sets or {})
        return plans_of(grid, output, budget, notes.append), [line for line in notes if "costs" in line]

    return made


def steps_in(plans) -> dict[str, int]:
    (plan,) = plans.values()
    return {name: each.steps for name, each in plan.items()}


def test_methods_spend_as_much_as_the_baseline(planned, tmp_path):
    """Batches of 16; half as many texts a step are paid by twice as many steps. A second command finds out nothing."""
    variants = {
        "usual": {}, "embedmix": {"method": "embedmix"}, "senmixup": {"method": "senmixup"},
        "small": {"batch_size": 8}, "long": {"steps": 7}, "half": {"precision": "bf16"},
    }  # fmt: skip
    expected = {"usual": 4, "embedmix": 2, "senmixup": 4, "small": 8, "long": 7, "half": 4}
    plans, notes = planned(variants, tmp_path)
    assert steps_in(plans) == expected and any(
        "embedmix costs 2 forward-backward passes per text" in line for line in notes
    )
    (plan,) = plans.values()
    assert (plan["usual"].precision, plan["half"].precision) == ("fp32", "bf16")
    assert {name: each.method for name, each in plan.items() if each.method != "plain"} == {
        "embedmix": "embedmix", "senmixup": "senmixup"
    }  # fmt: skip
    known = (tmp_path / "grid.json").read_bytes()
    planned(variants, tmp_path)  # as after a command that was killed before its first run
    assert (tmp_path / "grid.json").read_bytes() == known
    again, notes = planned(variants, tmp_path, seeds=(5, 6))
    assert steps_in(again) == expected and notes == []
    assert steps_in(planned(variants, tmp_path, "steps")[0]) == dict.fromkeys(variants, 4) | {"long": 7}


def test_mixtures_only_cost_the_guide_alone(planned, tmp_path):
    """ssmix takes 5/3 passes, of which the guide is 2/3."""
    variants = {"ssmix": {"method": "ssmix"}, "embedmix": {"method": "embedmix"}, "usual": {"method": "plain"}}
    plans, _ = planned(variants, tmp_path, clean=0.0)
    assert steps_in(plans) == {"ssmix": 4, "embedmix": 7, "usual": 7}


def test_measured_steps_are_kept(planned, tmp_path, monkeypatch):
    """A second command would measure other times; the grid keeps its own, and a new method is measured then."""
    seconds, measured = {"plain": 1.0, "embedmix": 2.0}, []

    def timed(plan):
        measured.append(plan.method)
        return seconds[plan.method]

    monkeypatch.setattr("salience.comparison.planning.seconds_per_step", timed)
    variants = {"usual": {}, "embedmix": {"method": "embedmix"}}
    assert steps_in(planned(variants, tmp_path, "time")[0]) == {"usual": 4, "embedmix": 2}
    seconds |= {"plain": 7.0, "embedmix": 1.0, "wordmixup": 4.0}
    variants["word"] = {"method": "wordmixup"}
    plans, _ = planned(variants, tmp_path, "time", seeds=(1, 2))
    assert steps_in(plans) == {"usual": 4, "embedmix": 2, "word": 1}
    assert measured == ["plain", "embedmix", "wordmixup"] and not list(tmp_path.glob("*measuring*"))


@pytest.mark.whole
def test_a_real_clock(planned, tmp_path):
    plans, _ = planned({"usual": {}, "embedmix": {"method": "embedmix"}}, tmp_path, "time")
    costs = {plan.method: cost for _, plan, cost in Known.read(tmp_path / "grid.json").costs}
    assert min(costs.values()) > 0
    assert steps_in(plans)["embedmix"] == max(1, round(4 * costs["plain"] / costs["embedmix"]))


def test_data_sets_of_both_kinds_of_labels_and_those_without_test_rows(planned, recipe, tmp_path):
    one = recipe("plain").data
    several = str(write_csv(tmp_path / "several.csv", rows_of_several(40, 0)))
    variants, columns = {"usual": {}, "long": {"steps": 7}}, {"text": "text", "label": "label"}
    sets = {"one": {"data": one, "test": one}, "several": {"data": several, "test": several} | columns}
    with pytest.raises(InputError, match="data sets one and several have one label each"):
        planned(variants, tmp_path / "both", sets=sets)
    sets = {"one": {"data": one, "test": None}}
    with pytest.raises(InputError, match=r"no test part.*--test"):
        planned(variants, tmp_path / "none", sets=sets)
    with pytest.raises(InputError, match="--budget"):
        planned(variants, tmp_path / "texts", "texts")
