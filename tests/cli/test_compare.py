"""`salience compare`: one grid of two sizes, whose numbers are counted again from its runs, and that is continued.

What a grid refuses is in tests/comparison/test_grid.py, the steps of equal budgets are in test_planning.py.
"""

import json
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import yaml
from pandas import read_csv
from sklearn.metrics import f1_score

import salience as library
from labelled import labelled_rows, write_csv
from salience.classify import load
from salience.cli.main import main
from salience.comparison import heat_maps
from salience.comparison.comparing import compare as compare_recipes
from salience.comparison.paired_difference import adjusted, paired_difference
from salience.comparison.results import DisputedText
from salience.comparison.variation import Difference, spread
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.explain import explain_texts
from salience.report.comparison_page import verdict
from salience.training.measures import Faithfulness
from salience.training.recipe import Recipe
from salience.training.run import train

SEEDS, SIZES, METHODS = (3, 1), (20, 40), ("plain", "embedmix")
TOLD = "explaining the texts on which methods disagree"
COLUMNS = [
    f"{metric}_{explainer}_over_random"
    for metric in ("comprehensiveness", "sufficiency") for explainer in ("gradient", "integrated_gradients")
]  # fmt: skip


def asked(place, *options, output, steps=6) -> list[str]:
    return [str(each) for each in (
        "compare", place.data, "--test", place.test, "--model", place.model, "--steps", steps, "--device", "cpu",
        "--precision", "fp32", "--seeds", "3,1", "--output", output, *options,
    )]  # fmt: skip


def grid(place, output, *more) -> list[str]:
    return asked(place, "--methods", ",".join(METHODS), "--sizes", "20,40", "--references", "tf-idf",
                 "--faithfulness", *more, output=output)  # fmt: skip


@pytest.fixture(scope="module")
def finished(place, tmp_path_factory):
    """The folder of the grid, and what the command printed."""
    output, printed = tmp_path_factory.mktemp("compared") / "out", StringIO()
    with redirect_stdout(printed):
        assert main(grid(place, output)) == 0
    return output, printed.getvalue()


@pytest.fixture(scope="module")
def out(finished) -> Path:
    return finished[0]


@pytest.fixture(scope="module")
def found(out) -> dict:
    return json.loads((out / "comparison.json").read_text())


def metrics_of(folder: Path) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def right(out, size, method) -> np.ndarray:
    """Whether each test row is right (S, N), in percent."""
    return 100.0 * np.array([
        [row["label"] == row["predicted"] for row in rows_of(out / str(size) / f"{method}-{seed}")] for seed in SEEDS
    ])  # fmt: skip


def test_every_run_has_its_files_and_the_explaining_ones_their_models(out):
    runs = {str(path.parent.relative_to(out)) for path in out.rglob("metrics.json")}
    assert runs == {f"{size}/{each}-{seed}" for size in SIZES for each in (*METHODS, "tf-idf") for seed in SEEDS}
    shared = {"metrics.json", "predictions.jsonl", "probabilities.npz", "recipe.yaml", "manifest.json"}
    model = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md",
             "history.json", "data_facts.json", "familiarity.npz"}  # fmt: skip
    for run in runs:
        explains = run in ("40/plain-3", "40/embedmix-3")  # of the first seed at the largest size
        assert {path.name for path in (out / run).iterdir()} == shared | (model if explains else set())
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_differences_are_counted_again_from_the_predictions(finished, out, found):
    assert (found["seeds"], found["over_data_sets"]) == ([3, 1], [])
    assert [each["title"] for each in found["conditions"]] == ["20 rows", "40 rows"]
    family = adjusted([
        paired_difference([right(out, size, "embedmix")], [right(out, size, "plain")], comparisons=2)
        for size in SIZES
    ])  # fmt: skip
    reports = [(out / name).read_text(encoding="utf-8").replace("\\", "") for name in ("report.html", "report.md")]
    for results, expected in zip(found["conditions"], family, strict=True):
        assert list(results["scores"]) == [*METHODS, "tf-idf"] and results["rows"] == 30
        difference = results["differences"]["embedmix"]["accuracy"]
        for name in ("mean", "low", "high", "p", "adjusted_p"):
            assert difference[name] == pytest.approx(getattr(expected, name))
        shown = str(Difference(expected.mean, expected.low, expected.high))
        assert all(shown in text for text in (finished[1], *reports))
        assert verdict("embedmix", expected, "plain", "", None).split(":")[1] in finished[1]
        own = right(out, results["condition"]["size"], "tf-idf")
        base = right(out, results["condition"]["size"], "plain")
        assert results["references"]["tf-idf"]["accuracy"] == pytest.approx((own - base).mean())
    assert finished[1].splitlines()[-1] == f"saved: {out}, with report.html and report.md"


