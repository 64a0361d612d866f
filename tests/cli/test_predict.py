"""`salience predict`: every row, in its order, with the probabilities that the model gives."""

import csv
import json

import pyarrow.parquet
import pytest
import torch
from test_bad_input import refused
from transformers import pipeline

from labelled import labelled_rows, write_csv

ROWS = labelled_rows(50, seed=3)


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "data.csv", [(number, text) for number, (text, _) in enumerate(ROWS)], ("id", "text"))


def read(file) -> list[dict]:
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8") as opened:
            return list(csv.DictReader(opened))
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return pyarrow.parquet.read_table(file).to_pylist()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_every_row_in_order_as_the_pipeline_says(suffix, place, data, salience, tmp_path):
    output = tmp_path / f"out{suffix}"
    answer = salience("predict", place.model, data, "--output", output, "--window", "7", "--device", "cpu")
    assert answer.code == 0, answer.err
    assert "50 rows predicted" in answer.err
    rows = read(output)
    assert [(int(row["id"]), row["text"]) for row in rows] == [(number, text) for number, (text, _) in enumerate(ROWS)]
    theirs = pipeline("text-classification", model=str(place.model), top_k=None, device="cpu")(
        [text for text, _ in ROWS]
    )
    for row, expected in zip(rows, theirs, strict=True):
        assert row["predicted"] == expected[0]["label"]
        assert float(row["probability"]) == pytest.approx(expected[0]["score"], abs=1e-5)
        for each in expected:
            value = row["probabilities"][each["label"]] if suffix == ".jsonl" else row[f"probability_{each['label']}"]
            assert float(value) == pytest.approx(each["score"], abs=1e-5)


def test_windows_change_nothing(place, data, salience, tmp_path):
    found = []
    for window in ("1", "8", "8192"):
        output = tmp_path / f"{window}.jsonl"
        assert salience("predict", place.model, data, "--output", output, "--window", window).code == 0
        found.append([row["probability"] for row in read(output)])
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    assert found[0] == pytest.approx(found[2], abs=1e-6)


def test_standard_output_is_clean_csv(place, data, salience):
    answer = salience("predict", place.model, data)
    rows = list(csv.DictReader(answer.out.splitlines()))
    assert len(rows) == 50
    assert list(rows[0])[:4] == ["id", "text", "predicted", "probability"]


def test_rows_without_text_keep_their_place(place, salience, tmp_path):
    data = write_csv(tmp_path / "holes.csv", [("1", "a cup"), ("2", ""), ("3", "  "), ("4", "a song")], ("id", "text"))
    output = tmp_path / "out.jsonl"
    answer = salience("predict", place.model, data, "--output", output)
    assert answer.code == 0
    assert "2 of 4 rows have no text and got no label" in answer.err
    assert [row["predicted"] is None for row in read(output)] == [False, True, True, False]


def test_long_texts_are_cut_and_counted(place, salience, tmp_path):
    data = write_csv(tmp_path / "long.csv", [("a cup",), ("very " * 400,)], ("text",))
    answer = salience("predict", place.model, data)
    assert answer.code == 0
    assert "1 of 2 texts are longer than" in answer.err


def test_pairs_are_read_as_pairs(place, salience, tmp_path):
    pairs = [("a cup", "a song"), ("a song", "a cup")]
    output = tmp_path / "out.jsonl"
    data = write_csv(tmp_path / "pairs.csv", pairs, ("premise", "hypothesis"))
    assert salience("predict", place.model, data, "--output", output).code == 0
    classify = pipeline("text-classification", model=str(place.model), device="cpu")
    for row, (text, other) in zip(read(output), pairs, strict=True):
        expected = classify({"text": text, "text_pair": other})
        assert row["probability"] == pytest.approx(expected["score"], abs=1e-5)


def test_labels_in_the_data_are_kept_beside_the_prediction(place, salience, tmp_path):
    data = write_csv(tmp_path / "labelled.csv", ROWS[:3])
    answer = salience("predict", place.model, data)
    rows = list(csv.DictReader(answer.out.splitlines()))
    assert [row["label"] for row in rows] == [label for _, label in ROWS[:3]]


def test_half_precision_gives_the_same_labels(place, data, salience, tmp_path):
    found = {}
    for precision in ("fp32", "bf16"):
        output = tmp_path / f"{precision}.jsonl"
        assert salience("predict", place.model, data, "--output", output, "--precision", precision).code == 0
        found[precision] = [row["probability"] for row in read(output)]
    assert found["fp32"] != found["bf16"]
    assert found["fp32"] == pytest.approx(found["bf16"], abs=0.02)


def test_a_failure_leaves_no_output(place, salience, tmp_path):
    """The fault stands behind the first window, after predictions have been written."""
    data = tmp_path / "ragged.csv"
    data.write_text("text,label\n" + "a cup,x\n" * 20 + "one,two,three\n")
    output = tmp_path / "out.csv"
    refused(salience("predict", place.model, data, "--output", output, "--window", "4"), "line 22 has 3 fields")
    assert [file.name for file in tmp_path.iterdir()] == ["ragged.csv"]


def test_bad_input(place, data, salience, tmp_path):
    refused(salience("predict", place.model, "none.csv"), "none.csv: no such file")
    refused(salience("predict", tmp_path / "none", data), "no model at")
    refused(salience("predict", place.model, data, "--text", "txt"), 'no column "txt"', 'Did you mean "text"?')
    refused(salience("predict", place.model, data, "--output", tmp_path / "x.xlsx"), "unknown suffix", ".parquet")
    refused(salience("predict", place.model, data, "--precision", "fp8"), 'unknown --precision "fp8"')
    refused(salience("predict", place.model, data, "--output", data), "exists: choose another --output")
    refused(salience("predict", place.model, data, "--window", "0"), "--window must be at least 1")
    refused(salience("predict", place.data, data), "no model at")
    refused(salience("predict", "minilm", data), "minilm holds no trained classifier")


def test_disk_full(place, data, salience):
    refused(salience("predict", place.model, data, "--text", "text", "--output", "/dev/full"), "the disk is full")


def test_the_mode_and_the_weights_of_the_model_stay(place):
    from salience.data.encoding import encode_texts
    from salience.models.loading import load_trained
    from salience.training.predicting import predict_probabilities

    model, tokenizer = load_trained(place.model)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.train()
    found = predict_probabilities(model, encode_texts(tokenizer, ["a cup", "the new song"]))
    assert model.training
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert found.sum(1) == pytest.approx([1, 1], abs=1e-6)
