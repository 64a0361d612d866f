"""Prediction on a real Ray of two workers on this machine equals that of this process, also if a worker is killed."""

import json

import numpy as np
import pytest

from classify.killed import DEADLY, KilledOnce
from clusters import two_workers
from labelled import labelled_rows
from salience import Predictor
from salience.classify.parts import Windows, answers_by_ray
from salience.cli.main import main
from salience.data.columns import Columns

TEXTS = [text for text, _ in labelled_rows(120, seed=3)]
pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as address:
        yield address


@pytest.fixture
def write(tmp_path):
    def written(name, rows):
        file = tmp_path / name
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return file

    return written


def predict(*arguments) -> int:
    return main(["predict", *map(str, arguments)])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_the_cluster_writes_what_one_process_writes(suffix, cluster, model, write, tmp_path, capsys):
    """Rows without a text are among them, a window of nothing else, and texts that are cut off."""
    rows = [{"id": number, "text": text, "more": {"kept": [number]}} for number, text in enumerate(TEXTS)]
    for number in (3, *range(20, 40)):
        rows[number]["text"] = " "
    data = write("data.jsonl", rows)
    options = ["--window", "10", "--max-length", "8", "--part", "1/2"]
    notes = []
    for name, more in (("ray", ["--ray", cluster]), ("here", [])):
        assert predict(model, data, "--output", tmp_path / f"{name}{suffix}", *options, *more) == 0
        told = capsys.readouterr().err.replace(f"{name}-1-of-2", "OUT").splitlines()
        notes.append("\n".join(line for line in told if not line.startswith("predicting: ")))  # every ten seconds
    assert notes[0] == notes[1] and "21 of 60 rows have no text" in notes[0] and " texts are cut: " in notes[0]
    by_ray, here = ((tmp_path / f"{name}-1-of-2{suffix}").read_bytes() for name in ("ray", "here"))
    assert by_ray == here


def test_an_actor_that_is_killed_in_the_middle(cluster, model, write, tmp_path):
    """Every window is there once and in its order, as one process predicts it."""
    texts = [*TEXTS[:50], DEADLY, *TEXTS[50:]]
    windows = Windows(
        str(write("data.jsonl", [{"text": text} for text in texts])), "utf-8", Columns("text"), range(len(texts)), 10
    )
    found = list(answers_by_ray(KilledOnce(str(model), folder=str(tmp_path)), windows, cluster))
    assert [row["text"] for _, rows, _ in found for row in rows] == texts
    predictor = Predictor(str(model))
    for (first, rows, answers), (there, same) in zip(found, windows, strict=True):
        assert (first, rows) == (there, same)
        expected = predictor.answers(windows.texts_of(there, same))
        assert np.array_equal(answers.probabilities, expected.probabilities)
    calls = (tmp_path / "calls").read_text().split()
    killed = (tmp_path / "killed").read_text()
    assert killed in calls and len(calls) > len(found)  # what the killed process had begun was begun again


def test_the_predictor_is_a_function_of_ray_data(cluster, model):
    import ray

    from salience.processes import connected

    with connected(cluster):
        rows = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]
        added = ray.data.from_items(rows).map_batches(Predictor, fn_constructor_args=[str(model)], concurrency=1)
        found = sorted(added.take_all(), key=lambda row: row["id"])
    expected = Predictor(str(model))({"id": list(range(len(TEXTS))), "text": TEXTS})
    assert [row["text"] for row in found] == TEXTS
    assert [row["predicted"] for row in found] == list(expected["predicted"])
    assert [row["probability"] for row in found] == pytest.approx(list(expected["probability"]), abs=1e-6)


def test_a_row_that_is_no_text_is_one_line(cluster, model, write, tmp_path, capsys):
    data = write("data.jsonl", [{"text": "a"}] * 5 + [{"text": ["b"]}])
    assert predict(model, data, "--output", tmp_path / "out.csv", "--ray", cluster) == 2
    assert 'data.jsonl: row 6, column "text": a text is needed' in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out.csv").exists()


def test_a_cluster_that_is_not_there(model, write, capsys):
    assert predict(model, write("data.jsonl", [{"text": "a"}]), "--ray", "127.0.0.1:1") == 2
    assert "--ray 127.0.0.1:1: no Ray cluster answers there" in capsys.readouterr().err