def test_tables_of_runs_and_classes(finished, out):
    """Accuracy and temperature as the runs have them, and F1 as scikit-learn counts it from the predictions."""
    runs = read_csv(out / "results.csv").set_index(["size", "method", "seed"]).sort_index()
    classes = read_csv(out / "classes.csv").set_index(["size", "method", "seed", "class"])
    for size, method, seed in runs.index:
        folder = out / str(size) / f"{method}-{seed}"
        metrics, rows, row = metrics_of(folder), rows_of(folder), runs.loc[(size, method, seed)]
        assert f"{size} rows, {method}, seed {seed}: accuracy {metrics['test']['accuracy']:.3f}" in finished[1]
        assert row["accuracy"] == pytest.approx(100 * metrics["test"]["accuracy"]) and row["seconds"] > 0
        scaled = metrics["temperature_scaling"]
        for name in ("temperature", "calibration_error_scaled"):
            assert row[name] == pytest.approx(scaled.get(name, np.nan), nan_ok=True)
        names = sorted({row["label"] for row in rows})
        labels, predicted = [row["label"] for row in rows], [row["predicted"] for row in rows]
        expected = f1_score(labels, predicted, labels=names, average=None, zero_division=0)
        for name, value in zip(names, expected, strict=True):
            assert classes.loc[size, method, seed, name]["f1"] == pytest.approx(100 * value)
            assert classes.loc[size, method, seed, name]["rows"] == labels.count(name)
    assert len(runs) == 12 and len(classes) == 12 * len(names)


def test_methods_read_as_many_texts_as_the_baseline(finished, out):
    """Batches of 16: plain training reads each text once a step, EmbedMix twice."""
    spent = {method: metrics_of(out / "40" / f"{method}-3") for method in METHODS}
    assert {name: (run["steps"], run["text_passes"]) for name, run in spent.items()} == {
        "plain": (6, 96), "embedmix": (3, 96)
    }  # fmt: skip
    assert finished[1].count("a step of embedmix costs 2 forward-backward passes per text") == 2  # sizes


def test_the_faithfulness_of_every_run(finished, out, found):
    """Differences are paired by seed; test rows are held fixed, and references have none."""
    table = read_csv(out / "results.csv").set_index(["size", "method", "seed"]).sort_index()
    texts = [(out / name).read_text(encoding="utf-8").replace("\\", "") for name in ("report.html", "report.md")]
    for results, size in zip(found["conditions"], SIZES, strict=True):
        assert table.loc[size, "tf-idf"][COLUMNS].isna().all().all()
        assert "faithfulness" not in metrics_of(out / str(size) / "tf-idf-3")
        for column in COLUMNS:
            by_method = {}
            for method in METHODS:
                measured = [metrics_of(out / str(size) / f"{method}-{seed}")["faithfulness"] for seed in SEEDS]
                assert {(each["judged"], each["texts"]) for each in measured} == {(30, 200)}  # few test rows
                by_method[method] = 100 * np.array([each[column] for each in measured])
                assert [table.loc[(size, method, seed)][column] for seed in SEEDS] == pytest.approx(by_method[method])
            difference, apart = results["differences"]["embedmix"][column], by_method["embedmix"] - by_method["plain"]
            assert difference["mean"] == pytest.approx(apart.mean())
            # Student's t with one degree of freedom, at 97.5 % for two sizes
            half = 25.4517 * np.std(apart, ddof=1) / np.sqrt(2)
            assert difference["high"] - difference["mean"] == pytest.approx(half, rel=1e-3)
            assert column not in results["references"]["tf-idf"]
            shown = f"{difference['mean']:+.2f} [{difference['low']:+.2f}, {difference['high']:+.2f}]"
            assert all(spread(by_method["plain"]) in text and shown in text for text in texts)
    lines = [line for line in finished[1].splitlines() if "points," in line]
    assert len(lines) == 2 * len(COLUMNS)


