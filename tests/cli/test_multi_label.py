"""Texts with several labels on the command line: train, predict, explain, report, and what is refused by name."""

import csv
import json

import numpy as np
import pytest
import yaml
from sklearn.metrics import f1_score
from transformers import pipeline

import salience as library
from labelled import WORDS, rows_of_several, write_csv
from salience.errors import InputError


@pytest.fixture(scope="module")
def files(several_files):
    return several_files


@pytest.fixture(scope="module")
def trained(several_run):
    return several_run


def metrics_of(run) -> dict:
    return json.loads((run / "metrics.json").read_text())


def test_the_run_is_a_plain_checkpoint_that_pipelines_read_with_the_sigmoid(trained, files):
    texts = [row["text"] for row in csv.DictReader(files[1].open())]
    classify = pipeline("text-classification", model=str(trained), top_k=None, device="cpu")
    ours = library.load(trained, device="cpu", precision="fp32")
    for found, own in zip(classify(texts), ours.predict_proba(texts), strict=True):
        theirs = {each["label"]: each["score"] for each in found}
        assert [theirs[label] for label in ours.labels] == pytest.approx(own.tolist(), abs=1e-5)
    assert json.loads((trained / "config.json").read_text())["problem_type"] == "multi_label_classification"


def test_the_scores_are_those_of_the_files(trained):
    found = metrics_of(trained)
    arrays = np.load(trained / "probabilities.npz")
    half = (arrays["probabilities"] >= 0.5).astype(int)
    assert found["test"]["micro_f1"] == pytest.approx(f1_score(arrays["labels"], half, average="micro"))
    lines = [json.loads(line) for line in (trained / "predictions.jsonl").read_text().splitlines()]
    names = arrays["names"].tolist()
    for line, decided, right in zip(lines, arrays["decided"], arrays["labels"], strict=True):
        assert line["predicted"] == [names[place] for place in np.flatnonzero(decided)]
        assert line["label"] == [names[place] for place in np.flatnonzero(right)]
    own = found["test"]["micro_f1_at_thresholds"]
    assert own == pytest.approx(f1_score(arrays["labels"], arrays["decided"].astype(int), average="micro"))
    assert set(found["labels"]) == set(WORDS) and sum(each["rows"] for each in found["labels"].values())
    folds = np.load(trained / "out_of_fold.npz")
    assert folds["probabilities"].shape == (60, 3) and found["estimate"]["rows"] == 60
    for fold in (1, 2):  # each label has half of its rows in each fold
        assert np.abs(folds["labels"][folds["fold"] == fold].sum(0) - folds["labels"].sum(0) / 2).max() <= 1.5


def test_the_report_and_the_card_have_a_table_of_labels(trained, salience):
    page = (trained / "report.html").read_text()
    assert '<section id="labels">' in page and '<section id="confusions">' not in page
    assert all(f"<td>{label}</td>" in page for label in WORDS)
    card = (trained / "README.md").read_text()
    assert "top_k=None" in card and "| this model |" in card and "subset accuracy" in card
    assert salience("report", trained).code == 0


def test_predictions_are_lists_and_a_column_for_each_label(trained, files, salience, tmp_path):
    assert salience("predict", trained, files[1], "--output", tmp_path / "out.csv").code == 0
    found = list(csv.DictReader((tmp_path / "out.csv").open()))
    of_labels = [f"probability_{label}" for label in sorted(WORDS)]
    assert list(found[0]) == ["text", "label", "predicted", *of_labels, "familiarity"]
    classifier = library.load(trained, device="cpu")
    assert [json.loads(row["predicted"]) for row in found] == classifier.predict([row["text"] for row in found])
    assert salience("predict", trained, files[1], "--threshold", "0", "--output", tmp_path / "all.jsonl").code == 0
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert all(line["predicted"] == sorted(WORDS) and set(line["probabilities"]) == set(WORDS) for line in lines)


