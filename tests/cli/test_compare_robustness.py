"""`salience compare --robustness`: accuracies on corrupted rows, counted again from texts that are read again."""

import json

import numpy as np
import pytest
from pandas import read_csv
from sklearn.metrics import f1_score

import salience as library
from salience.comparison.variation import spread
from salience.data.corruptions import corrupted
from salience.data.texts import Texts
from salience.training.baselines import tfidf_probabilities
from salience.training.recipe import Recipe
from salience.training.run import train

COLUMNS = {"typos": "accuracy_typos", "dropped-words": "accuracy_dropped_words"}


@pytest.fixture
def asked(place, tmp_path):
    return ["compare", place.data, "--test", place.test, "--model", place.model, "--methods", "plain,embedmix",
            "--seeds", "0,1", "--steps", "12", "--budget", "steps", "--references", "tf-idf", "--device", "cpu",
            "--output", tmp_path / "out"]  # fmt: skip


def test_accuracies_on_corrupted_rows(asked, salience, place, tmp_path):
    answer = salience(*asked, "--robustness")
    assert answer.code == 0, answer.err
    rows = {name: read_csv(path) for name, path in (("training", place.data), ("test", place.test))}
    names = sorted({*rows["training"]["label"]})
    training, test = (
        Texts(table["text"].tolist(), labels=[names.index(label) for label in table["label"]],
              rows=list(range(1, len(table) + 1)))
        for table in rows.values()
    )  # fmt: skip
    # The same run again, with its model.
    recipe = Recipe.from_mapping(read_recipe(tmp_path / "out" / "embedmix-1"))
    classifier = train(recipe, tmp_path / "again", note=lambda line: None).classifier
    table = read_csv(tmp_path / "out" / "results.csv").set_index(["method", "seed"])
    for name, column in COLUMNS.items():
        texts = corrupted(test, name, 0.1, 0)
        expected = (classifier.predict_proba(texts).argmax(1) == test.labels).mean()
        assert table.loc["embedmix", 1][column] == pytest.approx(100 * expected)
        expected = (tfidf_probabilities(training, texts, len(names)).argmax(1) == test.labels).mean()
        assert table.loc["tf-idf", 0][column] == pytest.approx(100 * expected)
        metrics = json.loads((tmp_path / "out" / "tf-idf-0" / "metrics.json").read_text())
        assert metrics["robustness"][column] == pytest.approx(expected)
    assert metrics["robustness"]["rate"] == 0.1
    printed = [line.split("│")[1:-1] for line in answer.out.splitlines() if line.startswith("│ embedmix")]
    assert [cell.strip() for cell in printed[1][2:]] == [
        spread(table.loc["embedmix"][column].tolist()) for column in COLUMNS.values()
    ]
    again = salience(*asked)  # without the option, runs that have the scores are taken as they are
    assert again.code == 0, again.err
    assert library.load(tmp_path / "again").labels == names


def test_tables_of_runs_and_classes(asked, salience, tmp_path):
    """Temperature scaling as in metrics.json, and F1 as scikit-learn counts it from the predictions."""
    answer = salience(*asked)
    assert answer.code == 0, answer.err
    out = tmp_path / "out"
    runs = read_csv(out / "results.csv").set_index(["method", "seed"])
    classes = read_csv(out / "classes.csv").set_index(["method", "seed", "class"])
    for method in ("plain", "embedmix", "tf-idf"):
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


def read_recipe(folder) -> dict:
    import yaml

    return yaml.safe_load((folder / "recipe.yaml").read_text())


def test_kept_runs_without_the_scores_are_refused(asked, salience, tmp_path):
    answer = salience(*asked)
    assert answer.code == 0, answer.err
    metrics = json.loads((tmp_path / "out" / "plain-0" / "metrics.json").read_text())
    assert "robustness" not in metrics
    assert not {*COLUMNS.values()} & {*read_csv(tmp_path / "out" / "results.csv").columns}
    refused = salience(*asked, "--robustness")
    assert refused.code == 2 and refused.err.count("\n") == 1
    assert "plain-0 was run without --robustness" in refused.err and "choose another --output" in refused.err
    assert np.isfinite(metrics["test"]["accuracy"])