@pytest.mark.whole
def test_the_faithfulness_is_that_of_evaluate(out, tmp_path):
    """The same run again, with its model, whose explanations `salience.evaluate` judges."""
    recipe = Recipe.from_mapping(yaml.safe_load((out / "20" / "embedmix-1" / "recipe.yaml").read_text()))
    run = train(recipe, tmp_path / "again", note=lambda line: None, estimating=False)
    means = metrics_of(out / "20" / "embedmix-1")["faithfulness"]["means"]
    evaluation = library.evaluate(
        run.classifier, run.task.test, metrics=["comprehensiveness", "sufficiency"],
        explainers={"gradient": EXPLAINERS["gradient"], "integrated-gradients": IntegratedGradients(8)},
    )  # fmt: skip
    for explainer in ("gradient", "integrated-gradients"):
        for metric, estimate in evaluation[explainer].metrics.items():
            assert means[explainer][metric] == pytest.approx(estimate.mean, abs=1e-5)


# Heat maps of the texts on which methods disagree.


def stored(output) -> list[dict]:
    return [json.loads(line) for line in (output / "explanations.jsonl").read_text(encoding="utf-8").splitlines()]


def maps_of(output) -> list[str]:
    """Each heat map of the page."""
    return (output / "report.html").read_text(encoding="utf-8").split('<div class="map">')[1:]


def test_heat_maps_are_those_of_salience_explain(out, place, salience, tmp_path):
    """Texts, classes, probabilities and scores, in the file and on the page, for each disputed text and method."""
    rows, page = stored(out), (out / "report.html").read_text(encoding="utf-8")
    shown = [int(row) for row in re.findall(r"<dt>row</dt><dd[^>]*>(\d+)</dd>", page)]
    assert 0 < len(shown) <= 10
    assert [(row["method"], row["row"]) for row in rows] == [(method, row) for method in METHODS for row in shown]
    explained = {}
    for method in METHODS:
        file = tmp_path / f"{method}.jsonl"
        answer = salience("explain", out / "40" / f"{method}-3", place.test, "--output", file)
        assert answer.code == 0, answer.err
        explained[method] = {row["row"]: row for row in map(json.loads, file.read_text().splitlines())}
    for row in rows:
        expected = explained[row["method"]][row["row"]]
        assert (row["seed"], row["size"]) == (3, 40) and row["explained"] == row["predicted"]
        assert row["scores"]["gradient"] == pytest.approx(expected["scores"]["gradient"], rel=1e-4, abs=1e-6)
        assert row["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
        for name in ("words", "predicted", "explained", "label", "second", "cut"):
            assert row[name] == expected[name]
    by_text = {(row["method"], row["row"]): row for row in rows}
    on_page = [by_text[method, number] for number in shown for method in METHODS]
    for row, line in zip(on_page, maps_of(out), strict=True):
        chance = row["probabilities"][row["predicted"]]
        assert line.startswith(f"<span><strong>{row['method']}</strong> {row['predicted']} {chance:.2f}<")
        assert re.findall(r'title="([^"]*)">([^<]*)<', line) == [
            (f"{score:.3g}", word) for score, word in zip(row["scores"]["gradient"], row["words"], strict=True)
        ]


def test_the_explainer_is_that_of_salience_explain():
    import inspect

    from salience.cli.explain import explain

    assert inspect.signature(explain).parameters["explainer"].default == heat_maps.EXPLAINER


def test_damaged_explanations_are_left_out(out, tmp_path):
    """And named, once for a file; the others are read as they were written."""
    lines = (out / "explanations.jsonl").read_bytes().splitlines()
    whole, notes = heat_maps.read_explanations(out, print), []
    changes = [
        {"words": "a"}, {"scores": {"gradient": [1.0]}}, {"scores": []}, {"explained": "none"}, {"second": "x"},
        {"probabilities": None}, {"row": None}, {"method": []}, {"words": [1, 2]}, {"row": "4"},
    ]  # fmt: skip
    damages = [b"{", b"[]", b"\xff\xfe", b'{"data": "train", "row": 1}', b"[" * 100_000]
    damages += [json.dumps(json.loads(lines[0]) | changed).encode() for changed in changes]
    file = tmp_path / "explanations.jsonl"
    for damage in damages:
        file.write_bytes(b"\n".join([damage, *lines[1:]]))
        kept = heat_maps.read_explanations(tmp_path, notes.append)
        assert list(kept) == list(whole)[1:]
        assert notes.pop().startswith(f"{file} is damaged in 1 line") and not notes
    file.unlink()
    file.mkdir()
    assert heat_maps.read_explanations(tmp_path, notes.append) == {} and "cannot be read" in notes.pop()
    file.rmdir()
    heat_maps.write_explanations(tmp_path, whole)
    assert file.read_bytes().splitlines() == lines


def test_pairs_are_explained_as_pairs(place, salience, tmp_path):
    rows = [(text, text.split()[0], label) for text, label in labelled_rows(30)]
    data = write_csv(tmp_path / "pairs.csv", rows, ("text", "other", "label"))
    folder = tmp_path / "run"
    answer = salience("train", data, "--text-pair", "other", "--model", place.model, "--steps", "3", "--device", "cpu",
                      "--estimate", "none", "--output", folder)  # fmt: skip
    assert answer.code == 0, answer.err
    disputed = [DisputedText(number + 1, *rows[number], {}) for number in (4, 2)]
    found = heat_maps.explained(disputed, folder, Recipe(str(data), device="cpu"))
    texts = Texts([rows[number][0] for number in (4, 2)], [rows[number][1] for number in (4, 2)], rows=[5, 3])
    expected = explain_texts(load(folder, device="cpu"), texts, {"gradient": EXPLAINERS["gradient"]})
    for one, other in zip(found, expected, strict=True):
        assert (one.words, one.second, one.row, one.target) == (other.words, other.second, other.row, other.target)
        np.testing.assert_allclose(one.scores["gradient"], other.scores["gradient"], rtol=1e-5)
    assert [one.labels[one.gold] for one in found] == [rows[4][2], rows[2][2]]


# A comparison that is taken up again.


@pytest.fixture
def again(place, out, salience, tmp_path, monkeypatch):
    """Runs the comparison again in a copy of its folder; gives the answer and the folders whose models are loaded."""
    copy = tmp_path / "out"
    shutil.copytree(out, copy)

    def run(*more):
        loaded = []

        def counted(folder, **settings):
            loaded.append(str(folder.relative_to(copy)))
            return load(folder, **settings)

        monkeypatch.setattr(heat_maps, "load", counted)
        return salience(*grid(place, copy, *more)), loaded

    return run


def test_runs_are_kept_and_one_that_is_gone_is_made_again(again, found, out, tmp_path):
    """A model that was trained again to the same predictions is the same: nothing is explained, nothing changes."""
    copy = tmp_path / "out"
    shutil.rmtree(copy / "20" / "embedmix-1")
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("metrics.json")}
    answer, loaded = again()
    assert answer.code == 0 and loaded == [] and TOLD not in answer.out and "costs" not in answer.out
    now = json.loads((copy / "comparison.json").read_text())
    for each in (now, expected := json.loads(json.dumps(found))):
        for results in each["conditions"]:
            for scores in results["scores"].values():
                assert min(scores.pop("seconds")) > 0
    assert now == expected
    after = {path: path.stat().st_mtime_ns for path in copy.rglob("metrics.json")}
    assert {path.parent.name for path in after if after[path] != before.get(path)} == {"embedmix-1"}
    assert maps_of(copy) == maps_of(out)


