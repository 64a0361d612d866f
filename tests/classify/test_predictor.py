"""The predictor: columns in, columns out, as Hugging Face's pipeline and `salience predict` say; sent as settings."""

import csv
import pickle

import numpy as np
import pandas
import pytest
from transformers import pipeline

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience import Predictor
from salience.classify import predictor as module
from salience.classify.parts import Actor, Windows, read_texts
from salience.cli.main import main
from salience.data.columns import Columns
from salience.errors import InputError

TEXTS = [text for text, _ in labelled_rows(20, seed=3)]


@pytest.fixture(autouse=True)
def loads(monkeypatch) -> list:
    """What is loaded, in a process that has loaded nothing before."""
    module.loaded.cache_clear()
    found, load = [], module.load
    monkeypatch.setattr(module, "load", lambda *arguments: found.append(arguments) or load(*arguments))
    return found


def test_columns_in_columns_out_as_the_pipeline_says(model):
    batch = {"id": np.arange(20), "text": np.array(TEXTS, object)}
    found = Predictor(str(model), device="cpu")(batch)
    labels = ["LABEL_0", "LABEL_1"]
    assert list(found) == ["id", "text", "predicted", "probability", *(f"probability_{label}" for label in labels)]
    assert found["id"] is batch["id"] and found["text"] is batch["text"] and list(batch) == ["id", "text"]
    theirs = pipeline("text-classification", model=str(model), top_k=None, device="cpu")(TEXTS)
    assert list(found["predicted"]) == [row[0]["label"] for row in theirs]
    assert found["probability"] == pytest.approx([row[0]["score"] for row in theirs], abs=1e-5)
    for label in labels:
        expected = [each["score"] for row in theirs for each in row if each["label"] == label]
        assert found[f"probability_{label}"] == pytest.approx(expected, abs=1e-5)


def test_it_says_what_the_command_writes(model, tmp_path):
    rows = [[text, str(number)] for number, text in enumerate(TEXTS)]
    rows[4][0] = " "
    data = write_csv(tmp_path / "data.csv", rows, ("review", "n"))
    output = tmp_path / "out.csv"
    options = ["--prefix", "p_", "--max-length", "6"]
    assert main(["predict", str(model), str(data), "--output", str(output), *options]) == 0
    with output.open(newline="") as file:
        written = list(csv.DictReader(file))
    found = Predictor(str(model), prefix="p_", max_length=6)({"review": [text for text, _ in rows]})
    for name in ("p_predicted", "p_probability", "p_probability_LABEL_0"):
        cells = ["" if value is None or value != value else str(value) for value in found[name]]
        assert cells == [row[name] for row in written]


@pytest.mark.parametrize("kind", [list, np.array, pandas.Series])
def test_rows_without_a_text_keep_their_place(kind, model):
    found = Predictor(str(model))({"text": kind(["a cup", None, "", "  ", "a song"])})
    assert [label is None for label in found["predicted"]] == [False, True, True, True, False]
    assert np.isnan(found["probability"]).tolist() == [False, True, True, True, False]
    assert np.isnan(found["probability_LABEL_1"]).tolist() == [False, True, True, True, False]
    for empty in ([], [None], [""]):
        assert len(Predictor(str(model))({"text": empty})["predicted"]) == len(empty)


def test_a_frame_keeps_its_index(model):
    frame = pandas.DataFrame({"text": TEXTS, "n": range(20)})[5:8]
    found = pandas.DataFrame(Predictor(str(model))(frame))
    assert list(found.index) == [5, 6, 7] and list(found["text"]) == TEXTS[5:8]
    assert list(found["predicted"]) == list(Predictor(str(model))({"text": TEXTS[5:8]})["predicted"])


def test_pairs(model):
    found = Predictor(str(model))({"premise": ["a cup", "a song"], "hypothesis": ["a song", None]})
    (expected,) = pipeline("text-classification", model=str(model), device="cpu")(
        [{"text": "a cup", "text_pair": "a song"}]
    )
    assert found["probability"][0] == pytest.approx(expected["score"], abs=1e-5) and found["predicted"][1] is None
    single = Predictor(str(model), text="hypothesis")({"premise": ["x"], "hypothesis": ["a song"]})
    assert single["probability"] == Predictor(str(model))({"text": ["a song"]})["probability"]


def test_the_model_is_loaded_once_and_only_when_it_is_needed(model, loads):
    predictor = Predictor(str(model))
    sent = pickle.dumps(predictor)
    assert loads == []
    first = predictor({"text": TEXTS})
    assert len(pickle.dumps(predictor)) == len(sent) < 1000  # the settings, not the weights
    for _ in range(3):
        other = pickle.loads(sent)
        assert other == predictor
        assert np.array_equal(other({"text": TEXTS})["probability"], first["probability"])
    assert len(loads) == 1


def test_a_model_that_was_trained_again_is_loaded_again(loads, tmp_path):
    found = []
    for seed in (0, 1):
        families.save_tiny_model(tmp_path / str(seed), [*WORDS.values(), " ".join(FILLER)], classes=2, seed=seed)
        if (tmp_path / "run").exists():
            (tmp_path / "run").rename(tmp_path / "old")
        (tmp_path / str(seed)).rename(tmp_path / "run")
        found.append(Predictor(str(tmp_path / "run"))({"text": ["a cup"]})["probability_LABEL_0"][0])
    assert len(loads) == 2 and found[0] != found[1]


@pytest.mark.parametrize("rows", [range(20), range(7, 16)])
@pytest.mark.parametrize("pairs", [False, True])
def test_what_a_cluster_runs_answers_every_row_in_its_order(model, tmp_path, rows, pairs):
    """Without a cluster: one task reads the texts, actors answer them; the rows of a part, some at a time."""
    given = [(text, f"the other of {number}") for number, text in enumerate(TEXTS)]
    file = write_csv(tmp_path / "rows.csv", given, ("text", "second"))
    windows = Windows(str(file), "utf-8", Columns("text", "second" if pairs else None), rows, 4)
    predictor = Predictor(str(model), device="cpu")
    actor, found = Actor(predictor), []
    for table in read_texts({}, windows):
        assert len(table) <= 4
        found.append(actor({name: np.array(table[name].to_pylist(), object) for name in table.column_names}))
    own = [given[number] if pairs else (TEXTS[number],) for number in rows]
    expected = vars(predictor.answers(own))
    for name, values in expected.items():
        joined = np.concatenate([part[name] for part in found])
        if values.dtype.kind == "f":
            np.testing.assert_allclose(joined, values, atol=1e-6)  # other batches, other roundings
        else:
            assert joined.tolist() == values.tolist()


def test_bad_input(model, tmp_path):
    predictor = Predictor(str(model))
    with pytest.raises(InputError, match='the batch: the column "predicted" has the name of what is added'):
        predictor({"text": ["a"], "predicted": ["b"]})
    with pytest.raises(InputError, match="no column has a usual name for the text; name it with text"):
        predictor({"a": ["x"], "b": ["y"]})
    with pytest.raises(
        InputError, match='the batch: row 2, column "text": a text is needed, not a value of type list'
    ):
        predictor({"text": ["a", ["b"]]})
    with pytest.raises(InputError, match="different lengths"):
        predictor({"text": ["a"], "id": [1, 2]})
    with pytest.raises(InputError, match='unknown --precision "fp8"'):
        Predictor(str(model), precision="fp8")
    with pytest.raises(InputError, match="no model at"):
        Predictor(str(tmp_path / "none"))({"text": ["a"]})