@pytest.mark.whole
def test_rows_without_a_label_are_learnt_scored_and_compared_if_asked_for(files, place, salience, tmp_path):
    """The answer stands in the recipe; the test and the comparison know it. What is left out is beside the scores."""

    def emptied(file, name, *more):
        rows = [(row["text"], "|".join(json.loads(row["label"]))) for row in csv.DictReader(file.open())]
        assert "" in {label for _, label in rows}
        return write_csv(tmp_path / name, [*rows, *more])

    data, test = emptied(files[0], "train.csv"), emptied(files[1], "test.csv", ("", "food"), ("", ""))
    options = ["--label-separator", "|", "--empty-label", "none", "--bad-rows", "skip", "--test", test]
    output = tmp_path / "run"
    answer = salience(*place.train(*options, "--output", output, data=data))
    assert answer.code == 0, answer.err
    assert yaml.safe_load((output / "recipe.yaml").read_text())["empty_label"] == "none"
    metrics = metrics_of(output)
    assert metrics["rows"]["test"] == 24 and metrics["left_out"] == {"test": 2}
    assert "24 test rows; 2 rows without text or label left out" in " ".join(answer.out.split())
    assert salience("predict", output, test, "--output", tmp_path / "out.csv", "--device", "cpu").code == 0
    written = list(csv.DictReader((tmp_path / "out.csv").open()))  # with the separator, and nothing where none applies
    predicted = [[*filter(None, row["predicted"].split("|"))] for row in written[:24]]
    assert predicted == library.load(output, device="cpu").predict([row["text"] for row in written[:24]])
    tested = salience("test", output, test, "--bad-rows", "skip", "--device", "cpu")
    assert "24 test rows; 2 rows without text or label left out" in " ".join(tested.out.split()), tested.err
    other = salience("test", output, test, "--bad-rows", "skip", "--empty-label", "error", "--device", "cpu")
    assert "add --empty-label none" in other.err
    compared = salience(
        "compare", data, *options, "--methods", "plain,ssmix", "--seeds", "0,1", "--model", place.model,
        "--steps", "2", "--references", "none", "--device", "cpu", "--output", tmp_path / "compared",
    )  # fmt: skip
    assert "24 test rows (2 rows without text or label left out)" in " ".join(compared.out.split()), compared.err


def test_thresholds_of_the_configuration_are_used_and_checked(trained, files):
    classifier = library.load(trained, device="cpu")
    texts = [row["text"] for row in csv.DictReader(files[1].open())]
    classifier.model.config.label_thresholds = {"food": 0.0, "music": 1.0, "sport": 1.0}
    assert classifier.predict(texts[:2]) == [["food"], ["food"]]
    classifier.model.config.label_thresholds = {"food": 0.5}
    with pytest.raises(InputError, match="label_thresholds must have a number"):
        classifier.predict(texts)


def test_each_predicted_label_is_explained(trained, files, salience, tmp_path):
    options = ["--explainer", "occlusion", "--output"]
    assert salience("explain", trained, files[1], *options, tmp_path / "out.jsonl").code == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    by_row: dict[int, list] = {}
    for line in lines:
        by_row.setdefault(line["row"], []).append(line)
    assert sorted(by_row) == list(range(1, 25))
    for own in by_row.values():
        wanted = own[0]["predicted"] or [max(own[0]["probabilities"], key=own[0]["probabilities"].get)]
        assert [line["explained"] for line in own] == wanted and isinstance(own[0]["label"], list)
    assert salience("explain", trained, files[1], "--target", "food", *options, tmp_path / "food.jsonl").code == 0
    of_food = [json.loads(line) for line in (tmp_path / "food.jsonl").read_text().splitlines()]
    assert len(of_food) == 24 and {line["explained"] for line in of_food} == {"food"}
    answer = salience("explain", trained, files[1], "--target", "gold", "--most", "6")
    assert answer.code == 0 and ", right): " in answer.out
    assert salience("explain", trained, files[1], "--output", tmp_path / "page.html").code == 0


def test_cut_texts_count_with_each_decision_that_is_explained(trained, files, salience, tmp_path):
    output = tmp_path / "out.jsonl"
    answer = salience("explain", trained, files[1], "--max-length", "4", "--target", "gold", "--output", output)
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(lines) > len({line["row"] for line in lines})
    told = f"{len(lines)} of {len(lines)} decisions are about texts that are cut: longer than 4 tokens"
    assert answer.code == 0 and told in answer.err and f"{len(lines)} decisions explained" in answer.err