@pytest.mark.whole
def test_what_a_disturbed_command_has_left_is_cleared(again, out, tmp_path):
    """Locks and the failure of a run that is there whole, and explanations of one model only."""
    copy = tmp_path / "out"
    (copy / "failures.jsonl").write_text('{"run": "20 rows, plain, seed 1", "error": "", "traceback": ""}\n')
    for name in ("plain-1", "plain-1.run", "tf-idf-3"):
        (copy / "20" / f".{name}.lock").touch()
    (copy / ".explanations.jsonl.lock").touch()
    assert again()[1] == [] and not (copy / ".explanations.jsonl.lock").exists()
    (copy / "failures.jsonl").write_text('{"run": "20 rows, plain, seed 1", "error": "", "traceback": ""}\n')
    lines = (out / "explanations.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "explanations.jsonl").write_bytes(b"".join(line for line in lines if b'"method": "plain"' not in line))
    answer, loaded = again()
    assert answer.code == 0 and loaded == ["40/plain-3"]
    assert (copy / "explanations.jsonl").read_bytes().splitlines(keepends=True) == lines
    assert not (copy / "failures.jsonl").exists() and not list(copy.rglob(".*"))


@pytest.mark.whole
def test_models_that_are_missing_or_damaged_are_named(again, tmp_path):
    """Explanations are made anew where a run has other predictions; one model is missing, then the other damaged."""
    out = tmp_path / "out"
    (out / "40" / "embedmix-3" / "model.safetensors").unlink()
    for run in ("plain-3", "embedmix-3"):
        file = out / "40" / run / "probabilities.npz"
        with np.load(file) as arrays:
            values = dict(arrays)
        np.savez(file, **values | {"probabilities": values["probabilities"] * np.float32(1 - 1e-6)})
    answer, loaded = again()
    line = "no heat maps of 1 run without a model (40/embedmix-3): remove the folder of a run to make it again"
    assert answer.code == 0 and answer.out.count(line) == 1 and answer.out.count(TOLD) == 1
    assert loaded == ["40/plain-3"] and f"<p>N{line[1:]}" in (out / "report.html").read_text()
    assert maps_of(out) and all(each.startswith("<span><strong>plain</strong>") for each in maps_of(out))
    (out / "explanations.jsonl").unlink()
    (out / "40" / "plain-3" / "model.safetensors").write_bytes(b"no weights")
    answer, loaded = again()
    assert answer.out.count("no heat maps of 40/plain-3: cannot load the model") == 1
    assert maps_of(out) == [] and "Heat maps:" not in (out / "report.html").read_text()
    assert not (out / "explanations.jsonl").exists()


def test_other_settings_and_measures_are_refused(again, place, tmp_path):
    out = tmp_path / "out"
    answer, _ = again("--steps", "5")
    assert answer.code == 2 and "plain-3 was run with steps=6, not 5: choose another --output" in answer.err
    base = Recipe(str(place.data), test=str(place.test), model=str(place.model), steps=6, device="cpu",
                  precision="fp32", method="plain")  # fmt: skip
    settings = {"references": ["tf-idf"], "heat_maps": False, "sizes": SIZES}
    other = {"faithfulness": Faithfulness(texts=5)}
    with pytest.raises(InputError, match=r"was run with faithfulness: texts=200, not 5: choose another --output"):
        compare_recipes(base, METHODS, SEEDS, out, print, measures=other, **settings)
    for turn in (0, 3):
        with pytest.raises(InputError, match=f"part {turn} of 2"):
            compare_recipes(base, METHODS, SEEDS, out, print, part=(turn, 2), **settings)
    # Without the measure, runs that have more than is wanted are taken as they are; all is returned.
    comparison = compare_recipes(base, METHODS, SEEDS, out, lambda line: None, **settings)
    assert [len(each.rows) for each in comparison.curves] == [2] and comparison.heat_maps.seed is None
    (predictions,) = comparison.predictions
    assert predictions.results is comparison.conditions[1] and predictions.disputed >= len(predictions.texts) > 0


@pytest.mark.whole
def test_a_run_without_the_measure_is_refused(place, salience, tmp_path):
    options = ["--methods", "plain,tf-idf", "--references", "none", "--no-heat-maps"]
    answer = salience(*asked(place, *options, output=tmp_path / "out", steps=1))
    assert answer.code == 0, answer.err
    assert not list(tmp_path.rglob("*.safetensors")) and not list(tmp_path.rglob("explanations.jsonl"))
    assert "faithfulness" not in answer.out + (tmp_path / "out" / "report.md").read_text()
    assert "eat maps" not in (tmp_path / "out" / "report.html").read_text()
    refused = salience(*asked(place, *options, "--faithfulness", output=tmp_path / "out", steps=1))
    assert refused.code == 2 and refused.err.count("\n") == 1
    assert "plain-3 was run without --faithfulness" in refused.err and "choose another --output" in refused.err


def test_what_is_there_is_not_touched(place, salience, tmp_path):
    """A file of the user, an interrupted run of other settings, and a result of something else."""
    out = tmp_path / "out"
    out.mkdir()
    options = ["--methods", "plain,majority", "--references", "none"]
    (out / "explanations.jsonl").write_text("mine")
    answer = salience(*asked(place, *options, output=out, steps=2))
    assert answer.code == 2 and answer.err.count("\n") == 1
    assert "explanations.jsonl is there without comparison.json" in answer.err
    (out / "explanations.jsonl").unlink()
    work = out / ".plain-3.partial"
    work.mkdir()
    (work / "recipe.yaml").write_text("steps: 3\n")
    answer = salience(*asked(place, *options, output=out, steps=2))
    assert answer.code == 2 and "plain-3 was run with" in answer.err and "--output" in answer.err
    shutil.rmtree(work)
    (out / "comparison.json").write_text("{}")
    answer = salience(*asked(place, *options, output=out, steps=2))
    assert answer.code == 2 and "comparison.json was not written by a comparison" in answer.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "a,b"], "--seeds 0,1,2"),
        (["--sizes", "1000"], "size 1,000 is more than its 60 labelled rows"),
        (["--budget", "texts"], "--budget"),
        (["--data-sets", "{file}"], "not both"),
        (["--variants", "{file}", "--methods", "plain"], "either with --methods or with --variants"),
        (["--robustness"], "a test file whose texts are changed"),
        (["--references", "tf-idf,setfit"], "its own package"),
    ],
)
def test_what_cannot_be_compared(place, salience, tmp_path, options, said):
    file = tmp_path / "sets.yaml"
    file.write_text("one: {data: a.csv, test: b.csv}\n")
    answer = salience(*asked(place, *(each.format(file=file) for each in options), output=tmp_path / "out"))
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.whole
def test_rows_with_faults_are_left_out_when_asked(place, salience, tmp_path):
    """Of references alone, which cost no training: they are what a method has to be better than."""
    data = tmp_path / "cp1252.csv"
    rows = [*labelled_rows(40), ("café", "sport"), ("", "sport")]
    data.write_bytes("".join(f"{text},{label}\n" for text, label in [("text", "label"), *rows]).encode("cp1252"))
    test = [(f"{text} \u2028 and \x85 \x1c on", label) for text, label in labelled_rows(12, seed=1)]
    command = ["compare", data, "--test", write_csv(tmp_path / "test.csv", test), "--model", place.model, "--methods",
               "tf-idf,majority", "--references", "none", "--seeds", "0,1", "--device", "cpu", "--no-heat-maps",
               "--output", tmp_path / "out"]  # fmt: skip
    answer = salience(*command, "--encoding", "cp1252")
    assert answer.code == 2 and "--bad-rows skip" in answer.err
    answer = salience(*command, "--encoding", "cp1252", "--bad-rows", "skip")
    assert answer.code == 0, answer.err
    assert "left out 1 row of 42" in answer.out
    (results,) = json.loads((tmp_path / "out" / "comparison.json").read_text())["conditions"]
    assert list(results["scores"]) == ["tf-idf", "majority"] and results["rows"] == 12
    assert "tf-idf" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


