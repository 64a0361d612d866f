"""`salience compare`: runs over seeds, kept and taken up again, and differences counted again by hand."""

import json
import shutil

import numpy as np
import pytest
from pandas import read_csv

from labelled import labelled_rows, write_csv
from salience.comparison.paired_difference import adjusted, paired_difference
from salience.comparison.variation import Difference
from salience.report.comparison import verdict

SEEDS = (0, 1)


@pytest.fixture
def compare(place, salience, tmp_path):
    def run(*options, test=True):
        return salience("compare", place.data, *(["--test", place.test] if test else []), "--model", place.model,
                        "--steps", "4", "--device", "cpu", "--references", "none",
                        "--output", tmp_path / "out", *options)  # fmt: skip

    return run


def test_methods_are_compared_over_seeds(compare, tmp_path):
    answer = compare("--methods", "plain,embedmix,ssmix", "--seeds", "0,1")
    assert answer.code == 0, answer.err
    out = tmp_path / "out"
    right = {}
    for method in ("plain", "embedmix", "ssmix"):
        for seed in SEEDS:
            folder = out / f"{method}-{seed}"
            model = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md",
                     "history.json", "data_facts.json"}  # fmt: skip
            assert {path.name for path in folder.iterdir()} == (model if seed == 0 else set()) | {
                "metrics.json", "predictions.jsonl", "probabilities.npz", "recipe.yaml", "manifest.json"
            }  # fmt: skip
            rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
            right[method, seed] = np.array([row["label"] == row["predicted"] for row in rows])
            assert f"{method}, seed {seed}: accuracy {right[method, seed].mean():.3f}" in answer.out
    found = json.loads((out / "comparison.json").read_text())
    (results,) = found["conditions"]
    assert (found["seeds"], results["rows"], found["over_data_sets"]) == ([0, 1], 30, [])
    assert list(results["scores"]) == ["plain", "embedmix", "ssmix"]
    points = {method: 100.0 * np.array([right[method, seed] for seed in SEEDS]) for method in results["scores"]}
    family = adjusted(
        [paired_difference([points[method]], [points["plain"]], comparisons=2) for method in ("embedmix", "ssmix")]
    )
    for method, expected in zip(("embedmix", "ssmix"), family, strict=True):
        difference = results["differences"][method]["accuracy"]
        for name in ("mean", "low", "high", "p", "adjusted_p"):
            assert difference[name] == pytest.approx(getattr(expected, name))
        assert str(Difference(expected.mean, expected.low, expected.high)) in answer.out
        assert verdict(method, expected, "plain", "", None).split(":")[1] in answer.out
    assert answer.out.splitlines()[-1] == f"saved: {out}, with report.html and report.md"
    for report in ("report.html", "report.md"):
        content = (out / report).read_text(encoding="utf-8").replace("\\", "")
        assert all(str(Difference(each.mean, each.low, each.high)) in content for each in family)
    table = read_csv(out / "results.csv")
    assert len(table) == 6 and {*table["method"]} == {"plain", "embedmix", "ssmix"}
    for row in table.itertuples():
        assert row.accuracy == pytest.approx(100 * right[row.method, row.seed].mean())


def test_rows_with_faults_are_left_out_when_asked(place, salience, tmp_path):
    data = tmp_path / "cp1252.csv"
    rows = [*labelled_rows(40), ("café", "sport"), ("", "sport")]
    data.write_bytes("".join(f"{text},{label}\n" for text, label in [("text", "label"), *rows]).encode("cp1252"))
    asked = ["compare", data, "--test", place.test, "--model", place.model, "--methods", "plain,wordmixup",
             "--references", "none", "--seeds", "0,1", "--steps", "2", "--device", "cpu", "--output", tmp_path / "out",
             "--encoding", "cp1252"]  # fmt: skip
    answer = salience(*asked)
    assert answer.code == 2 and "--bad-rows skip" in answer.err
    answer = salience(*asked, "--bad-rows", "skip")
    assert answer.code == 0, answer.err
    assert "left out 1 row of 42" in answer.out


def without_seconds(out) -> dict:
    found = json.loads((out / "comparison.json").read_text())
    for results in found["conditions"]:
        for scores in results["scores"].values():
            assert min(scores.pop("seconds")) > 0
    return found


def test_runs_are_kept_and_one_that_is_gone_is_run_again(compare, tmp_path):
    first = compare("--seeds", "0,1")
    assert first.code == 0, first.err
    out = tmp_path / "out"
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    comparison = without_seconds(out)
    shutil.rmtree(out / "ssmix-1")
    again = compare("--seeds", "0,1")
    assert again.code == 0, again.err
    assert without_seconds(out) == comparison
    after = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    assert {path.parent.name for path in after if after[path] != before[path]} == {"ssmix-1"}

    other = compare("--seeds", "0,1", "--steps", "5")
    assert other.code == 2
    assert "plain-0 was run with steps=4, not 5: choose another --output" in other.err


def test_a_model_that_was_there_before_is_not_touched(compare, place, salience, tmp_path):
    folder = tmp_path / "out" / "plain-0"
    trained = salience("train", place.data, "--test", place.test, "--method", "plain", "--model", place.model,
                       "--steps", "4", "--device", "cpu", "--output", folder)  # fmt: skip
    assert trained.code == 0, trained.err
    answer = compare("--seeds", "0,1")
    assert answer.code == 0, answer.err
    assert (folder / "model.safetensors").exists()


def test_texts_with_ends_of_lines_of_all_kinds(place, salience, tmp_path):
    rows = [(f"{text} \u2028 and \x85 \x1c on", label) for text, label in labelled_rows(12, seed=1)]
    test = write_csv(tmp_path / "test.csv", rows)
    answer = salience("compare", place.data, "--test", test, "--model", place.model, "--steps", "2", "--device", "cpu",
                      "--output", tmp_path / "out", "--seeds", "0,1", "--references", "none")  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads((tmp_path / "out" / "comparison.json").read_text())["conditions"][0]["rows"] == 12


