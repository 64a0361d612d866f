"""`salience compare --references`: rows beside the methods, for which nothing is tested."""

import json
import shutil

import numpy as np
import pytest
from pandas import read_csv

REFERENCES = ["majority", "tf-idf", "frozen"]


@pytest.fixture
def compare(place, salience, tmp_path):
    def run(*options, output="out"):
        return salience("compare", place.data, "--test", place.test, "--model", place.model, "--steps", "2",
                        "--device", "cpu", "--seeds", "0,1", "--output", tmp_path / output, *options)  # fmt: skip

    return run


def found(folder) -> dict:
    return json.loads((folder / "comparison.json").read_text())


def test_references_stand_beside_the_methods_and_change_nothing_for_them(compare, tmp_path):
    answer = compare("--methods", "plain,embedmix")
    assert answer.code == 0, answer.err
    assert compare("--methods", "plain,embedmix", "--references", "none", output="alone").code == 0
    (results,), (alone,) = (found(tmp_path / name)["conditions"] for name in ("out", "alone"))
    assert list(results["scores"]) == ["plain", "embedmix", *REFERENCES]
    assert list(alone["scores"]) == ["plain", "embedmix"] and alone["references"] == {}
    assert results["differences"] == alone["differences"]  # the same family: intervals and p-values as without
    assert list(results["references"]) == REFERENCES
    for name in REFERENCES:
        accuracy = {}
        for method in (name, "plain"):
            with_labels = [np.load(tmp_path / "out" / f"{method}-{seed}" / "probabilities.npz") for seed in (0, 1)]
            accuracy[method] = [(each["probabilities"].argmax(1) == each["labels"]).mean() for each in with_labels]
        expected = 100 * (np.mean(accuracy[name]) - np.mean(accuracy["plain"]))
        assert results["references"][name]["accuracy"] == pytest.approx(expected)
        assert f"{name}: " not in answer.out and f"{name}, seed 0: accuracy {accuracy[name][0]:.3f}" in answer.out
        assert f"{expected:+.2f}" in answer.out
    table = read_csv(tmp_path / "out" / "results.csv")
    assert len(table) == 10 and {*table["method"]} == {"plain", "embedmix", *REFERENCES}
    assert (table["seconds"] > 0).all()


def test_references_are_kept_and_made_again_like_other_runs(compare, tmp_path):
    asked = ["--methods", "plain,embedmix,majority", "--references", "tf-idf"]
    assert compare(*asked).code == 0
    out = tmp_path / "out"
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    assert {path.parent.name.rpartition("-")[0] for path in before} == {"plain", "embedmix", "majority", "tf-idf"}
    shutil.rmtree(out / "tf-idf-1")
    assert compare(*asked).code == 0
    after = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    assert {path.parent.name for path in after if after[path] != before[path]} == {"tf-idf-1"}
    assert list(found(out)["conditions"][0]["references"]) == ["majority", "tf-idf"]
    refused = compare(*asked, "--steps", "3")
    assert refused.code == 2 and "choose another --output" in refused.err


def test_parts_divide_the_trained_runs_evenly(compare, tmp_path):
    asked = ["--methods", "plain,embedmix", "--references", "majority"]
    assert compare(*asked, "--part", "1/3").code == 0
    assert {path.parent.name for path in tmp_path.glob("out/*/metrics.json")} == {"plain-0", "embedmix-1"}
    assert compare(*asked, "--part", "2/3").code == 0
    assert compare(*asked, "--part", "3/3").code == 0
    assert len(list(tmp_path.glob("out/*/metrics.json"))) == 6 and (tmp_path / "out" / "comparison.json").exists()


def test_a_reference_can_be_the_baseline_when_it_is_named_first(compare, tmp_path):
    answer = compare("--methods", "majority,plain")
    assert answer.code == 0, answer.err
    (results,) = found(tmp_path / "out")["conditions"]
    assert list(results["differences"]) == ["plain"]
    assert list(results["references"]) == ["tf-idf", "frozen"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--references", "tfidf"], "tf-idf"),
        (["--methods", "plain,ssmix,majority:window=1"], "majority has no options"),
        (["--methods", "plain"], "at least two different methods"),
    ],
)
def test_references_that_are_none(compare, tmp_path, options, said):
    answer = compare(*options)
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
