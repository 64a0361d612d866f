"""`salience compare --faithfulness`: the numbers of each run, counted again from a model that is trained again."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from pandas import read_csv
from sklearn.metrics import f1_score

import salience as library
from salience.comparison.comparing import compare
from salience.comparison.variation import spread
from salience.errors import InputError
from salience.explainers import IntegratedGradients
from salience.training.measures import Faithfulness
from salience.training.recipe import Recipe
from salience.training.run import train

COLUMNS = [
    f"{metric}_{explainer}_over_random"
    for metric in ("comprehensiveness", "sufficiency") for explainer in ("gradient", "integrated_gradients")
]  # fmt: skip


@pytest.fixture
def asked(place):
    return ["compare", place.data, "--test", place.test, "--model", place.model, "--methods", "plain,embedmix",
            "--seeds", "0,1", "--steps", "12", "--budget", "steps", "--references", "majority", "--device", "cpu",
            "--no-heat-maps", "--precision", "fp32"]  # fmt: skip


def metrics_of(folder: Path) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def test_the_faithfulness_of_every_run(asked, salience, tmp_path):
    answer = salience(*asked, "--faithfulness", "--output", tmp_path / "out")
    assert answer.code == 0, answer.err
    table = read_csv(tmp_path / "out" / "results.csv").set_index(["method", "seed"])
    for method in ("plain", "embedmix"):
        for seed in (0, 1):
            found = metrics_of(tmp_path / "out" / f"{method}-{seed}")["faithfulness"]
            assert found["judged"] == 30 and found["texts"] == 200  # the test set is smaller
            for column in COLUMNS:
                assert table.loc[(method, seed), column] == pytest.approx(100 * found[column])
    assert table.loc["majority"][COLUMNS].isna().all().all()
    assert "faithfulness" not in metrics_of(tmp_path / "out" / "majority-0")

    # The same run again, with its model, whose explanations `salience.evaluate` judges.
    recipe = Recipe.from_mapping(yaml.safe_load((tmp_path / "out" / "embedmix-1" / "recipe.yaml").read_text()))
    run = train(recipe, tmp_path / "again", note=lambda line: None, estimating=False)
    means = metrics_of(tmp_path / "out" / "embedmix-1")["faithfulness"]["means"]
    evaluation = library.evaluate(
        run.classifier, run.task.test, metrics=["comprehensiveness", "sufficiency"],
        explainers={"gradient": library.EXPLAINERS["gradient"], "integrated-gradients": IntegratedGradients(8)},
    )  # fmt: skip
    for explainer in ("gradient", "integrated-gradients"):
        for metric, estimate in evaluation[explainer].metrics.items():
            assert means[explainer][metric] == pytest.approx(estimate.mean, abs=1e-5)

    # Differences are paired by seed; test rows are held fixed, and references have none.
    (results,) = json.loads((tmp_path / "out" / "comparison.json").read_text())["conditions"]
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for column in COLUMNS:
        own, base = (table.loc[method][column].to_numpy() for method in ("embedmix", "plain"))
        difference = results["differences"]["embedmix"][column]
        assert difference["mean"] == pytest.approx((own - base).mean())
        half = 12.7062 * np.std(own - base, ddof=1) / np.sqrt(2)  # the quantile of t with one degree of freedom
        assert difference["high"] - difference["mean"] == pytest.approx(half, rel=1e-3)
        assert column not in results["references"]["majority"]
        shown = f"{difference['mean']:+.2f} [{difference['low']:+.2f}, {difference['high']:+.2f}]"
        for text in (page, report.replace("\\", "")):
            assert spread(base) in text and shown in text
    lines = [line.split("│")[1:-1] for line in answer.out.splitlines() if "points," in line and "│" in line]
    assert len(lines) == len(COLUMNS) and lines[0][2].strip() == spread(table.loc["plain"][COLUMNS[0]])

    again = salience(*asked, "--output", tmp_path / "out")  # runs that have more than is wanted are taken as they are
    assert again.code == 0, again.err
    other = {"faithfulness": Faithfulness(texts=5)}
    methods, settings = ["plain", "embedmix"], {"budget": "steps", "references": ["majority"], "heat_maps": False}
    base = Recipe(
        recipe.data, test=recipe.test, model=recipe.model, steps=12, device="cpu", precision="fp32", method="plain"
    )
    with pytest.raises(InputError, match=r"was run with faithfulness: texts=200, not 5: choose another --output"):
        compare(base, methods, [0, 1], tmp_path / "out", print, measures=other, **settings)
    for turn in (0, 3):
        with pytest.raises(InputError, match=f"part {turn} of 2: give a number from 1"):
            compare(base, methods, [0, 1], tmp_path / "out", print, part=(turn, 2), **settings)


def test_two_jobs_measure_the_same(asked, salience, tmp_path):
    """Also runs without the measure are refused, and nothing is measured of them."""
    for place, options in (("one", ()), ("two", ("--jobs", "2"))):
        answer = salience(*asked, "--faithfulness", *options, "--output", tmp_path / place)
        assert answer.code == 0, answer.err
    for run in ("plain-0", "plain-1", "embedmix-0", "embedmix-1"):
        one, two = (metrics_of(tmp_path / place / run)["faithfulness"] for place in ("one", "two"))
        assert one == two and set(COLUMNS) <= set(one)


def test_kept_runs_without_the_measure_are_refused(asked, salience, tmp_path):
    asked += ["--output", tmp_path / "out"]
    answer = salience(*asked)
    assert answer.code == 0, answer.err
    assert "faithfulness" not in answer.out + (tmp_path / "out" / "report.md").read_text()
    assert "faithfulness" not in metrics_of(tmp_path / "out" / "plain-0")
    refused = salience(*asked, "--faithfulness")
    assert refused.code == 2 and refused.err.count("\n") == 1
    assert "plain-0 was run without --faithfulness" in refused.err and "choose another --output" in refused.err


def test_tables_of_runs_and_classes(asked, salience, tmp_path):
    """Temperature scaling as in metrics.json, and F1 as scikit-learn counts it from the predictions."""
    out = tmp_path / "out"
    answer = salience(*asked, "--output", out)
    assert answer.code == 0, answer.err
    runs = read_csv(out / "results.csv").set_index(["method", "seed"])
    classes = read_csv(out / "classes.csv").set_index(["method", "seed", "class"])
    for method in ("plain", "embedmix", "majority"):
        for seed in (0, 1):
            metrics = json.loads((out / f"{method}-{seed}" / "metrics.json").read_text())
            scaled = metrics.get("temperature_scaling", dict.fromkeys(("temperature", "calibration_error_scaled")))
            for name in ("temperature", "calibration_error_scaled"):
                assert runs.loc[(method, seed), name] == pytest.approx(scaled[name] or np.nan, nan_ok=True)
            lines = (out / f"{method}-{seed}" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
            rows = [json.loads(line) for line in lines]
            names = sorted({row["label"] for row in rows})
            expected = f1_score(
                [row["label"] for row in rows], [row["predicted"] for row in rows], labels=names, average=None,
                zero_division=0,
            )  # fmt: skip
            for name, value in zip(names, expected, strict=True):
                found = classes.loc[(method, seed, name)]
                assert found["f1"] == pytest.approx(100 * value)
                assert found["rows"] == sum(row["label"] == name for row in rows)
    assert len(classes) == 3 * 2 * len(names)


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        (["--robustness"], "a test file whose texts are changed"),
        (["--label-noise", "0.2"], "in the file of the rows"),
        (["--references", "tf-idf,setfit"], "its own package"),
    ],
)
def test_what_is_retired_is_refused_with_what_to_do(asked, options, instead, salience, tmp_path):
    refused = salience(*asked, *options, "--output", tmp_path / "out")
    assert refused.code == 2 and refused.err.count("\n") == 1
    assert options[0].lstrip("-").removesuffix("s") in refused.err and instead in refused.err
