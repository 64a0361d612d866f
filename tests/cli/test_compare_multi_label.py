"""`salience compare` of texts with several labels: its numbers counted again from the runs, and what is refused."""

import json

import numpy as np
import pytest
from pandas import read_csv
from sklearn import metrics as sk

from labelled import WORDS, rows_of_several, write_csv
from salience.comparison.paired_difference import adjusted, paired_difference

pytestmark = pytest.mark.whole  # it trains real models, or many of them

SEEDS = (0, 1)
METHODS, REFERENCES = ("plain", "ssmix"), ("majority", "tf-idf", "frozen")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    return write_csv(folder / "train.csv", rows_of_several(40, 0)), write_csv(
        folder / "test.csv", rows_of_several(24, 1)
    )


@pytest.fixture(scope="module")
def asked(files, place):
    data, test = files
    config = data.with_name("quick.yaml")
    config.write_text("learning_rate: 0.005\n")
    return ["compare", str(data), "--test", str(test), "--model", str(place.model), "--steps", "60", "--config",
            str(config), "--device", "cpu", "--seeds", "0,1"]  # fmt: skip


@pytest.fixture(scope="module")
def out(asked, tmp_path_factory):
    from salience.cli.main import main

    folder = tmp_path_factory.mktemp("compared") / "out"
    assert main([*asked, "--methods", ",".join(METHODS), "--faithfulness", "--output", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def results(out):
    (found,) = json.loads((out / "comparison.json").read_text())["conditions"]
    return found


def arrays_of(out, method, seed):
    arrays = np.load(out / f"{method}-{seed}" / "probabilities.npz")
    return arrays["labels"], arrays["probabilities"]


def test_scores_are_those_of_scikit_learn(out, results):
    assert list(results["scores"]) == [*METHODS, *REFERENCES]
    for method, scores in results["scores"].items():
        for number, seed in enumerate(SEEDS):
            labels, probabilities = arrays_of(out, method, seed)
            decided = probabilities >= 0.5
            assert 100 * sk.label_ranking_average_precision_score(labels, probabilities) == pytest.approx(
                scores["ranking_precision"][number]
            )
            for average in ("micro", "macro"):
                f1 = sk.f1_score(labels, decided, average=average, zero_division=0)
                assert scores[f"{average}_f1"][number] == pytest.approx(100 * f1)
            assert scores["subset_accuracy"][number] == pytest.approx(100 * sk.accuracy_score(labels, decided))
        assert not any("thresholds" in score for score in scores)
    table = read_csv(out / "results.csv")
    assert len(table) == 10 and {"ranking_precision", "micro_f1", "calibration_error_scaled"} < {*table.columns}
    classes = read_csv(out / "classes.csv")
    assert {*classes["class"]} == {*WORDS}
    labels, probabilities = arrays_of(out, "ssmix", 1)
    of_run = classes[(classes["method"] == "ssmix") & (classes["seed"] == 1)]
    assert of_run["rows"].tolist() == labels.sum(0).tolist()
    assert of_run["f1"].tolist() == pytest.approx(
        (100 * sk.f1_score(labels, probabilities >= 0.5, average=None, zero_division=0)).tolist(), abs=1e-6
    )


def test_differences_are_paired_over_rows_and_draws(out, results):
    def by_row(method):
        found = []
        for seed in SEEDS:
            labels, probabilities = arrays_of(out, method, seed)
            found.append([
                100 * sk.label_ranking_average_precision_score(labels[row : row + 1], probabilities[row : row + 1])
                for row in range(len(labels))
            ])  # fmt: skip
        return np.array(found)

    family = adjusted(
        [paired_difference([by_row(method)], [by_row("plain")], False, comparisons=1) for method in METHODS[1:]]
    )
    for method, expected in zip(METHODS[1:], family, strict=True):
        difference = results["differences"][method]["ranking_precision"]
        for name in ("mean", "low", "high", "p", "adjusted_p"):
            assert difference[name] == pytest.approx(getattr(expected, name), abs=1e-6)
        means = [np.mean(results["scores"][each]["micro_f1"]) for each in (method, "plain")]
        assert results["differences"][method]["micro_f1"]["mean"] == pytest.approx(means[0] - means[1])
    assert results["differences"].keys() == set(METHODS[1:]) and list(results["references"]) == list(REFERENCES)


def test_explanations_of_the_right_labels_are_judged(out, results):
    labels, _ = arrays_of(out, "ssmix", 0)
    for method in METHODS:
        found = json.loads((out / f"{method}-0" / "metrics.json").read_text())["faithfulness"]
        assert found["judged"] == (labels.sum(1) > 0).sum()  # texts without a label have nothing to explain
        excess = found["comprehensiveness_gradient_over_random"]
        assert excess == pytest.approx(
            found["means"]["gradient"]["comprehensiveness"] - found["means"]["random"]["comprehensiveness"]
        )
        assert results["scores"][method]["comprehensiveness_gradient_over_random"][0] == pytest.approx(100 * excess)


def test_the_reports_name_the_scores(out, results):
    page, text = (out / "report.html").read_text(), (out / "report.md").read_text().replace("\\", "")
    mean = results["differences"]["ssmix"]["ranking_precision"]["mean"]
    for report in (page, text):
        assert f"{mean:+.2f} [" in report and "difference in ranking precision" in report
        assert "difference in micro-F1" in report and "subset accuracy" in report
    assert "accuracy of every run" not in page and 'id="confusions"' not in page and "## Most confused" not in text
    assert "Decisions about all labels" in page and "<h2>Labels</h2>" in page


def test_texts_in_dispute_have_heat_maps_of_the_contested_label(out, asked, salience):
    rows = [json.loads(line) for line in (out / "explanations.jsonl").read_text().splitlines()]
    assert rows and {row["explained"] for row in rows} <= {*WORDS}
    page = (out / "report.html").read_text()
    assert page.count('class="map"') == len(rows) and "the label about which the methods" in page
    by_row = {}
    for row in rows:  # all methods explain one label of a text
        by_row.setdefault(row["row"], set()).add(row["explained"])
        chosen = row["probabilities"][row["explained"]] >= 0.5
        assert chosen == (row["explained"] in row["predicted"])
    assert all(len(labels) == 1 for labels in by_row.values())
    # A finished comparison is read again without its models.
    for model in out.glob("*/model.safetensors"):
        model.unlink()
    again = salience(*asked, "--methods", ",".join(METHODS), "--faithfulness", "--output", out)
    assert again.code == 0, again.err
    assert (out / "report.html").read_text().count('class="map"') == len(rows)
    printed = " ".join(again.out.split())  # the title of the table is wrapped to the width of the terminal
    assert "difference to plain in points of ranking precision, with the 95 % interval" in printed


def test_what_needs_one_label_is_refused_by_name(asked, salience, tmp_path):
    answer = salience(*asked, "--model", "attention:additive", "--output", tmp_path / "out")
    assert answer.code == 2 and "attention:additive is not available for multi-label texts" in answer.err
    assert answer.err.strip().count("\n") == 0 and not list(tmp_path.glob("out/*-0"))


@pytest.mark.whole
def test_several_data_sets_are_summed_up_by_the_main_score(files, place, salience, tmp_path):
    separated = write_csv(tmp_path / "joined.csv", [
        (text, "|".join(json.loads(labels)) or "[]") for text, labels in rows_of_several(40, 3)
    ])  # fmt: skip
    (tmp_path / "sets.yaml").write_text(
        f"lists: {{data: {files[0]}, test: {files[1]}}}\n"
        f'joined: {{data: {separated}, test: {separated}, label_separator: "|"}}\n'
    )
    answer = salience("compare", "--data-sets", tmp_path / "sets.yaml", "--methods", "plain,ssmix",
                      "--model", place.model, "--steps", "2",
                      "--device", "cpu", "--seeds", "0,1", "--references", "none", "--no-heat-maps", "--sizes", "20",
                      "--output", tmp_path / "out")  # fmt: skip
    assert answer.code == 0, answer.err
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    means = [each["differences"]["ssmix"]["ranking_precision"]["mean"] for each in found["conditions"]]
    assert found["over_data_sets"][0]["here"]["ssmix"]["mean"] == pytest.approx(np.mean(means))
    assert "difference to plain in ranking precision" in answer.out


def test_joined_labels_are_divided_by_the_option(place, salience, tmp_path):
    """Of references alone, which cost no training."""
    joined = write_csv(tmp_path / "joined.csv", [
        (text, "|".join(json.loads(labels)) or "[]") for text, labels in rows_of_several(40, 3)
    ])  # fmt: skip
    answer = salience("compare", joined, "--test", joined, "--label-separator", "|", "--no-heat-maps", "--model",
                      place.model, "--methods", "tf-idf,majority", "--device", "cpu", "--seeds", "0,1",
                      "--references", "none", "--output", tmp_path / "out")  # fmt: skip
    assert answer.code == 0, answer.err
    (condition,) = json.loads((tmp_path / "out" / "comparison.json").read_text())["conditions"]
    assert "ranking_precision" in condition["scores"]["tf-idf"]
