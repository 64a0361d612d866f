"""`salience push`: what is uploaded loads, has its scores as the hub reads them, and tells nothing else."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, constants, metadata_eval_result
from pandas import read_csv
from test_bad_input import refused

import hub as stand_in
import salience as package
from salience.cli.push import UPLOADED, base_model_of, without_places
from salience.runs.card import hub_results, model_card
from salience.training.recipe import Recipe

NAME = "me/reviews"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with stand_in.running() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", stand_in.TOKEN)
        yield hub


def metrics_of(run) -> dict:
    return json.loads((run / "metrics.json").read_text(encoding="utf-8"))


def test_what_is_uploaded_is_the_model(hub, run, place, salience, tmp_path):
    answer = salience("push", run, NAME)
    assert answer.code == 0, answer.err
    assert answer.out == f"uploaded: {hub.address}/{NAME} (public, {len(hub.files[NAME])} files)\n"
    assert hub.private == {NAME: False} and len(hub.commits) == 1
    there = tmp_path / "there"
    there.mkdir()
    for name, content in hub.files[NAME].items():
        (there / name).write_bytes(content)
        assert name == "README.md" or content == (run / name).read_bytes()
    texts = ["a match and a cup", "a song"]
    expected = package.load(run, device="cpu").predict_proba(texts)
    assert package.load(there, device="cpu").predict_proba(texts).tolist() == expected.tolist()


def test_nothing_else_of_the_run_is_uploaded(hub, run, place, salience):
    (run.parent / "pushed").exists() or shutil.copytree(run, run.parent / "pushed")
    (run.parent / "pushed" / "notes.txt").write_text("mine")  # nor what no run has written
    answer = salience("push", run.parent / "pushed", NAME)
    assert answer.code == 0, answer.err
    uploaded = set(hub.files[NAME])
    assert {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} == uploaded
    everything = b"".join(content for name, content in hub.files[NAME].items() if name != "model.safetensors").decode()
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text("utf-8").splitlines()]
    assert not [row["text"] for row in rows if row["text"] in everything]
    assert str(place.folder) not in everything


def test_the_scores_are_what_the_hub_reads(hub, run, salience, tmp_path):
    """As the hub's own function writes the same score of the same rows."""
    assert salience("push", run, NAME, "--license", "apache-2.0").code == 0
    file = tmp_path / "README.md"
    file.write_bytes(hub.files[NAME]["README.md"])
    card, scores = ModelCard.load(file), metrics_of(run)["test"]
    assert card.data.license == "apache-2.0" and card.data.pipeline_tag == "text-classification"
    found = {each.metric_type: each for each in card.data.eval_results}
    assert {name: each.metric_value for name, each in found.items()} == {
        "accuracy": round(scores["accuracy"], 4), "f1": round(scores["macro_f1"], 4),
        "expected_calibration_error": round(scores["calibration_error"], 4),
    }  # fmt: skip
    (index,) = card.data.to_dict()["model-index"]
    by_hub = metadata_eval_result(
        model_pretty_name="reviews", task_pretty_name="Text Classification", task_id="text-classification",
        metrics_pretty_name="accuracy", metrics_id="accuracy", metrics_value=round(scores["accuracy"], 4),
        dataset_pretty_name="test.csv", dataset_id="csv", dataset_split="test",
    )  # fmt: skip
    (theirs,) = by_hub["model-index"]
    assert index["name"] == theirs["name"]
    (result,), (expected,) = index["results"], theirs["results"]
    assert (result["task"], result["dataset"]) == (expected["task"], expected["dataset"])
    (metric,) = expected["metrics"]
    assert {name: result["metrics"][0].get(name) for name in ("type", "value", "name")} == {
        name: metric[name] for name in ("type", "value", "name")
    }
    assert f'model="{NAME}"' in card.text and "recipe.yaml" not in card.text


