"""What `save` writes and `load` reads: labels of their type, the length of texts, and nobody else's files touched."""

import json
import os
from datetime import date

import numpy as np
import pytest
from transformers import pipeline

from labelled import write_csv
from salience import SalienceClassifier
from salience.cli.main import main
from salience.errors import InputError
from salience.models.precision import default_precision

TYPES = {
    "strings": np.array(["food", "music", "sport"], "<U20"),
    "strings as objects": np.array(["food", "music", "sport"], dtype=object),
    "numpy's strings as objects": np.array([np.str_("food"), np.str_("music"), np.str_("sport")], dtype=object),
    "half characters": np.array(["food\ud83d", "music", "sport"]),
    "int8": np.array([1, 2, 3], np.int8),
    "uint64": np.array([1, 2, 2**64 - 1], np.uint64),
    "big-endian": np.array([1, 2, 3], ">i4"),
    "float32": np.array([-1, 0, 1], np.float32),
    "bool": np.array([False, True, True]),
}
FEW = ("strings as objects", "half characters", "uint64", "bool")
NOT_IN_JSON = {
    "bytes": np.array([b"a", b"b", b"c"], dtype=object),
    "bytes of numpy": np.array([b"a", b"b", b"c"]),
    "dates": np.array([date(2020, 1, day) for day in (1, 2, 3)]),
    "numpy's dates": np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[D]"),
    "nanoseconds": np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[ns]"),
    "tuples": np.fromiter([("a", 1), ("b", 2), ("c", 3)], dtype=object),
}


def with_labels(labels, names):
    return names[np.unique(labels, return_inverse=True)[1]]


def content(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "names", [
        pytest.param(names, id=name, marks=() if name in FEW else pytest.mark.whole) for name, names in TYPES.items()
    ],
)  # fmt: skip
def test_loaded_classes_are_of_their_type(names, short, texts, labels, tmp_path):
    estimator = short().fit(texts, with_labels(labels, names))
    estimator.save(tmp_path / "model")
    loaded = SalienceClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == estimator.classes_.dtype == names.dtype
    assert loaded.classes_.tolist() == sorted(set(names.tolist()))
    assert loaded.predict(texts).tolist() == estimator.predict(texts).tolist()


@pytest.mark.parametrize("names", NOT_IN_JSON.values(), ids=list(NOT_IN_JSON))
def test_labels_that_json_does_not_know_are_refused_before_anything_is_written(names, short, texts, labels, tmp_path):
    estimator = short().fit(texts, with_labels(labels, names))
    with pytest.raises(InputError, match=r"labels of type \w+, such as .* cannot be saved; .*str\(label\)"):
        estimator.save(tmp_path / "folder" / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value", [{"window": object()}, {"window": {1, 2}}, {"window": float("nan")}], ids=["object", "set", "NaN"]
)
def test_parameters_that_json_does_not_know_are_refused(value, short, texts, labels, tmp_path):
    estimator = short().fit(texts, labels).set_params(method_options=value)
    with pytest.raises(InputError, match=r"the parameter method_options=.* cannot be saved"):
        estimator.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_every_reader_of_the_folder_cuts_as_fit_did(short, texts, labels, tmp_path, capsys):
    estimator = short(max_length=5, steps=10).fit(texts, labels)
    assert estimator.max_length_ == estimator.tokenizer_.model_max_length == 5
    expected = estimator.predict_proba(texts)
    assert not np.allclose(short(max_length=64, steps=10).fit(texts, labels).predict_proba(texts), expected, atol=1e-3)
    estimator.save(tmp_path / "model")

    assert np.array_equal(SalienceClassifier.load(tmp_path / "model").predict_proba(texts), expected)
    loaded = SalienceClassifier.load(tmp_path / "model").set_params(max_length=64)
    assert np.array_equal(loaded.predict_proba(texts), expected)  # a parameter of the next fit
    data = write_csv(tmp_path / "data.csv", [[text] for text in texts], ["text"])
    output = tmp_path / "out.jsonl"
    assert main(["predict", str(tmp_path / "model"), str(data), "--output", str(output), "--device", "cpu"]) == 0
    rows = [json.loads(line)["probabilities"] for line in output.read_text().splitlines()]
    assert np.allclose([[row[name] for name in estimator.classes_] for row in rows], expected, atol=1e-5)
    classify = pipeline("text-classification", model=str(tmp_path / "model"), top_k=None, device="cpu")
    rows = [{each["label"]: each["score"] for each in row} for row in classify(texts, truncation=True)]
    assert np.allclose([[row[name] for name in estimator.classes_] for row in rows], expected, atol=1e-5)


