"""Any table, any settings, any options: success, or one line and exit code 2; never an internal fault.

`SALIENCE_EXAMPLES` says how many examples every property is tried on; `make test-faults` tries many.
"""

import csv
import datetime
import json
import math
import os
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO

import pyarrow
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import salience.classify.classifier
import salience.training.estimate
from salience.cli.main import main
from salience.models.loading import load_trained
from salience.training.fit import Fitted, build_trainer
from salience.training.recipe import Recipe

pytestmark = pytest.mark.whole

EXAMPLES = int(os.environ.get("SALIENCE_EXAMPLES", 15))
many = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def command(*arguments) -> tuple[int, str]:
    """Exit code and standard error; what the property says of them is checked."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    said = err.getvalue()
    last = said.splitlines()[-1] if said else ""
    assert code in (0, 2), said
    if code == 2 and "Usage:" not in said:
        assert last.startswith("salience: ") and "internal fault" not in said and "Traceback" not in said, said
    return code, said


@pytest.fixture
def loaded_once(monkeypatch):
    """Loading the same tiny model for every example would take most of the time."""
    monkeypatch.setattr(salience.classify.classifier, "load_trained", cache(load_trained))


# -------------------------------------------------------------------------------------------------------------- tables

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12)
ANY_TEXT = st.one_of(
    TEXTS, st.sampled_from(["=1+1", "@x", "NaN", "null", "1e-4", "\ud83d", "<b>", "a,b", 'q"q', "\n"])
)
DATES = st.one_of(st.dates(), st.datetimes(), st.times(), st.timedeltas())
SCALARS = {
    "text": st.one_of(st.none(), TEXTS), "integer": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "number": st.one_of(st.none(), st.floats()), "bool": st.one_of(st.none(), st.booleans()),
    "nothing": st.none(), "date": st.one_of(st.none(), st.dates()), "time": st.one_of(st.none(), st.datetimes()),
    "bytes": st.binary(max_size=5), "list": st.lists(TEXTS, max_size=3),
    "mapping": st.fixed_dictionaries({"a": st.integers(0, 9)}),
}  # fmt: skip
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ANY_TEXT, inner, max_size=3)),
    max_leaves=6,
)
NAMES = st.one_of(
    st.sampled_from(
        ["id", "label", "predicted", "probability", "probability_sport", "probabilities", "index", "text "]
    ),
    TEXTS.filter(str.strip),
)


@st.composite
def typed_tables(draw):
    """Columns of any types, one of which holds texts."""
    names = draw(st.lists(NAMES, max_size=4, unique_by=str.strip))
    rows = draw(st.integers(0, 12))
    columns = {
        name: draw(st.lists(SCALARS[draw(st.sampled_from(list(SCALARS)))], min_size=rows, max_size=rows))
        for name in names
        if name.strip() != "text"
    }
    return columns | {"text": draw(st.lists(st.one_of(st.none(), TEXTS), min_size=rows, max_size=rows))}


ROWS = st.lists(st.dictionaries(st.one_of(NAMES, st.just("text"), ANY_TEXT), JSON_VALUES, max_size=4), max_size=8)
OUTPUTS = st.sampled_from(["csv", "jsonl", "parquet"])
WINDOWS = st.sampled_from([1, 2, 8192])


def as_written(value):
    """A value as JSON has it again."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, bytes)):
        return str
    return value


def read_back(file, delimiter: str = ",") -> list[dict]:
    if file.suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as opened:
            return list(csv.DictReader(opened, delimiter=delimiter))
    if file.suffix == ".parquet":
        return parquet.read_table(file).to_pylist()
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def predicted(run, data, kind: str, window: int, *options, delimiter: str = ",") -> list[dict] | None:
    """The rows that were written; None where the command refused, and has written nothing then."""
    output = data.with_name(f"labels.{kind}")
    output.unlink(missing_ok=True)
    code, _ = command("predict", run, data, "--output", output, "--window", window, "--device", "cpu", *options)
    if code:
        assert not output.exists()
        return None
    return read_back(output, delimiter)


@many
@given(table=typed_tables(), kind=OUTPUTS, window=WINDOWS)
def test_any_parquet_table(table, kind, window, run, loaded_once, tmp_path):
    """What is predicted is in the input's order, with all of its columns."""
    data = tmp_path / "data.parquet"
    try:
        parquet.write_table(pyarrow.table(table), data)
    except (pyarrow.ArrowException, UnicodeError):
        return  # no such table can be written
    rows = predicted(run, data, kind, window, "--text", "text")
    if rows is None:
        return
    assert len(rows) == len(table["text"])
    names = [name.strip() for name in table]
    assert not rows or [name.strip() for name in rows[0]][: len(names)] == names
    texts = [row["text"] for row in rows]
    assert texts == [("" if text is None and kind == "csv" else text) for text in table["text"]]
    for row, text in zip(rows, table["text"], strict=True):
        assert bool(row["predicted"]) == bool(text and text.strip())


@many
@given(rows=ROWS, kind=OUTPUTS, window=WINDOWS, array=st.booleans())
def test_any_json_rows(rows, kind, window, array, run, loaded_once, tmp_path):
    """Keys may come and go from row to row; none of them is lost."""
    data = tmp_path / ("data.json" if array else "data.jsonl")
    data.write_text(json.dumps(rows) if array else "".join(json.dumps(row) + "\n" for row in rows))
    found = predicted(run, data, kind, window, "--text", "text")
    if found is None:
        return
    assert len(found) == len(rows)
    for row, before in zip(found, rows, strict=True):
        assert len(row) >= len(before)
        if kind == "jsonl":
            assert list(row)[: len(before)] == [sound(name) for name in before]