def test_thresholds_go_with_the_model(hub, run, salience, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (tmp_path / "run" / "abstention.json").write_text("{}")
    manifest["files"].append("abstention.json")
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    assert salience("push", tmp_path / "run", NAME).code == 0
    assert hub.files[NAME]["abstention.json"] == b"{}"


def test_a_saved_threshold_goes_with_the_model(hub, abstaining_run, place, salience, tmp_path):
    shutil.copytree(abstaining_run, tmp_path / "run")
    name = package.load(abstaining_run, device="cpu").labels[1]
    assert salience("thresholds", tmp_path / "run", "--label", name, "--recall", "1", "--save").code == 0
    assert salience("push", tmp_path / "run", NAME).code == 0
    there = tmp_path / "there"
    there.mkdir()
    for file, content in hub.files[NAME].items():
        (there / file).write_bytes(content)
    texts = read_csv(place.data)["text"].tolist()
    expected = package.load(tmp_path / "run", device="cpu").predict(texts)
    assert package.load(there, device="cpu").predict(texts) == expected
    assert name in expected != package.load(abstaining_run, device="cpu").predict(texts)
    card = " ".join(hub.files[NAME]["README.md"].decode().split())
    threshold = json.loads((there / "config.json").read_text())["predicted_from"][name]
    assert f'"{name}" is predicted from {threshold} on' in card and "transformers does not read it" in card


def test_a_run_that_used_what_is_retired_has_a_card(hub, run, salience, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text(encoding="utf-8"))
    used = {"r_drop": 1.0, "average": "ema", "pooling": "trained-mean", "method": "auto", "plain_share": 0.375}
    (tmp_path / "run" / "recipe.yaml").write_text(yaml.safe_dump(recipe | used), encoding="utf-8")
    metrics = metrics_of(run) | {"choice": {"chosen": "ssmix"}}
    (tmp_path / "run" / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    assert salience("push", tmp_path / "run", NAME).code == 0
    assert "ssmix with clean=" in hub.files[NAME]["README.md"].decode()


def test_a_dry_run_asks_nobody(hub, run, salience, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    answer = salience("push", run, NAME, "--dry-run")
    assert answer.code == 0 and not hub.asked
    assert "model.safetensors (" in answer.err
    left = "class_words.json, data_facts.json, familiarity.npz, history.json, manifest.json, metrics"
    assert f"not uploaded: {left}" in answer.err
    metadata = yaml.safe_load(answer.out.split("---\n")[1])
    assert metadata["model-index"][0]["name"] == "reviews"


def test_private_means_private(hub, run, salience):
    assert salience("push", run, "me/secret", "--private").code == 0
    assert hub.private["me/secret"] is True
    assert "(private, " in salience("push", run, "me/secret").out
    assert salience("push", run, "me/open").code == 0
    before = dict(hub.files["me/open"])
    hub.files["me/open"].clear()
    refused(salience("push", run, "me/open", "--private"), "me/open exists and is public", "nothing is uploaded")
    assert before and not hub.files["me/open"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reviews", '"reviews" has no owner: give owner/name, such as your-name/reviews'),
        ("me/../you", "is no name of a repository"),
        ("a/b/c", "is no name of a repository"),
        ("me/re views", "is no name of a repository"),
        ("me/" + "a" * 200, "is no name of a repository"),
        ("", "is no name of a repository"),
        ("you/reviews", "you may not write to you/reviews: take a token with the right to write"),
    ],
    ids=lambda value: value[:20],
)
def test_a_name_that_cannot_be(hub, run, salience, name, said):
    refused(salience("push", run, name), said)
    assert not hub.files


def test_who_may_not(hub, run, salience, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    refused(salience("push", run, NAME), "the hub does not know your token: run `hf auth login`, or set HF_TOKEN")
    monkeypatch.delenv("HF_TOKEN")
    refused(salience("push", run, NAME), "you are not logged in to the hub: run `hf auth login`, or set HF_TOKEN")
    assert not hub.files


def test_without_a_connection(hub, run, salience, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    refused(salience("push", run, NAME), "the hub does not answer", "check the connection, then run again")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    answer = salience("push", run, NAME)
    assert answer.code == 2


def test_what_is_no_run(hub, place, run, salience, tmp_path):
    refused(salience("push", place.model, NAME), "is no run: name a folder that `salience train` has written")
    refused(salience("push", tmp_path / "nothing", NAME), "is no run")
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "model.safetensors").unlink()
    refused(salience("push", tmp_path / "run", NAME), "has no model")
    assert not hub.asked


def recipe(**settings) -> Recipe:
    return Recipe(**({"data": "/home/me/secret/reviews.csv", "model": "minilm"} | settings))


def test_names_of_folders_are_left_out():
    found = without_places(recipe(test="../x/test.parquet", model="/models/my-bert"))
    assert (found.data, found.test, found.model) == ("reviews.csv", "test.parquet", "my-bert")
    found = without_places(recipe(data="stanfordnlp/imdb", model="microsoft/MiniLM-L12"))
    assert (found.data, found.model) == ("stanfordnlp/imdb", "microsoft/MiniLM-L12")


def test_the_base_model_is_named_where_it_is_certain():
    assert base_model_of(recipe()) == "sentence-transformers/all-MiniLM-L6-v2"
    assert base_model_of(recipe(model="runs/mine")) is None and base_model_of(recipe(model="attention:dot")) is None


@pytest.mark.parametrize("case", ["validation", "estimate", "nothing"])
def test_rows_that_the_scores_are_of(case):
    scores = {"accuracy": 0.81234, "macro_f1": 0.5, "calibration_error": 0.25}
    estimate = scores | {
        "kind": "folds:5",
        "calibrated": True,
        "temperature_scaling": {"calibration_error_scaled": 0.1},
    }
    metrics = {
        "validation": {"judged_on": "validation", "validation": scores}, "estimate": {"estimate": estimate},
        "nothing": {},
    }[case]  # fmt: skip
    found = hub_results(recipe(data="me/reviews").as_mapping(), metrics)
    if case == "nothing":
        assert found == []
        return
    assert {each.dataset_type for each in found} == {"me/reviews"} and found[0].metric_value == 0.8123
    assert {each.dataset_split for each in found} == {"validation" if case == "validation" else "train"}
    assert found[2].metric_value == (0.25 if case == "validation" else 0.1)
    words = (
        "too high: these rows chose the checkpoint" if case == "validation" else "estimated by 5-fold cross-validation"
    )
    assert words in found[0].metric_name


def test_the_card_of_the_run_itself_is_as_it_was(run):
    settings = yaml.safe_load((run / "recipe.yaml").read_text(encoding="utf-8"))
    labels, metrics = package.load(run, device="cpu").labels, metrics_of(run)
    card = model_card(Recipe.from_mapping(settings).as_mapping(), labels, metrics, metrics, "transformers")
    assert card == (run / "README.md").read_text(encoding="utf-8")
    assert "model-index" not in card and "`recipe.yaml` repeats the run:\n" in card


def test_no_file_of_texts_is_among_the_uploaded_ones():
    assert not {
        "predictions.jsonl",
        "out_of_fold.jsonl",
        "report.html",
        "class_words.json",
        "recipe.yaml",
        "metrics.json",
    } & set(UPLOADED)
    assert Path(UPLOADED[0]).name == "config.json"


def test_the_scores_of_several_labels_are_those_of_the_decisions_that_the_model_makes():
    scores = {"micro_f1": 0.7, "macro_f1": 0.6, "ranking_precision": 0.9, "micro_f1_at_thresholds": 0.75,
              "macro_f1_at_thresholds": 0.8, "calibration_error": 0.1}  # fmt: skip
    found = hub_results(
        recipe(data="me/reviews", test="held_out.csv").as_mapping(), {"judged_on": "test", "test": scores}
    )
    assert {each.metric_name: each.metric_value for each in found} == {
        "macro-F1": 0.8, "micro-F1": 0.75, "ranking precision": 0.9, "calibration error": 0.1
    }  # fmt: skip
