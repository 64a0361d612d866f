"""`salience compare --budget`: the steps of each method, and what its runs have spent."""

import json

import pytest
from pandas import read_csv

from salience.comparison import planning as budgets


@pytest.fixture
def compare(place, salience, tmp_path):
    def run(*options, output="out", steps=4):
        return salience("compare", place.data, "--test", place.test, "--model", place.model, "--steps", steps,
                        "--device", "cpu", "--seeds", "0,1", "--references", "none", "--output", tmp_path / output,
                        *options)  # fmt: skip

    return run


def spent(folder) -> dict[str, tuple[int, float]]:
    """The steps and the passes of each method with seed 0, from its metrics."""
    runs = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*-0/metrics.json")}
    return {name.removesuffix("-0"): (run["steps"], run["text_passes"]) for name, run in runs.items()}


def test_methods_read_as_many_texts_as_the_baseline(compare, tmp_path):
    """Batches of 16: plain training reads each text once a step, EmbedMix twice, senMixup shares all layers."""
    answer = compare("--methods", "plain,embedmix,senmixup", steps=5)
    assert answer.code == 0, answer.err
    assert spent(tmp_path / "out") == {"plain": (5, 80), "embedmix": (2, 64), "senmixup": (5, 80)}
    assert "a step of embedmix costs 2 passes of each text" in answer.out
    table = read_csv(tmp_path / "out" / "results.csv").set_index(["method", "seed"])
    assert table.loc["embedmix", 1]["text_passes"] == 64 and (table["seconds"] > 0).all()
    again = compare("--methods", "plain,embedmix,senmixup", steps=5)
    assert again.code == 0 and "costs" not in again.out


def test_mixtures_only_cost_the_guide_alone(compare, tmp_path):
    (tmp_path / "settings.yaml").write_text("clean: 0\n")
    answer = compare("--methods", "ssmix,embedmix,plain", "--config", tmp_path / "settings.yaml", steps=6)
    assert answer.code == 0, answer.err
    assert spent(tmp_path / "out") == {"ssmix": (6, 160), "embedmix": (10, 160), "plain": (10, 160)}


def test_equal_steps(compare, tmp_path):
    assert compare("--methods", "plain,embedmix", "--budget", "steps").code == 0
    assert spent(tmp_path / "out") == {"plain": (4, 64), "embedmix": (4, 128)}
    other = compare("--methods", "plain,embedmix")
    assert other.code == 2 and "embedmix-0 was run with steps=4, not 2" in other.err


def test_measured_steps_are_kept(compare, tmp_path, monkeypatch):
    """A second command would measure other times; the grid keeps its own, and a new method is measured then."""
    seconds = {"plain": 1.0, "embedmix": 1.5}
    measured = []

    def timed(recipe):
        measured.append(recipe.method)
        return seconds[recipe.method]

    monkeypatch.setattr(budgets, "seconds_per_step", timed)
    asked = ["--budget", "time", "--methods"]
    assert compare(*asked, "plain,embedmix", steps=6).code == 0
    assert {method: steps for method, (steps, _) in spent(tmp_path / "out").items()} == {"plain": 6, "embedmix": 4}
    seconds |= {"plain": 7.0, "embedmix": 1.0, "wordmixup": 3.0}
    again = compare(*asked, "plain,embedmix,wordmixup", "--seeds", "1,2", steps=6)  # other seeds, too
    assert again.code == 0, again.err
    assert measured == ["plain", "embedmix", "wordmixup"]
    metrics = json.loads((tmp_path / "out" / "wordmixup-1" / "metrics.json").read_text())
    assert metrics["steps"] == 2


def test_a_real_clock(compare, tmp_path):
    answer = compare("--budget", "time", "--methods", "plain,embedmix", steps=3)
    assert answer.code == 0, answer.err
    costs = {
        recipe["method"]: cost for _, recipe, cost in json.loads((tmp_path / "out" / "grid.json").read_text())["costs"]
    }
    steps = {method: steps for method, (steps, _) in spent(tmp_path / "out").items()}
    assert min(costs.values()) > 0 and steps["plain"] == 3
    assert steps["embedmix"] == max(1, round(3 * costs["plain"] / costs["embedmix"]))
    assert not list((tmp_path / "out").glob("*measuring*"))


def test_a_budget_that_is_none(compare, tmp_path):
    answer = compare("--budget", "texts")
    assert answer.code == 2 and "--budget" in answer.err and "passes" in answer.err and answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
