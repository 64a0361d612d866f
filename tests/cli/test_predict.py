"""`salience predict`: every row, in its order, with the probabilities that the model gives."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from test_bad_input import refused
from transformers import pipeline

from labelled import labelled_rows, write_csv
from salience.models.loading import load_trained

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


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_texts_unlike_the_training_rows_are_told(suffix, place, run, salience, tmp_path):
    """Training texts are as familiar as they can be but for a few, and texts of other words are not."""
    own, foreign = [row["text"] for row in read(place.data)], ["qqq zzz qqq zzz qqq zzz"] * 3
    data, output = tmp_path / "data.csv", tmp_path / f"out{suffix}"
    write_csv(data, [(text,) for text in [*own, "", *foreign]], ("text",))
    answer = salience("predict", run, data, "--output", output)
    assert answer.code == 0, answer.err
    found = [row["familiarity"] for row in read(output)]
    assert found[len(own)] in ("", None)
    values = np.array([float(value) for value in found if value not in ("", None)])
    assert (values > 0).all() and (values <= 1).all() and (values[-3:] <= 0.05).all()
    assert (values[: len(own)] > 0.05).mean() > 0.9
    told = f"{(values <= 0.05).sum()} of {len(found)} rows are unlike the training rows (familiarity 0.05"
    assert told in answer.err


def test_windows_change_nothing(place, data, salience, tmp_path):
    found = []
    for window in ("1", "8", "8192"):
        output = tmp_path / f"{window}.jsonl"
        assert salience("predict", place.model, data, "--output", output, "--window", window).code == 0
        found.append([row["probability"] for row in read(output)])
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    assert found[0] == pytest.approx(found[2], abs=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("by", ["option", "array"])
def test_parts_make_the_whole(by, suffix, place, data, salience, tmp_path, monkeypatch):
    whole = tmp_path / f"whole{suffix}"
    assert salience("predict", place.model, data, "--output", whole).code == 0
    found = []
    for part in (1, 2, 3):
        if by == "array":
            for name, value in {"ID": part, "MIN": 1, "MAX": 3, "COUNT": 3}.items():
                monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(value))
        named = ["--part", f"{part}/3"] if by == "option" else []
        answer = salience("predict", place.model, data, "--output", tmp_path / f"out{suffix}", "--window", "7", *named)
        assert answer.code == 0, answer.err
        assert f"{(16, 17, 17)[part - 1]} rows predicted, part {part} of 3: " in answer.err
        assert (f"task {part} of a Slurm array" in answer.err) == (by == "array")
        found += read(tmp_path / f"out-{part}-of-3{suffix}")
    expected = read(whole)
    assert [row["id"] for row in found] == [row["id"] for row in expected] and len(found) == 50
    for row, other in zip(found, expected, strict=True):
        assert row["predicted"] == other["predicted"]
        assert values(row) == pytest.approx(values(other), abs=1e-6)


def values(row: dict) -> list[float]:
    """The probabilities of a row, from any format."""
    each = row.get("probabilities") or {name: value for name, value in row.items() if name.startswith("probability_")}
    return [float(row["probability"]), *map(float, each.values())]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_more_parts_than_rows(suffix, place, salience, tmp_path):
    data = write_csv(tmp_path / "two.csv", [("a cup",), ("a song",)], ("text",))
    rows = []
    for part in (1, 2, 3):
        answer = salience("predict", place.model, data, "--part", f"{part}/3", "--output", tmp_path / f"out{suffix}")
        assert answer.code == 0, answer.err
        rows += read(tmp_path / f"out-{part}-of-3{suffix}")
    assert [row["text"] for row in rows] == ["a cup", "a song"]
    answer = salience("predict", place.model, data, "--part", "1/3")
    assert answer.out == "text,predicted,probability,probability_LABEL_0,probability_LABEL_1\r\n"


def test_a_fault_in_another_part_is_named_by_its_row(place, salience, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text(lines([{"text": "a"}] * 5 + [{"text": ["b"]}] + [{"text": "a"}] * 2))
    assert salience("predict", place.model, data, "--part", "1/2").code == 0
    refused_at_last(salience("predict", place.model, data, "--part", "2/2"), 'data.jsonl: row 6, column "text": ')


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


def test_rows_that_a_quotation_mark_hides_are_told_in_one_line(place, salience, tmp_path):
    (tmp_path / "data.csv").write_text('id,text\n1,"a cup\n2,a song\n3,the end"\n')
    answer = salience("predict", place.model, tmp_path / "data.csv", "--output", tmp_path / "out.csv")
    told = [line for line in answer.err.splitlines() if "lines 2 to 4" in line]
    assert answer.code == 0 and len(told) == 1 and told[0].startswith(f"{tmp_path / 'data.csv'}: lines that"), (
        answer.err
    )
    assert "Warning" not in answer.err and len(read(tmp_path / "out.csv")) == 1


def test_long_texts_are_cut_and_counted(place, salience, tmp_path):
    data = write_csv(tmp_path / "long.csv", [("a cup",), ("very " * 400,)], ("text",))
    answer = salience("predict", place.model, data)
    assert answer.code == 0
    assert "1 of 2 texts are cut: they are longer than" in answer.err


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


def test_a_csv_file_is_written_as_it_was_read(place, salience, tmp_path):
    """Semicolons, Windows' encoding and texts in objects; the fault would be rows that a spreadsheet cannot open."""
    data, output = tmp_path / "data.csv", tmp_path / "out.csv"
    data.write_bytes("id;text\n1;a café\n".encode("cp1252"))
    assert salience("predict", place.model, data, "--encoding", "cp1252", "--output", output).code == 0
    header, row = output.read_bytes().decode("cp1252").splitlines()
    assert header.startswith("id;text;predicted;probability;") and row.startswith("1;a café;LABEL_")
    nested = tmp_path / "data.jsonl"
    nested.write_text('{"content": {"text": "a cup"}}\n')
    answer = salience("predict", place.model, nested, "--text", "content.text", "--output", tmp_path / "out.jsonl")
    assert answer.code == 0, answer.err
    (line,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert line["content"] == {"text": "a cup"} and line["predicted"].startswith("LABEL_")


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
    refused(salience("predict", place.model, data, "--output", tmp_path / "x.xls"), "unknown suffix", ".parquet")
    refused(salience("predict", place.model, data, "--precision", "fp8"), 'unknown --precision "fp8"')
    refused(salience("predict", place.model, data, "--output", data), "exists: choose another --output")
    before = Path(data).read_bytes()
    refused(salience("predict", place.model, data, "--output", data, "--overwrite"), "is what is read, and is not")
    assert Path(data).read_bytes() == before
    refused(salience("predict", place.model, data, "--window", "0"), "--window must be at least 1")
    refused(salience("predict", place.data, data), "no model at")
    refused(salience("predict", "minilm", data), "minilm holds no trained classifier")


def test_disk_full(place, data, salience):
    refused(salience("predict", place.model, data, "--text", "text", "--output", "/dev/full"), "the disk is full")


def test_the_mode_and_the_weights_of_the_model_stay(place):
    from salience.classify.classifier import predict_probabilities
    from salience.data.encoding import encode_texts

    model, tokenizer = load_trained(place.model)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.train()
    found = predict_probabilities(model, encode_texts(tokenizer, ["a cup", "the new song"]))
    assert model.training
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert found.sum(1) == pytest.approx([1, 1], abs=1e-6)


def lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("predicted", ".csv"), ("probability", ".parquet"), ("probability_LABEL", ".csv"), ("probabilities", ".jsonl")],
)
def test_no_column_of_the_data_is_replaced(name, suffix, place, salience, tmp_path):
    name = name.replace("LABEL", load_trained(place.model)[0].config.id2label[0])
    data = write_csv(tmp_path / "data.csv", [("a cup", "gold"), ("a song", "gold")], ("text", name))
    output = tmp_path / f"out{suffix}"
    asked = ["predict", place.model, data, "--output", output, "--text", "text"]
    refused(salience(*asked), f'data.csv: the column "{name}" has the name of what is added', "rename it", "--prefix")
    assert not output.exists()
    assert salience(*asked, "--prefix", "new_").code == 0
    rows = read(output)
    assert [row[name] for row in rows] == ["gold", "gold"]
    assert all(row["new_predicted"] for row in rows)


