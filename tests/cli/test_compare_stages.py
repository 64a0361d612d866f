"""`salience compare` and `salience train` with methods that go on from a stage of plain training."""

import json
from pathlib import Path

import pytest
import yaml
from pandas import read_csv
from test_bad_input import refused

from salience.comparison import budgets


@pytest.fixture
def compare(place, salience, tmp_path):
    def run(*options, steps=13):
        return salience("compare", place.data, "--test", place.test, "--model", place.model, "--steps", steps,
                        "--device", "cpu", "--seeds", "0,1", "--references", "none", "--output", tmp_path / "out",
                        *options)  # fmt: skip

    return run


def metrics_of(folder: Path) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def recipe_of(folder: Path) -> dict:
    return yaml.safe_load((folder / "recipe.yaml").read_text())


def changes(out: Path) -> dict[str, int]:
    return {file.parent.name: file.stat().st_mtime_ns for file in out.glob("*/metrics.json")}


def test_all_spend_as_much_as_plain_training(compare, tmp_path):
    """A step of EmbedMix costs 2 passes, so one of both stages costs 3/8 + 2 * 5/8 = 1.625: 8 steps, 3 plain ones."""
    answer = compare("--methods", "plain,embedmix,plain+embedmix,plain+plain")
    assert answer.code == 0, answer.err
    out = tmp_path / "out"
    assert {path.name for path in out.glob("*-0")} == {"plain-0", "embedmix-0", "plain+embedmix-0", "plain+plain-0"}
    spent = {path.name: (metrics_of(path)["steps"], metrics_of(path)["text_passes"]) for path in out.glob("*-1")}
    assert spent == {
        "plain-1": (13, 13 * 16), "embedmix-1": (6, 12 * 16), "plain+plain-1": (13, 13 * 16),
        "plain+embedmix-1": (8, (3 + 5 * 2) * 16),
    }  # fmt: skip
    assert "a step of plain+embedmix costs 1.62 passes of each text" in answer.out
    for name, method, share in (("plain", "plain", 0), ("plain+embedmix", "embedmix", 0.375),
                                ("plain+plain", "plain", 0.375)):  # fmt: skip
        recipe = recipe_of(out / f"{name}-0")
        assert (recipe["method"], recipe["plain_share"]) == (method, share)
    (results,) = json.loads((out / "comparison.json").read_text())["conditions"]
    assert list(results["scores"]) == ["plain", "embedmix", "plain+embedmix", "plain+plain"]
    assert list(results["differences"]) == ["embedmix", "plain+embedmix", "plain+plain"]
    assert {*read_csv(out / "results.csv")["method"]} == {*results["scores"]}
    for report in ("report.html", "report.md"):
        assert "plain+embedmix" in (out / report).read_text(encoding="utf-8").replace("\\", "")
    before = changes(out)
    again = compare("--methods", "plain,embedmix,plain+embedmix,plain+plain")
    assert again.code == 0 and changes(out) == before and "costs" not in again.out


def test_a_run_of_a_comparison_is_that_of_train(compare, place, salience, tmp_path):
    """With the same number of steps, and the same options of the method."""
    answer = compare("--methods", "plain+ssmix:window=0.3,plain", "--budget", "steps", steps=5)
    assert answer.code == 0, answer.err
    done = salience(
        "train", place.data, "--test", place.test, "--model", place.model, "--steps", "5", "--device", "cpu",
        "--method", "ssmix", "--set", "window=0.3", "--plain-share", "0.375", "--seed", "1", "--estimate", "none",
        "--output", tmp_path / "run",
    )  # fmt: skip
    assert done.code == 0, done.err
    kept = tmp_path / "out" / "plain+ssmix-window=0.3-1"
    assert recipe_of(kept) | {"estimate": "none"} == recipe_of(tmp_path / "run")  # a comparison makes none
    assert (kept / "predictions.jsonl").read_bytes() == (tmp_path / "run" / "predictions.jsonl").read_bytes()
    assert "stage 2 of 2: ssmix, 3 steps" in done.out


