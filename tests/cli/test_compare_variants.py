"""`salience compare --variants`: recipes that differ in any settings are compared as methods are."""

import json

import numpy as np
import pytest
import yaml

VARIANTS = {
    "usual": {},
    "fast": {"learning_rate": 0.01, "batch_size": 8},
    "mixed": {"method": "embedmix", "clean": 0.0},
    "long": {"steps": 7},
}


@pytest.fixture
def compare(place, salience, tmp_path):
    def run(variants, *options, output="out"):
        (tmp_path / "plain.yaml").write_text("method: plain\n")
        file = tmp_path / "variants.yaml"
        file.write_text(yaml.safe_dump(variants, sort_keys=False))
        given = () if "--data-sets" in options else (place.data, "--test", place.test)
        return salience("compare", *given, "--model", place.model, "--steps", 4,
                        "--config", tmp_path / "plain.yaml",
                        "--device", "cpu", "--seeds", "0,1", "--references", "frozen", "--variants", file,
                        "--output", tmp_path / output, *options)  # fmt: skip

    return run


def recipe_of(folder) -> dict:
    return yaml.safe_load((folder / "recipe.yaml").read_text())


def probabilities(folder) -> np.ndarray:
    with np.load(folder / "probabilities.npz") as arrays:
        return arrays["probabilities"]


def test_each_variant_is_the_run_that_train_makes(compare, salience, place, tmp_path):
    answer = compare(VARIANTS)
    assert answer.code == 0, answer.err
    out = tmp_path / "out"
    own = {name: recipe_of(out / f"{name}-1") for name in VARIANTS}
    assert (own["fast"]["learning_rate"], own["fast"]["batch_size"]) == (0.01, 8)
    assert (own["mixed"]["method"], own["mixed"]["clean"]) == ("embedmix", 0.0)
    # Half as many texts a step are paid by twice as many steps; mixtures alone cost as much as plain training.
    assert {name: recipe["steps"] for name, recipe in own.items()} == {"usual": 4, "fast": 8, "mixed": 4, "long": 7}
    alone = tmp_path / "alone"
    assert salience("train", place.data, "--test", place.test, "--model", place.model, "--method", "plain",
                    "--device", "cpu", "--seed", 1, "--steps", 8, "--batch-size", 8, "--learning-rate", 0.01,
                    "--estimate", "none", "--output", alone).code == 0  # fmt: skip
    assert (probabilities(out / "fast-1") == probabilities(alone)).all()
    result = json.loads((out / "comparison.json").read_text())
    assert list(result["conditions"][0]["scores"]) == [*VARIANTS, "frozen"]
    page, words = (out / "report.html").read_text(), (out / "report.md").read_text()
    assert "<th>variant</th>" in page and "| fast | plain | none |" in words
    moments = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    assert compare(VARIANTS).code == 0
    assert all(path.stat().st_mtime_ns == moment for path, moment in moments.items())


def test_a_variant_that_has_changed_is_refused(compare):
    assert compare({"usual": {}, "fast": {"learning_rate": 0.01}}).code == 0
    answer = compare({"usual": {}, "fast": {"learning_rate": 0.02}})
    assert answer.code == 2 and "fast-0 was run with learning_rate=0.01, not 0.02" in answer.err


def test_variants_over_data_sets_and_sizes(compare, place, tmp_path):
    sets = {name: {"data": str(place.data), "test": str(place.test)} for name in ("one", "two")}
    (tmp_path / "sets.yaml").write_text(yaml.safe_dump(sets))
    answer = compare(
        {"all": {}, "held": {"validation_share": 0.2}}, "--data-sets", tmp_path / "sets.yaml", "--sizes", "20,all"
    )
    assert answer.code == 0, answer.err
    for name, rows in (("all", {"training": 20, "test": 30}), ("held", {"training": 16, "validation": 4, "test": 30})):
        metrics = json.loads((tmp_path / "out" / "two" / "20" / f"{name}-0" / "metrics.json").read_text())
        assert metrics["rows"] == rows


def test_a_precision_of_its_own(compare, tmp_path):
    """A variant may name a precision, which is not that of the others."""
    assert compare({"half": {"precision": "bf16"}, "usual": {}}).code == 0
    assert recipe_of(tmp_path / "out" / "half-0")["precision"] == "bf16"
    assert recipe_of(tmp_path / "out" / "usual-0")["precision"] == "fp32"


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({"one": {}}, "name at least two variants"),
        ({"one": {}, "a/b": {}}, '"a/b" cannot be the name of a variant'),
        ({"one": {}, "frozen": {}}, '"frozen" cannot be the name of a variant'),
        ({"one": {}, "two": 3}, "two needs settings, as in two: {learning_rate: 1e-4}"),
        ({"lr:1": {}, "lr-1": {"steps": 2}}, '"lr:1" and "lr-1" have the same folder of runs'),
        ({"one": {}, "two": {"seed": 3}}, "two: seed is the same for all variants"),
        ({"one": {}, "two": {"learning_rat": 3}}, "learning_rate"),
        ({"one": {}, "two": {"learning_rate": "much"}}, "--learning-rate"),
        ({"one": {}, "two": {"method": "mixx"}}, "unknown method"),
    ],
)
def test_what_is_wrong_is_named(compare, variants, message, tmp_path):
    answer = compare(variants)
    assert answer.code == 2 and answer.err.count("\n") == 1
    assert message in answer.err and not (tmp_path / "out").exists()


def test_methods_and_variants_exclude_each_other(compare):
    answer = compare(VARIANTS, "--methods", "plain,ssmix")
    assert answer.code == 2 and "either with --methods or with --variants" in answer.err
    answer = compare({"one": {}, "two": {"model": "minilm"}}, "--models", "minilm")
    assert answer.code == 2 and "--models, not both" in answer.err
