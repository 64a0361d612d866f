"""Parquet files and hub data sets (without the hub): names of classes, values that Python lacks, damaged files."""

import json

import datasets
import pyarrow
import pytest
from written import ROWS, parquet

from salience.data.reading import column_names, stream
from salience.data.tables import parquet_types, plain
from salience.data.task import read_part

CLASSES = {"_type": "ClassLabel", "names": ["a", "b"]}


def with_features(columns: dict, features: dict) -> bytes:
    """A parquet file whose metadata say what `datasets` writes."""
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return parquet(pyarrow.table(columns).replace_schema_metadata(metadata))


def data_set():
    label = datasets.ClassLabel(names=["bad", "good"])
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    return datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features=features)


def test_parquet_files_of_datasets_give_the_names_of_their_labels(tmp_path):
    data_set().to_parquet(tmp_path / "with [brackets].parquet")
    rows = list(stream(tmp_path / "with [brackets].parquet"))
    assert [row["label"] for row in rows] == ["good", "bad", None]


@pytest.mark.parametrize("kind", [datasets.Sequence, datasets.LargeList, lambda label: [label]])
def test_lists_of_labels_have_names_too(kind, tmp_path, monkeypatch):
    """In parquet files and on the hub; their type, with which `predict` writes them again, is that of names."""
    label = kind(datasets.ClassLabel(names=["joy", "fear", "anger"]))
    features = datasets.Features({"text": datasets.Value("string"), "labels": label})
    lists, named = [[0], [1, 2], [], [0, 2]], [["joy"], ["fear", "anger"], [], ["joy", "anger"]]
    several = datasets.Dataset.from_dict({"text": list("abcd"), "labels": lists}, features=features)
    file = tmp_path / "rows.parquet"
    several.to_parquet(file)
    assert [row["labels"] for row in stream(file)] == named
    assert parquet_types(file)["labels"] == pyarrow.list_(pyarrow.string())
    labels = read_part(str(file)).labels
    assert [set(each) for each in labels] == [set(names) for names in named]
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: several.to_iterable_dataset())
    assert [row["labels"] for row in stream("owner/name")] == named


@pytest.mark.parametrize(
    ("feature", "values", "expected"),
    [
        ({"_type": "ClassLabel", "num_classes": 2}, [1, 0], ["1", "0"]),
        (CLASSES, [1, 0], ["b", "a"]),
        ({"_type": "Value", "dtype": "int64"}, [1, 0], [1, 0]),
        ({"_type": "Some later type"}, [1, 0], [1, 0]),
        # Lists as earlier versions wrote them, and names that stay as they are
        ({"_type": "Sequence", "feature": CLASSES}, [[1], [0, 1], None], [["b"], ["a", "b"], None]),
        ([CLASSES], [[1], [0, 1], None], [["b"], ["a", "b"], None]),
        ([CLASSES], [["x"], ["y"]], [["x"], ["y"]]),
    ],
)
def test_the_kinds_of_labels_in_metadata(write, feature, values, expected):
    source = write("rows.parquet", with_features({"label": values}, {"label": feature, "gone": feature}))
    assert [row["label"] for row in stream(source)] == expected


def test_a_number_without_a_class_is_named(write, complaint):
    features = {"text": {"_type": "Value"}, "label": CLASSES}
    source = write("rows.parquet", with_features({"text": ["a", "b"], "label": [1, 7]}, features))
    message = complaint(lambda: list(stream(source)))
    assert message.startswith(f'{source}: row 2, column "label": there is no class 7') and '"a", "b"' in message
    assert [row["text"] for row in stream(source, columns=["text"])] == ["a", "b"]
    source = write("rows.parquet", with_features({"label": [[1], [0, 2]]}, {"label": [CLASSES]}))
    assert 'row 2, column "label": there is no class 2' in complaint(lambda: list(stream(source)))


def test_files_that_are_damaged(write, complaint):
    for content in (b"PAR1 and nothing else", parquet(ROWS)[:-10]):
        source = write("rows.parquet", content)
        message = complaint(stream, source)
        assert message.startswith(f"{source}: not a whole parquet file (") and "fetch or write it again" in message
    none = parquet(pyarrow.table({"text": pyarrow.array([], pyarrow.string())}))
    assert "no rows" in complaint(stream, write("none.parquet", none))
    twice = parquet(pyarrow.table([["a"], ["b"]], names=["text", "text"]))
    assert 'names the column "text" twice' in complaint(stream, write("two.parquet", twice))
    for written in (b"{", b"[]", b'{"info": 1}', b'{"info": {"features": [1]}}', b"\xff"):
        table = pyarrow.table({"label": [1, 0]}).replace_schema_metadata({b"huggingface": written})
        source = write("rows.parquet", parquet(table))
        message = complaint(stream, source)
        assert message.startswith(f'{source}: the metadata "huggingface"') and "damaged" in message


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
    rows = list(stream(source, split=split, columns=["label"] if split else None))
    assert [row["label"] for row in rows] == ["good", "bad", None]
    assert list(rows[0]) == (["label"] if split else ["text", "label"])
    assert asked == [expected] and column_names(source, split=split) == ["text", "label"]


def test_a_hub_that_cannot_be_reached(monkeypatch, complaint):
    def load_dataset(*_, **__):
        raise ConnectionError("Couldn't reach\nthe hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    message = complaint(stream, "owner/name")
    assert all(part in message for part in ('no file "owner/name"', 'split "train"', "Couldn't reach the hub"))


ODD = {  # columns whose values Python does not have
    "times": pyarrow.array([3 * 10**17, 0], pyarrow.timestamp("us")),
    "days": pyarrow.array([10**9, 0], pyarrow.date32()),
    "spans": pyarrow.array([2**62, 0], pyarrow.duration("s")),
    "nanoseconds": pyarrow.array([5, 0], pyarrow.time64("ns")),
    "lists": pyarrow.array([[3 * 10**17], []], pyarrow.list_(pyarrow.timestamp("us"))),
    "objects": pyarrow.array([{"at": 3 * 10**17}, None], pyarrow.struct([("at", pyarrow.timestamp("us"))])),
}


def test_values_that_python_lacks_harm_no_other_column(write):
    source = write("rows.parquet", parquet(pyarrow.table({"text": ["a", "b"], **ODD})))
    inner = {"objects": ["objects", "objects.at"]}
    assert column_names(source) == [each for name in ("text", *ODD) for each in inner.get(name, [name])]
    assert list(stream(source, columns=["text"])) == [{"text": "a"}, {"text": "b"}]
    rows = list(stream(source))
    assert [row["text"] for row in rows] == ["a", "b"]
    for name, column in ODD.items():
        assert pyarrow.array([row[name] for row in rows], column.type) == column
        json.dumps([plain(row[name]) for row in rows], default=str)


def test_texts_that_are_not_utf_8_are_replaced(write):
    texts = pyarrow.array([b"caf\xe9", b"a", None]).view(pyarrow.string())
    nested = pyarrow.array([[b"\xff"], [], None], pyarrow.list_(pyarrow.binary())).view(
        pyarrow.list_(pyarrow.string())
    )
    rows = list(stream(write("rows.parquet", parquet(pyarrow.table({"text": texts, "nested": nested})))))
    assert [row["text"] for row in rows] == ["caf\ufffd", "a", None]
    assert [plain(row["nested"]) for row in rows] == [["\ufffd"], [], None]