def sound(text: str) -> str:
    """A text as it is read: half characters are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@many
@given(
    cells=st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=8),
    header=st.lists(NAMES, min_size=1, max_size=1), delimiter=st.sampled_from(",;\t"), kind=OUTPUTS, window=WINDOWS,
)  # fmt: skip
def test_any_csv_cells(cells, header, delimiter, kind, window, run, loaded_once, tmp_path):
    data = tmp_path / "data.csv"
    with data.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, delimiter=delimiter).writerows([[*header, "text"], *cells])
    rows = predicted(run, data, kind, window, "--text", "text", delimiter=delimiter)
    if rows is not None:
        assert [row["text"] for row in rows] == [text for _, text in cells]


@many
@given(content=st.one_of(st.binary(max_size=200), TEXTS.map(str.encode), JSON_VALUES.map(json.dumps).map(str.encode)),
       name=st.sampled_from(["data.csv", "data.tsv", "data.jsonl", "data.json", "data.parquet", "data.csv.gz",
                             "data.jsonl.gz", "data.parquet.gz"]))  # fmt: skip
def test_any_bytes(content, name, place, run, loaded_once, tmp_path):
    """Whatever a file holds: it is read, or refused in a line, by predicting and by training alike."""
    data = tmp_path / name
    data.write_bytes(content)
    predicted(run, data, "jsonl", 8192)
    code, _ = command(*place.train("--output", tmp_path / "never", "--steps", "1", data=data))
    assert code == 2 and not (tmp_path / "never").exists()


# ------------------------------------------------------------------------------------------------------------ settings


@pytest.fixture
def trained_at_once(monkeypatch):
    """A run without its training: all that is read, checked, measured and written stays."""

    def fit(prepared, checkpoints, listeners, trained_share=1.0):
        return Fitted(prepared.classifier, build_trainer(prepared, checkpoints).state)

    monkeypatch.setattr(salience.training.estimate, "fit", fit)


YAML_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, DATES.map(str), st.dates(),
        st.sampled_from(["1e-4", "auto", "cpu", "plain", "tmix", "none", "a=1", "utf-8", "text", 0, 1, 2, 0.5, -1]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.one_of(TEXTS, st.integers()), inner, max_size=2)
    ),
    max_leaves=4,
)  # fmt: skip
FIELDS = sorted(set(Recipe.__dataclass_fields__) - {"data", "model"})
KEYS = st.one_of(st.sampled_from(FIELDS), st.sampled_from(FIELDS), TEXTS)


@many
@given(
    mapping=st.dictionaries(
        st.one_of(st.sampled_from(FIELDS), st.sampled_from(FIELDS), TEXTS), YAML_VALUES, max_size=3
    )
)
def test_any_yaml_mapping(mapping, place, trained_at_once, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(mapping, allow_unicode=True), encoding="utf-8")
    output = tmp_path / "run"
    code, said = command(
        "train", place.data, "--model", place.model, "--config", config, "--output", output, "--overwrite"
    )
    assert output.exists() == (code == 0), said
    if code == 0:
        assert (
            command("train", "--config", output / "recipe.yaml", "--output", tmp_path / "again", "--overwrite")[0] == 0
        )
        (output / "metrics.json").unlink()
    for folder in (output, tmp_path / "again"):
        for file in folder.glob("*"):
            file.unlink()
        if folder.exists():
            folder.rmdir()


ODD = st.sampled_from(
    ["", "0", "-1", "nan", "1e9", "none", "auto", "x", "é", "\x1b[31m", "a=b", "[", "{", "null", "~", "/", "."]
)
OPTIONS = {
    "train": ["--estimate", "--group", "--text", "--label", "--encoding", "--bad-rows", "--set-model", "--max-length",
              "--method", "--set", "--set", "--batch-size", "--learning-rate", "--class-weights", "--seed",
              "--precision", "--test", "--validation", "--config"],
    "predict": ["--text", "--text-pair", "--encoding", "--max-length", "--window", "--precision", "--output"],
    "explain": ["--explainer", "--target", "--layer", "--head", "--pieces", "--format", "--most", "--text-column",
                "--text-pair", "--label", "--encoding", "--max-length", "--output", "--text"],
}  # fmt: skip
LIKELY = st.sampled_from(
    ["1", "2", "0.5", "8", "plain", "ssmix", "tmix:alpha=1", "text", "label", "utf-8", "skip", "fp32", "bf16",
     "validation_share=0.5", "clean=0", "accumulation=2", "beta=1", "label_smoothing=0.1", "width=8", "gradient",
     "attention", "gold", "sport", "sum", "jsonl"]
)  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
@many
@given(data=st.data())
def test_any_options_in_any_order(name, data, place, run, trained_at_once, loaded_once, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = data.draw(st.lists(st.tuples(st.sampled_from(OPTIONS[name]), st.one_of(LIKELY, ODD)), max_size=4))
    parts = [[option, value] for option, value in options if not (option == "--output" and value in ("/", "."))]
    parts += {"train": [[str(place.data)], ["--model", str(place.model)], ["--output", "run"], ["--overwrite"]],
              "predict": [[str(run)], [str(place.test)], ["--overwrite"]],
              "explain": [[str(run)], [str(place.test)], ["--overwrite"]]}[name]  # fmt: skip
    order = data.draw(st.permutations(parts)) if name == "train" else parts
    command(name, *(word for part in order for word in part))
