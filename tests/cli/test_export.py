"""`salience export`: the folder predicts what the run predicts, with salience and without it, or is not written."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import numpy as np
import onnx
import pytest
from test_bad_input import refused

import families
import salience as package
from exporting import predicted
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.cli.main import main
from salience.errors import InputError
from salience.files import files_in, sha256_of
from salience.runs.folder import written_by_run

TEXTS = [text for text, _ in labelled_rows(40, seed=3)]


# -------------------------------------------------------------------------------------------------------- predictions


@pytest.mark.whole
def test_predict_gives_what_the_run_gives(run, exported, salience, tmp_path):
    data = write_csv(tmp_path / "data.csv", [(text,) for text in [*TEXTS, "", "cup " * 200]], ("text",))
    ours = predicted(salience, exported["float32"], data, tmp_path / "ours.csv")
    theirs = predicted(salience, run, data, tmp_path / "theirs.csv")
    assert len(ours) == len(theirs) == 42
    for one, other in zip(ours, theirs, strict=True):
        assert one.keys() == other.keys() - {"familiarity"}  # an export has no states
        assert (one["text"], one["predicted"]) == (other["text"], other["predicted"])
        for name in one.keys() - {"text", "predicted"}:
            assert (one[name] == other[name] == "") or float(one[name]) == pytest.approx(float(other[name]), abs=1e-5)
    rounded = predicted(salience, exported["int8"], data, tmp_path / "int8.csv")
    label = next(name for name in rounded[0] if name.startswith("probability_"))
    pairs = zip(rounded, ours, strict=True)
    differences = [abs(float(one[label]) - float(other[label])) for one, other in pairs if one[label]]
    assert 1e-7 < max(differences) < 0.2  # it is rounded, and not something else


@pytest.mark.whole
def test_loaded_from_python(run, exported):
    original, loaded = package.load(run, device="cpu"), package.load(exported["float32"])
    assert (loaded.labels, loaded.max_length) == (original.labels, original.max_length)
    assert loaded.predict(TEXTS) == original.predict(TEXTS)
    either = [replace(each, pairs=None) for each in (loaded, original)]
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    for texts in (TEXTS, pairs, TEXTS[:1], []):
        np.testing.assert_allclose(*(each.predict_proba(texts) for each in either), atol=1e-5)
    shorter = package.load(exported["float32"], max_length=6)
    expected = package.load(run, max_length=6, device="cpu").predict_proba(TEXTS)
    np.testing.assert_allclose(shorter.predict_proba(TEXTS), expected, atol=1e-5)
    longest = original.max_length
    assert package.load(exported["float32"], max_length=longest).max_length == longest
    with pytest.raises(InputError, match=f"--max-length {longest + 1}: .* was exported to read {longest} tokens"):
        package.load(exported["float32"], max_length=longest + 1)
    with pytest.raises(InputError):
        package.load(exported["float32"], max_length=0).predict(TEXTS)


@pytest.mark.whole
def test_the_server_answers_as_the_run(run, exported, monkeypatch):
    """Its functions, in this process; tests/cli/test_serving_page.py starts it."""
    pytest.importorskip("starlette")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # into the folder of the export
    specification = importlib.util.spec_from_file_location("serve", exported["float32"] / "serve.py")
    server = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(server)
    texts = [*TEXTS, "cup " * 200]
    for said, expected in zip(server.predictions(texts), package.load(run).predict_proba(texts), strict=True):
        assert list(said["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
        assert said["probability"] == max(said["probabilities"].values())
        assert said["probabilities"][said["predicted"]] == said["probability"]
    assert server.texts_of(b'{"texts": ["a cup", "one"]}') == ["a cup", "one"]
    for body, problem in ((b'{"texts": []}', "no list of texts"), (b'{"texts": "a cup"}', "no list of texts"),
                          (b"texts", "not JSON"), (b'{"texts": [" "]}', "text 1 is no text"),
                          (b'{"texts": ["a"], "texts": ["b"]}', "an object has a name twice"),
                          (b'{"texts": [["a", "b"]]}', "send single texts")):  # fmt: skip
        with pytest.raises(server.HTTPException) as refused_as:
            server.texts_of(body)
        assert refused_as.value.status_code == 400 and problem in refused_as.value.detail


@pytest.mark.whole
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_ten_lines_run_it_without_salience(family, tmp_path):
    texts = ["a great cast", "a dull story of one very very old cup that the team won"]
    families.save_tiny_model(tmp_path / "tiny", [*texts, *WORDS.values()], family)
    assert main(["export", str(tmp_path / "tiny"), "--output", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line and not line.startswith("import")]) <= 10
    code = code.replace('["a great cast", "a dull story"]', repr(texts))
    code += "\nprint(json.dumps(session.run(['logits'], inputs)[0].tolist()))"
    absent = "import sys\nfor name in ('salience', 'torch', 'transformers'): sys.modules[name] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", absent + code], cwd=tmp_path / "out", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    labels, logits = done.stdout.splitlines()
    original = package.load(tmp_path / "tiny", device="cpu")
    assert labels == str(original.predict(texts))
    powers = np.exp(np.array(json.loads(logits)))
    np.testing.assert_allclose(powers / powers.sum(1, keepdims=True), original.predict_proba(texts), atol=1e-5)


@pytest.mark.whole
def test_what_the_folder_holds(place, run, exported):
    for name, folder in exported.items():
        assert written_by_run(folder) == {name for name in files_in(folder) if "__pycache__" not in name}
        assert {"model.onnx", "config.json", "tokenizer.json", "README.md", "export.json", "manifest.json",
                "recipe.yaml"} <= set(files_in(folder))  # fmt: skip
        about = json.loads((folder / "export.json").read_text())
        assert about["format"] == f"onnx, {name}"
        assert 0 < about["float32 on made-up texts"]["largest difference of a logit, relative"] < 1e-4
        held = about["on given texts"]
        assert held["texts"] == 30
        rows = labelled_rows(30, seed=1)
        texts = [text for text, _ in rows]
        for who, classifier in (("original", package.load(run, device="cpu")), ("export", package.load(folder))):
            right = [label == other for label, (_, other) in zip(classifier.predict(texts), rows, strict=True)]
            assert held["accuracy"][who] == pytest.approx(np.mean(right))
    assert (exported["int8"] / "model.onnx").stat().st_size < (exported["float32"] / "model.onnx").stat().st_size


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.whole
@pytest.mark.parametrize("command", [
    ["explain", "--text", "a cup"], ["explain", "--text", "a cup", "--explainer", "random"],
    ["faithfulness", "DATA"], ["analyse channels", "DATA"], ["analyse embeddings", "DATA"],
], ids=lambda command: " ".join(command))  # fmt: skip
def test_commands_that_need_the_network(command, place, exported, salience):
    name, *others = [place.test if part == "DATA" else part for part in command]
    answer = salience(*name.split(), exported["float32"], *others)
    assert answer.code == 2
    assert "was exported to ONNX: it predicts, but has no gradients" in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err


@pytest.mark.whole
def test_onnxruntime_collects_no_telemetry(exported, tmp_path):
    """It would keep the number of the device and a data base in the user's cache."""
    for name in ("cache", "temporary"):
        (tmp_path / name).mkdir()
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")}
    predicting = f"import salience; salience.load({str(exported['float32'])!r}).predict(['a cup'])"
    own = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}  # set by the export
    subprocess.run([sys.executable, "-c", predicting], check=True, env=own | places)
    assert not [file for file in tmp_path.rglob("*") if "Microsoft" in file.parts or file.name == ".ses"]


