"""`--precision`: stored with a run and repeated by it, taken by every command that computes, and near to fp32."""

import json
import shutil

import numpy as np
import pytest
import yaml
from scipy.stats import spearmanr

from salience import SalienceClassifier, evaluate, explain, load
from salience.models import precision
from salience.runs.folder import kept_precision, work_of


@pytest.fixture
def fast_bf16(monkeypatch):
    """A machine on which bf16 is fast."""
    monkeypatch.setattr(precision, "has_fast_bf16", lambda device: True)


def stored(folder) -> str:
    return yaml.safe_load((folder / "recipe.yaml").read_text())["precision"]


def test_a_run_stores_what_was_used_and_repeats_it(place, salience, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(precision, "has_fast_bf16", lambda device: True)
        assert salience(*place.train("--output", tmp_path / "fast")).code == 0
    assert stored(tmp_path / "fast") == "bf16"
    assert salience(*place.train("--output", tmp_path / "slow")).code == 0
    assert stored(tmp_path / "slow") == "fp32"
    # The first run, repeated on the second machine, is the first run.
    again = salience("train", "--config", tmp_path / "fast" / "recipe.yaml", "--output", tmp_path / "again")
    assert again.code == 0, again.err
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("fast", "again", "slow")]
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.whole
def test_every_run_of_a_comparison_has_the_same(place, salience, tmp_path, fast_bf16):
    answer = salience("compare", place.data, "--test", place.test, "--model", place.model, "--steps", "2", "--device",
                      "cpu", "--output", tmp_path / "out", "--seeds", "0,1")  # fmt: skip
    assert answer.code == 0, answer.err
    assert {stored(folder) for folder in (tmp_path / "out").glob("*-?")} == {"bf16"}


@pytest.mark.whole
def test_a_comparison_keeps_its_precision_on_another_machine(place, salience, tmp_path, monkeypatch):
    command = ["compare", place.data, "--test", place.test, "--methods", "plain,ssmix", "--model", place.model,
               "--steps", "2", "--device", "cpu", "--output", tmp_path / "out", "--seeds", "0,1"]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(precision, "has_fast_bf16", lambda device: True)
        assert salience(*command).code == 0
    shutil.rmtree(tmp_path / "out" / "ssmix-1")
    answer = salience(*command)
    assert answer.code == 0, answer.err
    assert {stored(folder) for folder in (tmp_path / "out").glob("*-?")} == {"bf16"}
    answer = salience(*command, "--precision", "fp32")
    assert answer.code == 2 and "was run with precision='bf16', not 'fp32'" in answer.err


@pytest.mark.whole
def test_a_run_that_is_resumed_keeps_its_precision(place, salience, tmp_path):
    work = tmp_path / ".run.partial"
    work.mkdir()
    assert salience(*place.train("--output", tmp_path / "other", "--precision", "bf16")).code == 0
    shutil.copy(tmp_path / "other" / "recipe.yaml", work)
    answer = salience(*place.train("--output", tmp_path / "run", "--resume"))
    assert answer.code == 0, answer.err
    assert stored(tmp_path / "run") == "bf16"


def test_the_estimator(place, fast_bf16):
    texts, labels = ["a goal", "a song"] * 10, ["sport", "music"] * 10
    half, full = (
        SalienceClassifier(model=str(place.model), steps=2, random_state=0, **given).fit(texts, labels)
        for given in ({}, {"precision": "fp32"})
    )
    assert (half.classifier_.precision, full.classifier_.precision) == ("bf16", "fp32")
    assert not np.array_equal(half.predict_proba(texts), full.predict_proba(texts))


def test_commands_compute_in_it(run, place, salience, tmp_path, monkeypatch):
    """Predictions and scores differ between fp32 and bf16, and `auto` is fp32 here."""
    asked = []

    def computing(model, chosen):
        asked.append(chosen)
        return precision.computing(model, chosen)

    monkeypatch.setattr("salience.classify.classifier.computing", computing)
    commands = {
        "predict": ["predict", run, place.test, "--output", tmp_path / "out.jsonl"],
        "explain": ["explain", run, place.test, "--output", tmp_path / "out.jsonl"],
        "faithfulness": ["faithfulness", run, place.test, "--rows", "8", "--explainer", "gradient"],
    }
    for name, command in commands.items():
        found = {}
        for chosen in ("auto", "fp32", "bf16"):
            del asked[:]
            answer = salience(*command, "--overwrite", "--precision", chosen)
            assert answer.code == 0, answer.err
            found[chosen] = answer.out if name == "faithfulness" else (tmp_path / "out.jsonl").read_text()
            judged = {"fp32"} if name == "faithfulness" else set()  # what is measured
            assert name == "predict" or {chosen} <= set(asked) <= {chosen} | judged
        assert found["auto"] == found["fp32"]
        assert name == "faithfulness" or found["fp32"] != found["bf16"]  # its judge computes in fp32
        answer = salience(*command, "--overwrite", "--precision", "half")
        assert answer.code == 2 and 'unknown --precision "half"' in answer.err


@pytest.mark.whole
def test_explanations_in_bf16_rank_words_as_in_fp32(place, salience, tmp_path):
    """Of a fine-tuned MiniLM: rank correlations from 0.94 on (docs/research/studies/bf16.md). Occlusion is exact."""
    run = tmp_path / "run"
    options = ["--method", "ssmix", "--set", "validation_share=0.2", "--test", place.test, "--output", run]
    assert salience(*place.train(*options)).code == 0
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    texts = [row["text"] for row in rows if len(row["text"].split()) > 4]
    names = ("gradient", "gradient-x-input", "attention", "cls-attention", "integrated-gradients", "occlusion")
    half, full = (
        explain(load(run, precision=chosen), texts, explainers=names, target=0) for chosen in ("bf16", "fp32")
    )
    for name in names:
        pairs = [(one.scores[name], other.scores[name]) for one, other in zip(half, full, strict=True)]
        assert any((one != other).any() for one, other in pairs) == (name != "occlusion"), name
        assert np.median([spearmanr(one, other).statistic for one, other in pairs]) > 0.95, name
        assert max(np.abs(one - other).max() / np.abs(other).max() for one, other in pairs) < 0.1, name


def test_a_judge_computes_in_fp32(run):
    """Scores that do not depend on the precision give metrics that do not."""
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()][:8]
    texts = [row["text"] for row in rows]
    half, full = (
        evaluate(load(run, precision=chosen), texts, explainers=["occlusion"])["occlusion"]
        for chosen in ("bf16", "fp32")
    )
    assert {name: value.mean for name, value in half.metrics.items()} == {
        name: value.mean for name, value in full.metrics.items()
    }


def test_bf16_is_near_to_fp32(run, place):
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    texts = [row["text"] for row in rows]
    half, full = (load(run, precision=chosen).predict_proba(texts) for chosen in ("bf16", "fp32"))
    assert 0 < np.abs(half - full).max() < 0.02


def test_an_interrupted_run_that_replaces_another_one_keeps_its_own_precision(tmp_path):
    for folder, kept in ((tmp_path / "run", "bf16"), (work_of(tmp_path / "run"), "fp32")):
        folder.mkdir()
        (folder / "recipe.yaml").write_text(yaml.safe_dump({"data": "rows.csv", "precision": kept}))
    assert kept_precision(tmp_path / "run") == "fp32"