@pytest.mark.parametrize(("trained", "predicts"), [("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp32")])
def test_a_loaded_classifier_predicts_in_the_saved_precision(trained, predicts, short, texts, labels, tmp_path):
    """fp16 needs a GPU to train in, so it is set afterwards."""
    estimator = short(precision="bf16" if trained == "bf16" else "fp32").fit(texts, labels)
    expected = estimator.predict_proba(texts)
    estimator.set_params(precision=trained).save(tmp_path)
    with default_precision("fp32" if trained == "bf16" else "bf16"):  # what "auto" would be on another machine
        loaded = SalienceClassifier.load(tmp_path)
        assert (loaded.precision, loaded.classifier_.precision) == (trained, predicts)
        assert np.array_equal(loaded.predict_proba(texts), expected)
    assert loaded.model_.device.type == "cpu"


def test_a_classifier_that_used_what_is_retired_predicts(fitted, texts, tmp_path):
    fitted.save(tmp_path)
    settings = json.loads((tmp_path / "salience.json").read_text())
    used = {"layer_decay": 0.5, "auto_budget": 12.0, "plain_share": 0.0}
    (tmp_path / "salience.json").write_text(json.dumps(settings | {"parameters": settings["parameters"] | used}))
    with pytest.warns(UserWarning, match="layer_decay=0.5 is no longer offered") as told:
        loaded = SalienceClassifier.load(tmp_path)
    assert len(told) == 1 and np.array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))


def test_an_earlier_save_is_replaced_and_other_files_stay(fitted, short, texts, labels, tmp_path):
    fitted.save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "merges.txt").write_text("of another tokenizer")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["files"] += ["merges.txt", "../outside.txt"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path.parent / "outside.txt").write_text("mine")
    other = short().fit(texts, with_labels(labels, np.array(["a", "b", "c"])))
    other.save(tmp_path)
    assert SalienceClassifier.load(tmp_path).predict(texts).tolist() == other.predict(texts).tolist()
    assert (tmp_path / "notes.txt").read_text() == (tmp_path.parent / "outside.txt").read_text() == "mine"
    assert not (tmp_path / "merges.txt").exists()  # it would be read with the new model
    modes = {file.name: file.stat().st_mode for file in tmp_path.iterdir()}
    assert len(set(modes.values())) == 1, modes  # those of the umask, as notes.txt has


@pytest.mark.parametrize("name", ["config.json", "salience.json", "model.safetensors", "manifest.json"])
def test_a_file_that_no_save_wrote_is_not_overwritten(name, fitted, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / name).write_text('{"name": "mine"}')
    before = content(tmp_path)
    with pytest.raises(InputError, match=f'contains "{name}", which no estimator saved'):
        fitted.save(folder)
    assert content(tmp_path) == before


@pytest.mark.whole
def test_a_run_folder_is_not_overwritten(fitted, tiny, texts, labels, tmp_path):
    data = write_csv(tmp_path / "data.csv", zip(texts, labels, strict=True))
    run = tmp_path / "run"
    assert main(["train", str(data), "--model", tiny, "--steps", "2", "--output", str(run), "--device", "cpu"]) == 0
    before = content(tmp_path)
    with pytest.raises(InputError, match="which no estimator saved"):
        fitted.save(run)
    assert content(tmp_path) == before


def test_what_is_no_folder_is_refused(fitted, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file; choose another folder"):
        fitted.save(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is a broken link"):
        fitted.save(tmp_path / "link")
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_a_save_that_fails_leaves_the_folder_as_it_was(fitted, short, texts, labels, tmp_path, monkeypatch):
    fitted.save(tmp_path / "model")
    before = content(tmp_path)
    other = short().fit(texts, with_labels(labels, np.array(["a", "b", "c"])))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(other.tokenizer_), "save_pretrained", full)
    for folder in (tmp_path / "model", tmp_path / "new"):
        with pytest.raises(OSError, match="No space left"):
            other.save(folder)
    assert content(tmp_path) == before
    assert os.listdir(tmp_path) == ["model"]


DAMAGES = {
    "cut": lambda settings: json.dumps(settings)[:50],
    "a list": lambda settings: "[]",
    "deep": lambda settings: "[" * 100_000,
    "another model's classes": lambda settings: json.dumps(settings | {"classes": ["x", "y", "z"]}),
    "too few classes": lambda settings: json.dumps(settings | {"classes": ["food"]}),
    "no classes": lambda settings: json.dumps(settings | {"classes": 3}),
    "an unknown type": lambda settings: json.dumps(settings | {"classes_type": "vec"}),
    "an unknown parameter": lambda settings: json.dumps(settings | {"parameters": {"stepz": 3}}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damaged_settings_are_refused(damage, fitted, tmp_path):
    fitted.save(tmp_path)
    settings = json.loads((tmp_path / "salience.json").read_text())
    (tmp_path / "salience.json").write_text(damage(settings))
    with pytest.raises(InputError, match=r"salience\.json is damaged|unknown parameter in .* Did you mean \"steps\""):
        SalienceClassifier.load(tmp_path)