def test_a_clash_in_a_late_row_is_refused_too(place, salience, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text(lines([{"text": "a"}] * 150 + [{"text": "b", "predicted": "gold"}]))
    for suffix, where in ((".jsonl", "data.jsonl: row 151: "), (".csv", "data.jsonl: "), (".parquet", "data.jsonl: ")):
        answer = salience("predict", place.model, data, "--output", tmp_path / f"out{suffix}", "--window", "20")
        refused_at_last(answer, f'{where}the column "predicted" has the name')
    assert [file.name for file in tmp_path.iterdir()] == ["data.jsonl"]


def refused_at_last(answer, part: str) -> None:
    """Refused, perhaps after a note on the columns."""
    assert answer.code == 2
    assert part in answer.err.splitlines()[-1]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_names_that_come_late_are_written(suffix, place, salience, tmp_path):
    data, output = tmp_path / "data.jsonl", tmp_path / f"out{suffix}"
    data.write_text(lines([{"text": "a cup"}] * 150 + [{"late": "kept", "text": "b"}]))
    answer = salience("predict", place.model, data, "--output", output, "--window", "20")
    assert answer.code == 0, answer.err
    rows = read(output)
    assert (len(rows), rows[-1]["late"], rows[0].get("late") or None) == (151, "kept", None)


def test_names_that_come_late_are_printed(place, salience, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text(lines([{"text": "a cup"}, {"text": "b", "late": "kept"}]))
    answer = salience("predict", place.model, data, "--window", "1")
    assert [row["late"] for row in csv.DictReader(answer.out.splitlines())] == ["", "kept"]


NULLS = pyarrow.table({
    "text": ["a cup"] * 5,
    "words": pyarrow.array([None] * 4 + ["x"], pyarrow.string()),
    "at": pyarrow.array([None] * 4 + [3 * 10**17], pyarrow.timestamp("us")),
    "number": pyarrow.array([None] * 4 + [1], pyarrow.int8()),
    "never": pyarrow.nulls(5),
})  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_columns_keep_the_types_of_the_input(suffix, place, salience, tmp_path):
    data, output = tmp_path / "data.parquet", tmp_path / f"out{suffix}"
    pyarrow.parquet.write_table(NULLS, data)
    answer = salience("predict", place.model, data, "--output", output, "--window", "2")
    assert answer.code == 0, answer.err
    if suffix == ".parquet":
        assert pyarrow.parquet.read_table(output).select(NULLS.column_names) == NULLS
    else:
        assert str(read(output)[-1]["number"]) == "1"


def test_objects_whose_values_come_late_or_change_fit_parquet(place, salience, tmp_path):
    data, output = tmp_path / "data.jsonl", tmp_path / "out.parquet"
    data.write_text(lines([{"text": "a", "late": None, "mixed": 1}] * 3 + [{"text": "b", "late": 2.5, "mixed": "x"}]))
    answer = salience("predict", place.model, data, "--output", output, "--window", "2")
    assert answer.code == 0, answer.err
    assert [row["late"] for row in read(output)] == [None, None, None, 2.5]
    assert [row["mixed"] for row in read(output)] == ["1", "1", "1", "x"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_half_characters_are_written_replaced(suffix, place, salience, tmp_path):
    data, output = tmp_path / "data.jsonl", tmp_path / f"out{suffix}"
    data.write_text(r'{"text": "half \ud83d", "no\ud83dte": ["\ud83d"]}' + "\n")
    answer = salience("predict", place.model, data, "--output", output)
    assert answer.code == 0, answer.err
    (row,) = read(output)
    assert (row["text"], "\ufffd" in str(row["no\ufffdte"])) == ("half \ufffd", True)


def test_json_out_has_no_nan(place, salience, tmp_path):
    data, output = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    data.write_text('{"text": "a cup", "score": NaN, "list": [Infinity, 1]}\n')
    answer = salience("predict", place.model, data, "--output", output)
    assert answer.code == 0 and "with NaN or infinite values" in answer.err
    row = json.loads(output.read_text(), parse_constant=pytest.fail)
    assert (row["score"], row["list"]) == (None, [None, 1])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_model_of_nan_gives_no_labels(suffix, place, data, salience, tmp_path):
    model, tokenizer = load_trained(place.model)
    with torch.no_grad():
        next(model.classifier.parameters()).fill_(float("nan"))
    model.save_pretrained(tmp_path / "nan")
    tokenizer.save_pretrained(tmp_path / "nan")
    output = tmp_path / f"out{suffix}"
    answer = salience("predict", tmp_path / "nan", data, "--output", output)
    assert answer.code == 0 and "50 of 50 rows got no label: the model's probabilities are NaN" in answer.err
    assert all(not row["predicted"] and not row["probability"] for row in read(output))


def test_safe_csv(place, salience, tmp_path):
    data = write_csv(tmp_path / "data.csv", [("=HYPERLINK(1)", "-2"), ("a song", "x")], ("text", "@note"))
    answer = salience("predict", place.model, data, "--safe-csv")
    rows = list(csv.DictReader(answer.out.splitlines()))
    assert [(row["text"], row["'@note"]) for row in rows] == [("'=HYPERLINK(1)", "'-2"), ("a song", "x")]
    plain = list(csv.DictReader(salience("predict", place.model, data).out.splitlines()))
    assert [row["text"] for row in plain] == ["=HYPERLINK(1)", "a song"]
    assert [row["predicted"] for row in plain] == [row["predicted"] for row in rows]
    for suffix in (".jsonl", ".parquet"):
        asked = ["predict", place.model, data, "--safe-csv", "--output", tmp_path / f"out{suffix}"]
        refused(salience(*asked), "--safe-csv is about csv files")


@pytest.mark.whole
@pytest.mark.parametrize("redirected", [False, True])
def test_standard_output_by_its_name(redirected, place, data, tmp_path):
    """Into a pipe, and into a file to which something has been written before."""
    asked = [sys.executable, "-m", "salience", "predict", place.model, data, "--output", "/dev/stdout"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "log").open("w+") as log:
        log.write("before\n")
        log.flush()
        done = subprocess.run(asked, stdout=log if redirected else subprocess.PIPE, text=True, env=environment)
        log.seek(0)
        text = log.read() if redirected else "before\n" + done.stdout
    assert done.returncode == 0
    first, *rest = text.splitlines()
    assert (first, len(list(csv.DictReader(rest)))) == ("before", 50)
    assert Path("/dev/stdout").is_symlink()


def test_a_sentence_in_place_of_a_file(place, salience):
    refused(salience("predict", place.model, "the cup was lovely " * 30), "this is too long for the name of a file")
    refused(salience("predict", place.model, "a\x00b"), "no file can have this name")