def test_a_row_without_known_labels_has_no_right_ones_to_explain(trained, salience, tmp_path):
    data = write_csv(tmp_path / "data.csv", [("a cup", '["food"]'), ("a song", ""), ("a match", "[]")])
    answer = salience("explain", trained, data, "--target", "gold", "--output", tmp_path / "out.jsonl")
    assert answer.code == 2
    said = answer.err.splitlines()[-1]
    assert said.startswith(f"salience: cannot explain {data} by {trained}: ") and "but row 2 has none" in said
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.whole
def test_columns_and_a_separator_give_the_same_run_as_lists(files, place, salience, tmp_path):
    data = files[0]
    rows = [(text, json.loads(labels)) for text, labels in rows_of_several(60, 0)]
    names = sorted(WORDS)
    columns = [(text, *(int(name in labels) for name in names)) for text, labels in rows]
    joined = [(text, "|".join(labels) or "[]") for text, labels in rows]
    runs = {
        "lists": (data, []),
        "columns": (write_csv(tmp_path / "columns.csv", columns, ("text", *names)), ["--label", ",".join(names)]),
        "joined": (write_csv(tmp_path / "joined.csv", joined), ["--label-separator", "|"]),
    }
    weights = []
    for name, (file, options) in runs.items():
        more = ["--estimate", "none", "--set", "validation_share=0.2", "--output", tmp_path / name]
        assert salience(*place.train(*options, *more, data=file)).code == 0
        weights.append((tmp_path / name / "model.safetensors").read_bytes())
        assert "validation" in metrics_of(tmp_path / name)
    assert weights[0] == weights[1] == weights[2]
    assert yaml.safe_load((tmp_path / "joined" / "recipe.yaml").read_text())["label_separator"] == "|"
    answer = salience("explain", tmp_path / "columns", runs["columns"][0], "--target", "gold", "--most", "2")
    assert answer.code == 0, answer.err


@pytest.mark.whole
def test_long_texts_are_read_in_windows(place, salience, tmp_path):
    rows = [(" ".join([text] * (1 if number % 3 else 20)), labels) for number, (text, labels) in
            enumerate(rows_of_several(60, 0))]  # fmt: skip
    data = write_csv(tmp_path / "long.csv", rows)
    run, page = tmp_path / "run", tmp_path / "explained.jsonl"
    options = ("--long", "windows", "--max-length", "16", "--estimate", "folds:2", "--test", data, "--output", run)
    answer = salience(*place.train(*options, data=data))
    assert answer.code == 0, answer.err
    lines = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    found = library.load(run).predict_proba([line["text"] for line in lines])
    kept = np.array([line["probabilities"] for line in lines])
    assert kept.shape == (60, 3) and kept == pytest.approx(found, abs=1e-4)
    assert salience("explain", run, data, "--target", "gold", "--output", page).code == 0
    longest = max((json.loads(line) for line in page.read_text().splitlines()), key=lambda line: len(line["words"]))
    assert len(longest["words"]) == len(longest["scores"]["gradient"]) > 60 and not longest["cut"]


@pytest.mark.whole
def test_weights_of_labels_raise_their_probabilities(files, place, salience, tmp_path):
    """Of two runs that differ in the weight of one label, the one with the higher weight expects it more often."""
    means = {}
    for weight in ("0.1", "10"):
        run = tmp_path / weight
        options = ("--class-weights", f"food={weight}", "--estimate", "none", "--test", files[1], "--output", run)
        answer = salience(*place.train(*options, "--seed", "1", data=files[0]))
        assert answer.code == 0, answer.err
        with np.load(run / "probabilities.npz", allow_pickle=False) as found:
            means[weight] = found["probabilities"].mean(0)[found["names"].tolist().index("food")]
    assert means["10"] > means["0.1"] + 0.2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--model", "attention:additive"], "--model attention:additive"),
        (["--model", "attention:variational"], "--model attention:variational"),
        (["--set", "contrastive=0.3"], "--set contrastive"),
    ],
)
def test_training_options_that_need_one_label_are_refused(options, named, files, place, salience, tmp_path):
    answer = salience(*place.train(*options, "--output", tmp_path / "run", data=files[0]))
    assert answer.code == 2 and f"{named} is not available for multi-label texts: " in answer.err
    assert answer.err.strip().count("\n") == 0 and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["analyse", "channels", "RUN", "TEST"],
        ["analyse", "embeddings", "RUN", "TEST"], ["analyse", "attention", "TEST", "--model", "RUN"],
        ["predict", "RUN", "TEST", "--sets", "0.9"], ["predict", "RUN", "TEST", "--no-abstain"],
        ["suggest", "RUN", "TEST", "--strategy", "margin"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_commands_that_need_one_label_are_refused(command, trained, files, place, salience, tmp_path):
    names = {"RUN": trained, "DATA": files[0], "TEST": files[1]}
    options = ["--output", tmp_path / "out"] if command[0] not in ("predict", "suggest") else []
    answer = salience(*(names.get(each, each) for each in command), *options)
    assert answer.code == 2 and "multi-label" in answer.err, answer.err
    assert not (tmp_path / "out").exists()


def test_functions_that_need_one_label_are_refused(trained):
    with pytest.raises(InputError, match=r"margin is for texts with one label.*use --strategy facility-location"):
        library.suggest(library.load(trained, device="cpu"), ["a cup"], strategy="margin")