# Larger grids.


@pytest.mark.whole
def test_a_model_that_was_there_before_is_taken_for_the_run(place, salience, tmp_path):
    folder = tmp_path / "out" / "plain-1"
    trained = salience("train", place.data, "--test", place.test, "--method", "plain", "--model", place.model,
                       "--steps", "2", "--device", "cpu", "--seed", "1", "--output", folder)  # fmt: skip
    assert trained.code == 0, trained.err
    answer = salience("compare", place.data, "--test", place.test, "--methods", "plain,embedmix", "--model",
                      place.model, "--steps", "2", "--device", "cpu", "--references", "none", "--seeds", "0,1",
                      "--output", tmp_path / "out")  # fmt: skip
    assert answer.code == 0, answer.err
    assert (folder / "model.safetensors").exists()


@pytest.mark.whole
def test_a_method_that_is_added_is_explained(place, out, salience, tmp_path):
    """The texts on which methods disagree are others then; of those that were explained, no model is asked again."""
    copy = tmp_path / "out"
    shutil.copytree(out, copy)
    before = {(row["method"], row["row"]): row for row in stored(copy)}
    command = grid(place, copy)
    command[command.index("plain,embedmix")] = "plain,embedmix,wordmixup"
    answer = salience(*command)
    assert answer.code == 0 and answer.out.count(TOLD) == 1
    rows = {(row["method"], row["row"]): row for row in stored(copy)}
    assert rows | before == rows
    page = (copy / "report.html").read_text()
    shown = [int(row) for row in re.findall(r"<dt>row</dt><dd[^>]*>(\d+)</dd>", page)]
    assert {(method, row) for row in shown for method in (*METHODS, "wordmixup")} <= rows.keys()
    assert len(maps_of(copy)) == 3 * len(shown)


