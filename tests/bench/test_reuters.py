"""The news of Reuters-21578 as a development set of texts with several labels."""

import csv
import gzip
import json
import sys

import pytest

import reuters
from development import development_set
from suggest_labels import several_labels

NEWS = [
    {"title": "WHEAT AND\nCORN", "body": "Rain  fell.\n " + "word " * 60, "topics": ["wheat", "corn"],
     "date": "26-FEB-1987 15:01"},
    {"title": "CORN", "body": "Sun.", "topics": ["corn"], "date": " 7-APR-1987 23:59"},
    {"title": "CORN, TOO LATE", "body": "Sun.", "topics": ["corn"], "date": "8-APR-1987 00:01"},
    {"title": "NO TOPIC", "body": "Sun.", "date": "26-FEB-1987 15:02"},
    {"title": "RARE AND CORN", "topics": ["tin", "corn"], "date": "1-MAR-1987 10:00"},
    {"title": "RARE", "topics": ["tin"], "date": "1-MAR-1987 10:00"},
    {"title": "WHEAT", "topics": ["wheat"], "date": "2-MAR-1987 10:00"},
    {"title": "", "topics": ["wheat"], "date": "2-MAR-1987 10:00"},
    {"title": "WHEAT AGAIN", "topics": ["wheat"], "date": "2-MAR-1987 10:00"},
]  # fmt: skip


@pytest.fixture
def written(tmp_path, monkeypatch, capsys):
    """The rows that are written of two files of news, of the two most frequent topics."""
    folder = tmp_path / "package" / "data" / "full"
    folder.mkdir(parents=True)
    for number, part in enumerate((NEWS[:3], NEWS[3:])):
        (folder / f"reuters-{number}.json").write_text(json.dumps(part))
    monkeypatch.setattr(reuters, "TOPICS", 2)
    monkeypatch.setattr(sys, "argv", ["reuters.py", str(tmp_path / "package"), str(tmp_path)])
    reuters.main()
    assert "5 texts, 2 labels, 20.0% of the texts with several" in capsys.readouterr().out
    with gzip.open(tmp_path / "reuters" / "train.jsonl.gz", "rt") as lines:
        return tmp_path, [json.loads(line) for line in lines]


def test_news_of_the_training_period_have_their_frequent_topics(written):
    first, *others = written[1]
    assert first == {"text": "WHEAT AND CORN Rain fell." + " word" * 48, "label": ["corn", "wheat"]}
    assert others == [
        {"text": "CORN Sun.", "label": ["corn"]},
        {"text": "RARE AND CORN", "label": ["corn"]},
        {"text": "WHEAT", "label": ["wheat"]},
        {"text": "WHEAT AGAIN", "label": ["wheat"]},
    ]


def test_lists_of_labels_are_kept_in_a_development_set(written):
    folder, rows = written
    files = development_set("reuters", folder, folder / "sets")
    found = []
    for file in files.values():
        with open(file, newline="") as opened:
            found += several_labels(list(csv.DictReader(opened)), 10)
    assert sorted(found, key=str) == sorted(rows, key=str)
