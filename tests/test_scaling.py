"""The Python of docs/guides/scaling.md runs as it stands, on a tiny model: the predictor in Ray Data, and in Spark."""

import os
import sys
from pathlib import Path

import pytest

import families
from clusters import two_workers
from labelled import WORDS
from salience import Predictor
from test_readme import python_of

pytestmark = pytest.mark.whole
PAGE = (Path(__file__).parents[1] / "docs" / "guides" / "scaling.md").read_text(encoding="utf-8")
TEXTS = ["a lovely song", "a dull story"]


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """The blocks of Python with one of two words in them. They are run in a folder that has the run."""

    def with_word(word: str) -> list[str]:
        return [block for block in python_of(PAGE) if word in block]

    monkeypatch.chdir(tmp_path)
    families.save_tiny_model(tmp_path / "runs" / "reviews", [*WORDS.values(), *TEXTS], classes=2)
    return with_word


def test_ray_data(blocks, capsys):
    import ray

    from salience.processes import connected

    (block,) = blocks("import ray")
    with two_workers() as address, connected(address):
        exec(block.replace("runs/reviews", str(Path("runs/reviews").resolve())), {})
    found = eval(capsys.readouterr().out, {"nan": float("nan")})
    assert not ray.is_initialized()
    expected = Predictor("runs/reviews")({"text": TEXTS})
    assert [row["predicted"] for row in found] == list(expected["predicted"])


def test_spark(blocks, monkeypatch):
    pytest.importorskip("pyspark", reason="pyspark is no dependency of the tests: half a gigabyte, and needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    names: dict = {}
    frames, function = blocks("spark")
    exec(frames, names)
    exec(function, names)
    try:
        rows = names["predicted"].orderBy("id").collect()
        labels = names["texts"].withColumn("label", names["label"]("text")).orderBy("id").collect()
    finally:
        names["spark"].stop()
    expected = Predictor("runs/reviews")({"text": [*TEXTS, None]})
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert [row["predicted"] for row in rows] == [row["label"] for row in labels] == list(expected["predicted"])
    assert [row["probability"] for row in rows[:2]] == pytest.approx(list(expected["probability"])[:2], abs=1e-6)
    assert rows[2]["probability"] is None or rows[2]["probability"] != rows[2]["probability"]
