"""Parquet files and hub data sets (without the hub)."""

import json

import datasets
import pyarrow
import pytest
from written import ROWS, parquet

from salience.data.reading import column_names, stream
from salience.data.tables import parquet_types, plain
from salience.data.task import read_part


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


def test_a_number_without_a_class_is_named(write, complaint):
    features = {"text": {"_type": "Value"}, "label": {"_type": "ClassLabel", "names": ["bad", "good"]}}
    table = pyarrow.table({"text": ["a", "b"], "label": [1, 7]}).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    source = write("rows.parquet", parquet(table))
    assert complaint(lambda: list(stream(source))) == (
        f'{source}: row 2, column "label": there is no class 7; the file names 2, counted from 0: "bad", "good". Mend '
        "the number, or write the file again without the names"
    )
    assert [row["text"] for row in stream(source, columns=["text"])] == ["a", "b"]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ({"_type": "ClassLabel", "num_classes": 2}, ["1", "0"]),
        ({"_type": "ClassLabel", "names": ["a", "b"]}, ["b", "a"]),
        ({"_type": "Value", "dtype": "int64"}, [1, 0]),
        ({"_type": "Some later type"}, [1, 0]),
    ],
)
def test_the_kinds_of_labels_in_metadata(write, label, expected):
    for features in ({"label": label}, {"label": label, "gone": label}):
        table = pyarrow.table({"label": [1, 0]}).replace_schema_metadata(
            {"huggingface": json.dumps({"info": {"features": features}})}
        )
        assert [row["label"] for row in stream(write("rows.parquet", parquet(table)))] == expected


LABEL = datasets.ClassLabel(names=["joy", "fear", "anger"])
SEVERAL = [[0], [1, 2], [], [0, 2]]
NAMED = [["joy"], ["fear", "anger"], [], ["joy", "anger"]]


def several_labels(kind) -> datasets.Dataset:
    """Rows with lists of class numbers."""
    features = datasets.Features({"text": datasets.Value("string"), "labels": kind})
    return datasets.Dataset.from_dict({"text": list("abcd"), "labels": SEVERAL}, features=features)


@pytest.mark.parametrize("kind", [datasets.Sequence(LABEL), datasets.LargeList(LABEL), [LABEL]])
def test_lists_of_labels_have_names_too(kind, tmp_path, monkeypatch):
    """In parquet files and on the hub; their type, with which `predict` writes them again, is that of names."""
    file = tmp_path / "rows.parquet"
    several_labels(kind).to_parquet(file)
    assert [row["labels"] for row in stream(file)] == NAMED
    assert parquet_types(file)["labels"] == pyarrow.list_(pyarrow.string())
    _, labels, _, _ = read_part(str(file))
    assert [set(each) for each in labels] == [set(names) for names in NAMED]
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: several_labels(kind).to_iterable_dataset())
    assert [row["labels"] for row in stream("owner/name")] == NAMED


@pytest.mark.parametrize("feature", [
    {"_type": "Sequence", "feature": {"_type": "ClassLabel", "names": ["a", "b"]}},
    [{"_type": "ClassLabel", "names": ["a", "b"]}],
])  # fmt: skip
def test_lists_as_earlier_versions_wrote_them(write, complaint, feature):
    def made(lists) -> str:
        table = pyarrow.table({"labels": lists}).replace_schema_metadata(
            {"huggingface": json.dumps({"info": {"features": {"labels": feature}}})}
        )
        return write("rows.parquet", parquet(table))

    assert [row["labels"] for row in stream(made([[1], [0, 1], None]))] == [["b"], ["a", "b"], None]
    source = made([[1], [0, 2]])
    assert 'row 2, column "labels": there is no class 2' in complaint(lambda: list(stream(source)))
    assert [row["labels"] for row in stream(made([["x"], ["y"]]))] == [["x"], ["y"]]  # names stay as they are


@pytest.mark.parametrize("written", [b"{", b"[]", b'{"info": 1}', b'{"info": {"features": [1]}}', b"\xff"])
def test_damaged_metadata_are_one_line(write, complaint, written):
    table = pyarrow.table({"label": [1, 0]}).replace_schema_metadata({b"huggingface": written})
    source = write("rows.parquet", parquet(table))
    assert 'the metadata "huggingface", with the names of the classes, are damaged' in complaint(stream, source)


ODD = {  # columns whose values Python does not have
    "times": pyarrow.array([3 * 10**17, 0], pyarrow.timestamp("us")),
    "days": pyarrow.array([10**9, 0], pyarrow.date32()),
    "spans": pyarrow.array([2**62, 0], pyarrow.duration("s")),
    "nanoseconds": pyarrow.array([5, 0], pyarrow.time64("ns")),
    "lists": pyarrow.array([[3 * 10**17], []], pyarrow.list_(pyarrow.timestamp("us"))),
    "objects": pyarrow.array([{"at": 3 * 10**17}, None], pyarrow.struct([("at", pyarrow.timestamp("us"))])),
}


@pytest.mark.parametrize("name", ODD)
def test_values_that_python_lacks_harm_no_other_column(write, name):
    source = write("rows.parquet", parquet(pyarrow.table({"text": ["a", "b"], name: ODD[name]})))
    assert column_names(source) == ["text", name]
    assert list(stream(source, columns=["text"])) == [{"text": "a"}, {"text": "b"}]
    rows = list(stream(source))
    assert [row["text"] for row in rows] == ["a", "b"]
    assert pyarrow.array([row[name] for row in rows], ODD[name].type) == ODD[name]
    json.dumps([plain(row[name]) for row in rows], default=str)


def test_texts_that_are_not_utf_8_are_replaced(write):
    texts = pyarrow.array([b"caf\xe9", b"a", None]).view(pyarrow.string())
    nested = pyarrow.array([[b"\xff"], [], None], pyarrow.list_(pyarrow.binary())).view(
        pyarrow.list_(pyarrow.string())
    )
    rows = list(stream(write("rows.parquet", parquet(pyarrow.table({"text": texts, "nested": nested})))))
    assert [row["text"] for row in rows] == ["caf\ufffd", "a", None]
    assert [plain(row["nested"]) for row in rows] == [["\ufffd"], [], None]