@pytest.mark.whole
def test_as_the_judge_of_explanations(place, run, exported, salience, tmp_path):
    """Judging needs probabilities alone."""
    found = []
    for judge in (exported["float32"], run):
        folder = tmp_path / judge.name
        options = ["--explainer", "gradient", "--device", "cpu", "--output", folder]
        answer = salience("faithfulness", run, place.test, "--judge", judge, *options)
        assert answer.code == 0, answer.err
        found.append(list(numbers(json.loads((folder / "faithfulness.json").read_text())["rows"])))
    assert len(found[0]) > 20
    assert found[0] == pytest.approx(found[1], abs=1e-4)


def numbers(value):
    """All numbers in values of JSON, in order."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


@pytest.mark.whole
def test_options_that_an_export_cannot_follow(place, exported, salience, tmp_path):
    predict = ["predict", exported["float32"], place.test, "--output", tmp_path / "out.csv"]
    refused(salience(*predict, "--device", "cuda"), "--device cuda")
    answer = salience(*predict, "--precision", "bf16")
    assert answer.code == 2 and "--precision bf16" in answer.err.splitlines()[-1]
    assert not (tmp_path / "out.csv").exists()
    refused(salience("export", exported["float32"], "--output", tmp_path / "out"), "is an export already")


def test_options_without_an_effect(run, salience, tmp_path):
    output = ["--output", tmp_path / "out"]
    refused(salience("export", run, "--to", "onx", *output), 'unknown --to "onx"; known: onnx. Did you mean "onnx"?')
    refused(salience("export", run, "--accept", *output), "--accept is about labels that --int8 changes")
    assert not list(tmp_path.iterdir())


@pytest.mark.whole
def test_int8_that_changes_too_much(place, run, salience, tmp_path, monkeypatch):
    """Here the weights of the head change their sign, so that it does."""

    def reverses(file, external):
        model = onnx.load(file)
        for tensor in model.graph.initializer:
            if "classifier" in tensor.name:
                tensor.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(tensor), tensor.name))
        onnx.save(model, file)

    monkeypatch.setattr("salience.export.folder.round_products", reverses)
    command = ["export", run, "--int8", "--output", tmp_path / "out"]
    answer = salience(*command)
    assert answer.code == 2
    told, error = answer.err.splitlines()[-2:]
    assert re.search(r"test\.csv: \d+ of 30 labels changed \(\d+\.\d\d% agree\), .* accuracy 0\.\d+ instead of", told)
    assert error.startswith("salience: int8 keeps ") and "99% are asked for: nothing is written" in error
    assert not list(tmp_path.iterdir())
    answer = salience(*command, "--accept")
    assert answer.code == 0 and "labels changed" in answer.err
    assert json.loads((tmp_path / "out" / "export.json").read_text())["on given texts"]["labels changed"] > 0


def test_int8_needs_texts(place, run, salience, tmp_path):
    out = tmp_path / "out"
    refused(salience("export", place.model, "--int8", "--output", out), "with --check FILE")
    other = tmp_path / "run"
    shutil.copytree(run, other)
    recipe = (other / "recipe.yaml").read_text()
    (other / "recipe.yaml").write_text(recipe.replace(sha256_of(place.test), "0" * 64))
    refused(salience("export", other, "--int8", "--output", out), "with --check FILE")
    none = write_csv(tmp_path / "none.csv", [("", "sport")])
    answer = salience("export", run, "--int8", "--check", none, "--output", out)
    assert answer.code == 2 and "has no texts" in answer.err.splitlines()[-1]
    assert not out.exists()


@pytest.mark.whole
def test_without_test_data_it_is_said_what_was_compared(place, run, salience, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(run, other)
    recipe = (other / "recipe.yaml").read_text()
    (other / "recipe.yaml").write_text(recipe.replace(sha256_of(place.test), "0" * 64))
    answer = salience("export", other)
    assert answer.code == 0 and "the export is compared on made-up texts alone" in answer.err
    assert json.loads((tmp_path / "other-onnx" / "export.json").read_text())["on given texts"] is None


@pytest.mark.whole
@pytest.mark.parametrize(("inside", "name"), [("run", "."), ("run/sub", "..")])
def test_a_run_that_is_named_by_dots(inside, name, run, salience, tmp_path, monkeypatch):
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "sub").mkdir()
    monkeypatch.chdir(tmp_path / inside)
    assert salience("export", name).code == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run", "run-onnx"]
    assert not list((tmp_path / "run" / "sub").iterdir())


@pytest.mark.whole
def test_sets_need_the_run(exported, place, salience, tmp_path):
    answer = salience("predict", exported["float32"], place.test, "--sets", "0.8", "--output", tmp_path / "out.csv")
    assert answer.code == 2 and f"name the run that {exported['float32']} was exported from" in answer.err


def test_a_missing_package(run, salience, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    refused(salience("export", run, "--output", tmp_path / "out"), "onnxscript", "pip install 'onnx>=")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------- files of the folder


@pytest.mark.whole
def test_only_exports_are_replaced(place, run, exported, salience, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(exported["float32"], out, ignore=shutil.ignore_patterns("__pycache__"))  # of its server
    before = sha256_of(out / "model.onnx")
    command = ["export", run, "--check", place.test, "--output", out]
    refused(salience(*command), "exists: choose another --output, or --overwrite it")
    (out / "notes.txt").write_text("mine")
    refused(salience(*command, "--overwrite"), 'salience did not write "notes.txt"')
    (out / "notes.txt").unlink()
    refused(
        salience("export", run, "--output", run, "--overwrite"), "is not an export of salience and is not overwritten"
    )
    assert sha256_of(out / "model.onnx") == before

    (out / "model.onnx.data").write_text("of an earlier export")
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["files"] += ["model.onnx.data", "../mine.txt"]
    (tmp_path / "mine.txt").write_text("mine")
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert salience(*command, "--overwrite", "--max-length", "9").code == 0
    assert written_by_run(out) == set(files_in(out)) and "model.onnx.data" not in files_in(out)
    assert package.load(out).max_length == 9 and (tmp_path / "mine.txt").exists()


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["FNet", "ConvBert"])
def test_an_export_that_reads_padding_answers_as_the_run_does(kind, place, salience, tmp_path, monkeypatch):
    """The command compares it with the run; its server computes texts one at a time."""
    model = families.save_other(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)], kind, spread=0.5)
    run, exported = tmp_path / "run", tmp_path / "onnx"
    assert salience(*place.train("--model", model, "--test", place.test, "--output", run)).code == 0
    answer = salience("export", run, "--output", exported)
    assert answer.code == 0 and " 0 of 30 labels changed" in answer.out + answer.err, answer.err
    assert "or one at a time" in (exported / "README.md").read_text()
    monkeypatch.syspath_prepend(str(exported))
    monkeypatch.delitem(sys.modules, "serve", raising=False)
    serve = import_module("serve")
    texts = [text for text, _ in labelled_rows(30, seed=1)]
    found = [each["probabilities"] for each in serve.predictions(texts)]
    classifier = package.load(run, device="cpu", precision="fp32")
    expected = [classifier.predict_proba([text])[0] for text in texts]
    assert np.allclose([[row[label] for label in classifier.labels] for row in found], expected, atol=1e-4)