def test_an_interrupted_run_of_other_settings_is_named_too(compare, tmp_path):
    work = tmp_path / "out" / ".plain-0.partial"
    work.mkdir(parents=True)
    (work / "recipe.yaml").write_text("steps: 3\n")
    answer = compare("--seeds", "0,1")
    assert answer.code == 2 and "plain-0 was run with" in answer.err and "--output" in answer.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "0"], "at least two"),
        (["--seeds", "1,1"], "two different seeds"),
        (["--seeds", "a,b"], "--seeds 0,1,2"),
        (["--methods", "ssmix"], "at least two"),
        (["--methods", "plain,plain"], "two different methods"),
        (["--methods", "plain,smix"], "ssmix"),
    ],
)
def test_what_cannot_be_compared(compare, tmp_path, options, said):
    answer = compare(*options)
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_rows_that_chose_the_checkpoint_do_not_judge(compare, tmp_path):
    answer = compare(test=False)
    assert answer.code == 2 and "--test" in answer.err
    assert not (tmp_path / "out").exists()


def test_sizes_and_data_sets(place, salience, tmp_path):
    """Every method reads the same rows, and a finished grid is read without data or models."""
    sets = tmp_path / "sets.yaml"
    sets.write_text(f"one: {{data: {place.data}, test: {place.test}}}\n"
                    f"two: {{data: {place.test}, test: {place.data}, label: label}}\n")  # fmt: skip
    asked = ["compare", "--data-sets", sets, "--sizes", "12,20", "--methods", "plain,wordmixup", "--seeds", "0,1",
             "--references", "none", "--model", place.model, "--steps", "2", "--device", "cpu",
             "--output", tmp_path / "out"]  # fmt: skip
    answer = salience(*asked)
    assert answer.code == 0, answer.err
    out = tmp_path / "out"
    folders = {str(path.parent.relative_to(out)) for path in out.rglob("metrics.json")}
    assert folders == {
        f"{name}/{size}/{method}-{seed}"
        for name in ("one", "two") for size in (12, 20) for method in ("plain", "wordmixup") for seed in SEEDS
    }  # fmt: skip
    found = json.loads((out / "comparison.json").read_text())
    assert [results["title"] for results in found["conditions"]] == [
        "one, 12 rows", "one, 20 rows", "two, 12 rows", "two, 20 rows"
    ]  # fmt: skip
    assert [over["title"] for over in found["over_data_sets"]] == ["12 rows", "20 rows"]
    for over, size in zip(found["over_data_sets"], (12, 20), strict=True):
        means = [
            results["differences"]["wordmixup"]["accuracy"]["mean"]
            for results in found["conditions"] if results["condition"]["size"] == size
        ]  # fmt: skip
        assert over["here"]["wordmixup"]["mean"] == pytest.approx(np.mean(means))
    assert "12 rows, over all data sets, wordmixup: " in answer.out
    assert len(read_csv(out / "results.csv")) == 16
    before = {path: path.stat().st_mtime_ns for path in out.rglob("metrics.json")}
    weights = place.model / "model.safetensors"
    hidden = weights.rename(tmp_path / "hidden")
    try:
        again = salience(*asked)
    finally:
        hidden.rename(weights)
    assert again.code == 0, again.err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("metrics.json")} == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "ten"], "--sizes ten: write numbers of rows, or all"),
        (["--sizes", "12,12"], "a size stands there twice"),
        (["--models", "one/tiny,two/tiny"], "--models one/tiny,two/tiny: two have the same name"),
        (["--sizes", "1000"], "size 1,000 is more than its 60 labelled rows"),
        (["--data-sets", "{file}"], "not both"),
    ],
)
def test_grids_that_are_none(compare, tmp_path, options, said):
    file = tmp_path / "sets.yaml"
    file.write_text("one: {data: a.csv, test: b.csv}\n")
    answer = compare(*(option.format(file=file) for option in options))
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one: {data: a.csv}", "one needs settings of its own, at least `data: FILE` and `test: FILE`"),
        ("one: {data: a.csv, test: b.csv, seed: 3}", "setting of a data set in --data-sets"),
        ("../one: {data: a.csv, test: b.csv}", "cannot be the name of a folder"),
        ("{}", "no data sets"),
    ],
)
def test_data_sets_that_are_none(salience, tmp_path, text, said):
    (tmp_path / "sets.yaml").write_text(text)
    answer = salience("compare", "--data-sets", tmp_path / "sets.yaml")
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1


def test_several_models(compare, place, tmp_path):
    """Models have folders of their own, by their whole names: v1.5 and v1.6 are two."""
    models = [tmp_path / name for name in ("tiny-v1.5", "tiny-v1.6")]
    for model in models:
        shutil.copytree(place.model, model)
    answer = compare("--seeds", "0,1", "--models", ",".join(map(str, models)))
    assert answer.code == 0, answer.err
    runs = {str(file.parent.relative_to(tmp_path / "out")) for file in tmp_path.glob("out/*/plain-*/metrics.json")}
    assert runs == {f"{model.name}/plain-{seed}" for model in models for seed in SEEDS}


def test_references_alone_can_be_compared(compare, tmp_path):
    """They cost no training, and are what a method has to be better than."""
    answer = compare("--methods", "tf-idf,majority", "--seeds", "0,1")
    assert answer.code == 0, answer.err
    (results,) = json.loads((tmp_path / "out" / "comparison.json").read_text())["conditions"]
    assert list(results["scores"]) == ["tf-idf", "majority"]
    assert "tf-idf" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
