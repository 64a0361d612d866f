"""`salience export` of a classifier of several labels: the folder, its server and its ten lines decide as the run."""

import csv
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
import safetensors.torch

import salience as library
from exporting import exports_of, predicted
from labelled import WORDS, rows_of_several, write_csv
from salience.errors import InputError
from serving import asked, served

pytestmark = pytest.mark.whole

TEXTS = [text for text, _ in rows_of_several(40, seed=3)]
NAMES = sorted(WORDS)
for name in ("onnxruntime", "starlette", "uvicorn"):
    pytest.importorskip(name)


def sigmoids_of(run, texts) -> np.ndarray:
    """The probabilities (N, C) of the run, each text by itself and from its logits."""
    classifier, rows = library.load(run, device="cpu", precision="fp32"), []
    for text in texts:
        inputs = classifier.tokenizer(text, truncation=True, max_length=classifier.max_length, return_tensors="pt")
        logits = classifier.model(**inputs).logits[0].detach().double().numpy()
        rows.append([1 / (1 + np.exp(-logit)) for logit in logits])
    return np.array(rows)


@pytest.fixture(scope="module")
def run(several_run, tmp_path_factory):
    """The run with thresholds of its labels, by which each is predicted for some texts and not for others.

    The thresholds lie between two probabilities, so that rounding changes no decision.
    """
    folder = tmp_path_factory.mktemp("thresholds") / "run"
    shutil.copytree(several_run, folder)
    ordered = np.sort(sigmoids_of(folder, TEXTS), axis=0)
    places = [10 + int(np.diff(ordered[10:30, label]).argmax()) for label in range(3)]
    middles = [float(ordered[place : place + 2, label].mean()) for label, place in enumerate(places)]
    config = json.loads((folder / "config.json").read_text())
    config["label_thresholds"] = dict(zip(NAMES, middles, strict=True))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def decided(run) -> list[list[str]]:
    thresholds = json.loads((run / "config.json").read_text())["label_thresholds"]
    found = [
        [label for label, probability in zip(NAMES, row, strict=True) if probability >= thresholds[label]]
        for row in sigmoids_of(run, TEXTS)
    ]
    sizes = {len(labels) for labels in found}
    assert len(sizes) > 1 and 0.5 not in thresholds.values()
    half = [[NAMES[place] for place in np.flatnonzero(row >= 0.5)] for row in sigmoids_of(run, TEXTS)]
    assert found != half  # the thresholds matter
    return found


@pytest.fixture(scope="module")
def exported(run):
    """Folders of the exports of the run: in float32, and in int8 whatever it costs."""
    return exports_of(run)


def test_predict_gives_what_the_run_gives(run, exported, several_files, salience, tmp_path):
    ours = predicted(salience, exported["float32"], several_files[1], tmp_path / "ours.csv")
    theirs = predicted(salience, run, several_files[1], tmp_path / "theirs.csv")
    assert len(ours) == len(theirs) == 24
    columns = [f"probability_{label}" for label in NAMES]
    for one, other in zip(ours, theirs, strict=True):
        assert list(one) == ["text", "label", "predicted", *columns] and list(other) == [*one, "familiarity"]
        assert (one["text"], one["predicted"]) == (other["text"], other["predicted"])
        assert [float(one[name]) for name in columns] == pytest.approx(
            [float(other[name]) for name in columns], abs=1e-5
        )
    rounded = predicted(salience, exported["int8"], several_files[1], tmp_path / "int8.csv")
    differences = [abs(float(one[name]) - float(other[name])) for one, other in zip(rounded, ours, strict=True)
                   for name in columns]  # fmt: skip
    assert 1e-7 < max(differences) < 0.2  # it is rounded, and not something else


def test_loaded_from_python(run, exported, decided):
    loaded = library.load(exported["float32"])
    assert loaded.multi_label and loaded.labels == NAMES
    assert loaded.thresholds.tolist() == library.load(run, device="cpu").thresholds.tolist()
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), sigmoids_of(run, TEXTS), atol=1e-5)
    assert loaded.predict(TEXTS) == decided
    with pytest.raises(InputError, match="was exported to ONNX: it predicts, but has no gradients"):
        library.explain(loaded, TEXTS[:1])


def test_what_was_compared_is_written(run, exported, several_files):
    rows = list(csv.DictReader(several_files[1].open()))
    texts, right = [row["text"] for row in rows], [json.loads(row["label"]) for row in rows]
    answers = {
        name: library.load(folder, device="cpu").predict(texts) for name, folder in {"run": run, **exported}.items()
    }
    for name, folder in exported.items():
        about = json.loads((folder / "export.json").read_text())
        assert about["format"] == f"onnx, {name}"
        held = about["on given texts"]
        assert held["texts"] == 24
        assert held["sets of labels changed"] == sum(
            a != b for a, b in zip(answers["run"], answers[name], strict=True)
        )
        for who, given in (("original", answers["run"]), ("export", answers[name])):
            shares = [sorted(a) == sorted(b) for a, b in zip(given, right, strict=True)]
            assert held["subset accuracy"][who] == pytest.approx(np.mean(shares))
    assert (
        json.loads((exported["float32"] / "export.json").read_text())["on given texts"]["sets of labels changed"] == 0
    )