@pytest.mark.whole
def test_several_data_sets_sizes_and_models(place, salience, tmp_path):
    """Each has its folder, models by their whole names; a finished grid is read without data or models."""
    sets, out = tmp_path / "sets.yaml", tmp_path / "out"
    sets.write_text(f"one: {{data: {place.data}, test: {place.test}}}\n"
                    f"two: {{data: {place.test}, test: {place.data}, label: label}}\n")  # fmt: skip
    models = [tmp_path / name for name in ("tiny-v1.5", "tiny-v1.6")]
    for model in models:
        shutil.copytree(place.model, model)
    command = ["compare", "--data-sets", sets, "--sizes", "12,20", "--methods", "plain,wordmixup", "--seeds", "0,1",
               "--models", ",".join(map(str, models)), "--references", "none", "--steps", "2", "--device", "cpu",
               "--no-heat-maps", "--output", out]  # fmt: skip
    answer = salience(*command)
    assert answer.code == 0, answer.err
    before = {path: path.stat().st_mtime_ns for path in out.rglob("metrics.json")}
    assert {str(path.parent.relative_to(out)) for path in before} == {
        f"{name}/{model.name}/{size}/{method}-{seed}"
        for name in ("one", "two") for model in models for size in (12, 20)
        for method in ("plain", "wordmixup") for seed in (0, 1)
    }  # fmt: skip
    found = json.loads((out / "comparison.json").read_text())
    assert len(found["over_data_sets"]) == 4 and len(read_csv(out / "results.csv")) == 32
    for over in found["over_data_sets"]:
        means = [
            results["differences"]["wordmixup"]["accuracy"]["mean"] for results in found["conditions"]
            if all(results["condition"][axis] == over[axis] for axis in ("model", "size"))
        ]  # fmt: skip
        assert len(means) == 2 and over["here"]["wordmixup"]["mean"] == pytest.approx(np.mean(means))
    for model in models:
        (model / "model.safetensors").unlink()
    again = salience(*command)
    assert again.code == 0, again.err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("metrics.json")} == before