def test_the_baseline_may_have_two_stages(compare, tmp_path):
    """8 steps of 1.625 passes are as many as 6.5 of EmbedMix."""
    assert compare("--methods", "plain+embedmix,embedmix,plain", "--references", "majority", steps=8).code == 0
    steps = {name: metrics_of(tmp_path / "out" / f"{name}-0")["steps"] for name in ("plain+embedmix", "embedmix")}
    assert steps == {"plain+embedmix": 8, "embedmix": 6}
    assert metrics_of(tmp_path / "out" / "plain-0")["steps"] == 13
    assert recipe_of(tmp_path / "out" / "majority-0")["plain_share"] == 0


def test_two_steps_are_the_least(compare, tmp_path):
    assert compare("--methods", "plain,plain+embedmix", steps=2).code == 0
    assert metrics_of(tmp_path / "out" / "plain+embedmix-0")["steps"] == 2


def test_the_share_of_a_config_is_that_of_methods_with_a_plain_stage(compare, tmp_path):
    config = tmp_path / "settings.yaml"
    config.write_text("plain_share: 0.5\n")
    answer = compare("--methods", "plain,plain+embedmix", "--config", config, steps=6)
    assert answer.code == 0, answer.err
    shares = {name: recipe_of(tmp_path / "out" / f"{name}-0")["plain_share"] for name in ("plain", "plain+embedmix")}
    assert shares == {"plain": 0, "plain+embedmix": 0.5}
    assert metrics_of(tmp_path / "out" / "plain+embedmix-0")["text_passes"] == (2 + 2 * 2) * 16
    refused(compare("--methods", "plain,plain+embedmix", steps=6), "plain_share=0.5, not 0.375", "another --output")
    refused(compare("--methods", "plain,embedmix", "--config", config), "plain_share=0.5", "plain,plain+ssmix")


def test_measured_seconds_are_those_of_both_stages(compare, tmp_path, monkeypatch):
    seconds, measured = {"plain": 1.0, "embedmix": 3.0}, []

    def timed(recipe):
        measured.append((recipe.method, recipe.plain_share))
        return seconds[recipe.method]

    monkeypatch.setattr(budgets, "seconds_per_step", timed)
    assert compare("--methods", "plain,plain+embedmix", "--budget", "time", steps=18).code == 0
    assert measured == [("plain", 0), ("embedmix", 0)]
    assert metrics_of(tmp_path / "out" / "plain+embedmix-0")["steps"] == 8  # 3/8 + 3 * 5/8 = 2.25 seconds


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ("plain,plain+ssmx", 'unknown method "ssmx"'),
        ("plain,plain+majority", 'unknown method "majority"'),
        ("plain,plain+plain+ssmix", "write plain+ once"),
        ("plain,plain+plain:window=1", "'plain' has no options"),
        ("plain+ssmix,plain+ssmix", "at least two different methods"),
    ],
)
def test_names_that_are_none(methods, said, compare, tmp_path):
    refused(compare("--methods", methods), said)
    assert not (tmp_path / "out").exists()


def test_vat_is_refused_before_the_first_run(compare, tmp_path):
    refused(compare("--methods", "plain,plain+ssmix", "--model", "lstm-vat"), "VAT is trained by turns")
    assert not (tmp_path / "out").exists()


def test_a_run_has_the_name_of_both_stages(place, salience, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = salience(*place.train("--method", "plain+embedmix", "--plain-share", "0.5"))
    assert answer.code == 0, answer.err
    folder = tmp_path / "runs" / "train-plain+embedmix"
    assert (recipe_of(folder)["method"], recipe_of(folder)["plain_share"]) == ("embedmix", 0.5)
    again = salience("train", "--config", folder / "recipe.yaml", "--output", tmp_path / "again")
    assert again.code == 0, again.err
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    refused(salience(*place.train("--method", "plain+embedmix", "--plain-share", "1")), "--plain-share is 1", "0.95")


def test_the_table_of_methods_names_the_plain_stage(salience):
    answer = salience("methods")
    assert "plain+NAME" in answer.out
    card = salience("methods", "plain+ssmix")
    assert (card.code, card.out) == (0, salience("methods", "ssmix").out)
    refused(salience("methods", "plain+ssmx"), 'unknown method "ssmx"', 'Did you mean "ssmix"?')