def test_ten_lines_run_it_without_salience(exported, decided):
    page = (exported["float32"] / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    code = code.replace('["a great cast", "a dull story"]', repr(TEXTS))
    absent = "import sys\nfor name in ('salience', 'torch', 'transformers'): sys.modules[name] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", absent + code], cwd=exported["float32"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == list(map(str, decided))


def test_the_server_answers_as_predict_does(run, exported, decided, tmp_path):
    with served(exported["float32"], tmp_path) as client:
        found = asked(client, TEXTS)
        wrong = client.post("/predict", json={"texts": []})
    assert [row["predicted"] for row in found] == decided
    for row, expected in zip(found, sigmoids_of(run, TEXTS), strict=True):
        assert list(row) == ["predicted", "probabilities"] and list(row["probabilities"]) == NAMES
        assert list(row["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
    assert wrong.status_code == 400 and wrong.json()["error"].startswith("there is no list of texts")
    lines = library.Predictor(exported["float32"])({"text": TEXTS})["predicted"]
    assert [json.loads(line) for line in lines] == decided


def test_without_thresholds_a_label_is_predicted_from_one_half_on(several_run, salience, tmp_path):
    """And of a file without labels, only decisions and probabilities are compared."""
    shutil.copytree(several_run, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    config.pop("label_thresholds", None)
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    texts = write_csv(tmp_path / "texts.csv", [(text,) for text in TEXTS], ("text",))
    answer = salience("export", tmp_path / "run", "--check", texts, "--output", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "0 of 40 sets of labels changed (100.00% agree)" in answer.err and "accuracy" not in answer.err
    expected = [[NAMES[place] for place in np.flatnonzero(row >= 0.5)] for row in sigmoids_of(several_run, TEXTS)]
    (tmp_path / "container").mkdir()
    with served(tmp_path / "out", tmp_path / "container") as client:
        assert [row["predicted"] for row in asked(client, TEXTS)] == expected


def test_a_label_that_is_never_predicted(several_run, salience, tmp_path):
    """A threshold of 1 means never, also where the probability is rounded to 1."""
    shutil.copytree(several_run, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    config["label_thresholds"] = dict(zip(NAMES, [1.0, 0.0, 0.5], strict=True))
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    tensors = safetensors.torch.load_file(tmp_path / "run" / "model.safetensors")
    tensors["classifier.bias"][0] = 100.0  # so that float32 has 1 as the probability of the first label
    safetensors.torch.save_file(tensors, tmp_path / "run" / "model.safetensors", metadata={"format": "pt"})
    assert salience("export", tmp_path / "run", "--output", tmp_path / "out").code == 0
    classifier = library.load(tmp_path / "run", device="cpu")
    assert classifier.predict_proba(TEXTS)[:, 0].tolist() == [1.0] * 40
    expected = classifier.predict(TEXTS)
    assert not any(NAMES[0] in labels for labels in expected) and all(NAMES[1] in labels for labels in expected)
    assert library.load(tmp_path / "out").predict(TEXTS) == expected
    (tmp_path / "container").mkdir()
    with served(tmp_path / "out", tmp_path / "container") as client:
        found = asked(client, TEXTS)
    assert [row["predicted"] for row in found] == expected
    assert {row["probabilities"][NAMES[0]] for row in found} == {1.0}


def test_int8_that_changes_too_much(run, salience, tmp_path, monkeypatch):
    """Here the weights of the head change their sign, so that it does."""

    def reverses(file, external):
        model = onnx.load(file)
        for tensor in model.graph.initializer:
            if "classifier" in tensor.name:
                tensor.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(tensor), tensor.name))
        onnx.save(model, file)

    monkeypatch.setattr("salience.export.folder.round_products", reverses)
    answer = salience("export", run, "--int8", "--output", tmp_path / "out")
    assert answer.code == 2
    told, error = answer.err.splitlines()[-2:]
    assert re.search(r"test\.csv: \d+ of 24 sets of labels changed .*, subset accuracy 0\.\d+ instead of 0\.\d+", told)
    assert re.search(r"int8 keeps \d+\.\d\d% of the sets of labels in .*test\.csv, and 99% are asked for", error)
    assert not list(tmp_path.iterdir())


def test_damaged_thresholds_are_refused(run, salience, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    (tmp_path / "run" / "config.json").write_text(json.dumps(config | {"label_thresholds": {"food": 0.5}}))
    answer = salience("export", tmp_path / "run", "--output", tmp_path / "out")
    assert answer.code == 2 and "label_thresholds must have a number from 0 to 1 for each label" in answer.err
    assert not (tmp_path / "out").exists()