@pytest.mark.whole
def test_each_variant_is_the_run_that_train_makes(salience, place, tmp_path):
    variants = {
        "usual": {}, "fast": {"learning_rate": 0.01, "batch_size": 8}, "mixed": {"method": "embedmix", "clean": 0.0},
        "long": {"steps": 7}, "half": {"precision": "bf16"},
    }  # fmt: skip
    (tmp_path / "plain.yaml").write_text("method: plain\n")
    (tmp_path / "variants.yaml").write_text(yaml.safe_dump(variants, sort_keys=False))
    out, alone = tmp_path / "out", tmp_path / "alone"
    command = ["compare", place.data, "--test", place.test, "--model", place.model, "--steps", 4, "--config",
               tmp_path / "plain.yaml", "--device", "cpu", "--seeds", "0,1", "--references", "frozen", "--variants",
               tmp_path / "variants.yaml", "--output", out]  # fmt: skip
    answer = salience(*command)
    assert answer.code == 0, answer.err
    own = {name: yaml.safe_load((out / f"{name}-1" / "recipe.yaml").read_text()) for name in variants}
    assert (own["fast"]["learning_rate"], own["mixed"]["method"], own["half"]["precision"]) == (
        0.01,
        "embedmix",
        "bf16",
    )
    assert own["usual"]["precision"] == "fp32"
    # Half as many texts a step are paid by twice as many steps; mixtures alone cost as much as plain training.
    steps = {name: recipe["steps"] for name, recipe in own.items()}
    assert steps == {"usual": 4, "fast": 8, "mixed": 4, "long": 7, "half": 4}
    assert salience("train", place.data, "--test", place.test, "--model", place.model, "--method", "plain",
                    "--device", "cpu", "--steps", 8, "--set", "seed=1", "--set", "batch_size=8", "--set",
                    "learning_rate=0.01", "--estimate", "none", "--output", alone).code == 0  # fmt: skip
    one, other = (np.load(folder / "probabilities.npz")["probabilities"] for folder in (out / "fast-1", alone))
    assert (one == other).all()
    result = json.loads((out / "comparison.json").read_text())
    assert list(result["conditions"][0]["scores"]) == [*variants, "frozen"]
    page, words = (out / "report.html").read_text(), (out / "report.md").read_text()
    assert "<span>variant</span>" in page and "| fast | plain | none |" in words
    (tmp_path / "variants.yaml").write_text(yaml.safe_dump(variants | {"fast": {"learning_rate": 0.02}}))
    answer = salience(*command)
    assert answer.code == 2 and "fast-0 was run with" in answer.err
