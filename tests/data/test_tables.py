"""Parquet files and hub data sets (without the hub)."""

import datasets
import pyarrow
import pytest
from written import ROWS, parquet

from salience.data.reading import stream


def data_set():
    label = datasets.ClassLabel(names=["bad", "good"])
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    return datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features=features)


def test_parquet_files_of_datasets_give_the_names_of_their_labels(tmp_path):
    data_set().to_parquet(tmp_path / "with [brackets].parquet")
    rows = list(stream(tmp_path / "with [brackets].parquet"))
    assert [row["label"] for row in rows] == ["good", "bad", None]


def test_a_broken_parquet_file(write, complaint):
    for content in (b"PAR1 and nothing else", parquet(ROWS)[:-10]):
        source = write("rows.parquet", content)
        message = complaint(stream, source)
        assert message.startswith(f"{source}: not a whole parquet file (")
        assert message.endswith("; fetch or write it again")


def test_parquet_without_rows_or_with_a_name_twice(write, complaint):
    none = parquet(pyarrow.table({"text": pyarrow.array([], pyarrow.string())}))
    assert "no rows" in complaint(stream, write("none.parquet", none))
    twice = parquet(pyarrow.table([["a"], ["b"]], names=["text", "text"]))
    assert 'names the column "text" twice' in complaint(stream, write("two.parquet", twice))


@pytest.mark.parametrize(
    ("source", "split", "expected"),
    [
        ("owner/name", None, ("owner/name", None, "train")),
        ("name:test", None, ("name", None, "test")),
        ("owner/glue:sst2:validation", None, ("owner/glue", "sst2", "validation")),
        ("owner/name", "test", ("owner/name", None, "test")),
    ],
)
def test_hub_names_are_streamed_with_the_names_of_their_labels(monkeypatch, source, split, expected):
    asked = []

    def load_dataset(name, config, split, **options):
        assert options == {"streaming": True}
        asked.append((name, config, split))
        return data_set().to_iterable_dataset()

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    rows = list(stream(source, split=split))
    assert rows == [{"text": "a", "label": "good"}, {"text": "b", "label": "bad"}, {"text": "c", "label": None}]
    assert asked == [expected]


def test_a_hub_that_cannot_be_reached(monkeypatch, complaint):
    def load_dataset(*_, **__):
        raise ConnectionError("Couldn't reach\nthe hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert complaint(stream, "owner/name") == (
        'no file "owner/name" is here, and it cannot be read as a hub data set, split "train": Couldn\'t reach the hub'
    )
