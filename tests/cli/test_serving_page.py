"""The server of an export, started as its Dockerfile starts it: it answers as the run does, and refuses what is wrong.

The page docs/guides/serve.md shows the commands of the Dockerfile.
"""

import json
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import salience as package
from documents import ROOT, blocks_of
from labelled import labelled_rows
from salience.cli.main import main
from salience.export.folder import dockerfile
from salience.runs.folder import ABSTENTION
from serving import asked, commands_of, served

pytestmark = pytest.mark.whole

PAGE = ROOT / "docs" / "guides" / "serve.md"
TEXTS = [
    "a match and a cup",
    "a lovely song of the band, and one more",
    "song " * 300,
    "caf\u00e9 \ud83d",
    "Über 東京",
]
for name in ("onnxruntime", "starlette", "uvicorn"):
    pytest.importorskip(name)


@pytest.fixture(scope="module")
def exported(place, run):
    """An export of the run, with thresholds beside it: some texts are decided, and others are not."""
    folder = place.folder / "served"
    assert main(["export", str(run), "--output", str(folder)]) == 0
    labels = package.load(run, device="cpu").labels
    texts = [text for text, _ in labelled_rows(20, seed=3)]
    highest = sorted(package.load(run, device="cpu").predict_proba(texts).max(1).tolist())
    values = dict.fromkeys(labels, (highest[9] + highest[10]) / 2)
    content = {"target_precision": 0.9, "certainty": 0.95, "thresholds": values}
    (folder / ABSTENTION).write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def client(exported, tmp_path_factory):
    with served(exported, tmp_path_factory.mktemp("container")) as client:
        yield client


@pytest.fixture(scope="module")
def client_of_pairs(exported, tmp_path_factory):
    """As `client`, of a model of which it is said that it was trained on pairs of texts."""
    folder = tmp_path_factory.mktemp("pairs")
    shutil.copytree(exported, folder / "export")
    about = json.loads((folder / "export" / "export.json").read_text())
    assert about["reads"]["pairs"] is False
    about["reads"]["pairs"] = True
    (folder / "export" / "export.json").write_text(json.dumps(about))
    (folder / "container").mkdir()
    with served(folder / "export", folder / "container") as client:
        yield client


def test_texts_of_another_kind_are_refused(client, client_of_pairs):
    for asked_of, texts, needed in (
        (client, ["a text", ["a text", "another"]], "single texts"),
        (client_of_pairs, [["a text", "another"], "a text"], "lists of two texts"),
    ):
        response = asked_of.post("/predict", json={"texts": texts})
        assert response.status_code == 400
        assert response.json()["error"] == f"text 2 is not what the model was trained on: send {needed}"


def test_the_probabilities_of_pairs_are_those_of_the_run(run, client_of_pairs):
    check_probabilities(run, client_of_pairs, list(zip(TEXTS, TEXTS[::-1], strict=True)))


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], TEXTS * 20], ids=["texts", "one", "batches"])
def test_the_probabilities_are_those_of_the_run(run, client, texts):
    check_probabilities(run, client, texts)


def check_probabilities(run, client, texts):
    classifier = replace(package.load(run, device="cpu"), pairs=None)  # it reads what the server is said to read
    known = [text if isinstance(text, str) else tuple(text) for text in texts]
    known = [text.replace("\ud83d", "\ufffd") if isinstance(text, str)
             else tuple(part.replace("\ud83d", "\ufffd") for part in text) for text in known]  # fmt: skip
    for row, expected in zip(asked(client, texts), classifier.predict_proba(known), strict=True):
        assert list(row["probabilities"]) == list(classifier.labels)
        assert list(row["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
        assert row["probability"] == max(row["probabilities"].values())


def test_thresholds_are_applied_as_by_predict(exported, client):
    texts = [text for text, _ in labelled_rows(20, seed=3)]
    expected = package.Predictor(exported)({"text": texts})
    found = asked(client, texts)
    assert [row["predicted"] for row in found] == expected["predicted"].tolist()
    assert [row["most_probable"] for row in found] == expected["most_probable"].tolist()
    assert 0 < sum(row["predicted"] is None for row in found) < 20


def test_a_label_with_a_threshold_of_its_own_is_predicted_as_by_the_run(run, place, salience, tmp_path):
    """By the server, by an export that is loaded, and by the run: at the probability of one of the texts."""
    texts = [text for text, _ in labelled_rows(20, seed=3)]
    labels = package.load(run, device="cpu").labels
    shutil.copytree(run, tmp_path / "run")
    own = np.sort(package.load(run, device="cpu").predict_proba(texts)[:, 0].astype(float))
    config = json.loads((run / "config.json").read_text())
    changed = config | {"predicted_from": {labels[0]: (own[9] + own[10]) / 2}}
    (tmp_path / "run" / "config.json").write_text(json.dumps(changed))
    assert main(["export", str(tmp_path / "run"), "--output", str(tmp_path / "export")]) == 0
    expected = package.load(tmp_path / "run", device="cpu").predict(texts)
    assert 0 < sum(label == labels[0] for label in expected) < 20
    assert package.load(tmp_path / "export").predict(texts) == expected
    assert package.Predictor(tmp_path / "export")({"text": texts})["predicted"].tolist() == expected
    (tmp_path / "container").mkdir()
    with served(tmp_path / "export", tmp_path / "container") as client:
        found = asked(client, texts)
    assert [row["predicted"] for row in found] == expected
    assert all(row["probability"] == row["probabilities"][row["predicted"]] for row in found)


def test_requests_at_the_same_time(client):
    texts = [f"{text} {number}" for number, (text, _) in enumerate(labelled_rows(40, seed=4))]
    alone = [asked(client, [text])[0]["probability"] for text in texts]
    with ThreadPoolExecutor(16) as threads:
        together = list(threads.map(lambda text: asked(client, [text])[0]["probability"], texts))
    assert together == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("texts", 400, 'the body is not JSON: send {"texts": ["a text", "another"]}'),
        (b"\xff\xfe{", 400, "the body is not JSON"),
        ("[" * 100_000, 400, "the body is not JSON"),
        ('["a text"]', 400, "there is no list of texts"),
        ('{"text": ["a text"]}', 400, "there is no list of texts"),
        ('{"texts": "a text"}', 400, "there is no list of texts"),
        ('{"texts": []}', 400, "there is no list of texts"),
        ('{"texts": ["a text", " "]}', 400, "text 2 is no text with words, nor a list of two such texts"),
        ('{"texts": [7]}', 400, "text 1 is no text"),
        ('{"texts": [null]}', 400, "text 1 is no text"),
        ('{"texts": [["a", "b", "c"]]}', 400, "text 1 is no text"),
        ('{"texts": [["a", 7]]}', 400, "text 1 is no text"),
        (json.dumps({"texts": ["a"] * 257}), 413, "257 texts: send at most 256 in a request"),
        (json.dumps({"texts": ["a" * 2**20]}), 413, "the request has more than 1,048,576 bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_said(client, body, status, said):
    response = client.post("/predict", content=body)
    assert response.status_code == status
    assert response.json()["error"].startswith(said)
    assert asked(client, ["a cup"])  # the server is as before


def test_other_addresses_and_methods(client):
    assert client.get("/predict").status_code == 405
    assert client.get("/").status_code == 404 and client.get("/").json() == {"error": "Not Found"}


@pytest.mark.parametrize("long", ["head-tail", "windows"])
def test_a_model_that_reads_parts_of_long_texts_has_no_server(long, run, place, salience, tmp_path):
    """The server would read the head alone. `salience predict` reads the export as the run."""
    shutil.copytree(run, tmp_path / "run")
    settings = json.loads((tmp_path / "run" / "config.json").read_text())
    (tmp_path / "run" / "config.json").write_text(json.dumps(settings | {"long_texts": long}))
    answer = salience("export", tmp_path / "run", "--max-length", "9", "--output", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert f"no server is written: the model reads long texts with --long {long}" in answer.err
    assert not {"serve.py", "Dockerfile"} & {file.name for file in (tmp_path / "out").iterdir()}
    assert "serve.py" not in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    texts = ["a cup " * 10 + "a lovely song of the band " * 3, "a cup"]
    whole = package.load(tmp_path / "run", max_length=9, device="cpu")
    found = package.load(tmp_path / "out").predict_proba(texts)
    assert found == pytest.approx(whole.predict_proba(texts), abs=1e-5)


def unversioned(page: str) -> str:
    return re.sub(r"(?<===)[\d.]+|(?<=FROM python:)[\d.]+", "*", page)


def test_the_page_shows_the_dockerfile_and_its_commands():
    blocks = blocks_of(PAGE)
    (shown,) = (block.text for block in blocks if block.language == "dockerfile")
    assert unversioned(shown) == unversioned(dockerfile())
    commands = commands_of(shown)
    by_hand = "".join(block.text for block in blocks if block.language == "sh")
    needed = [re.split("[=<>]", each)[0] for each in shlex.split(commands["RUN"][0]) if re.search("[=<>]", each)]
    assert needed == ["onnxruntime", "tokenizers", "numpy", "starlette", "uvicorn"]
    (install,) = re.findall(r"^pip install (.*\bonnxruntime\b.*)$", by_hand, re.M)
    assert [re.split("[=<>]", each)[0] for each in shlex.split(install)] == needed
    program, app, *_ = json.loads(commands["CMD"][0])
    assert f"{program} {app} --host 127.0.0.1 --port 8000" in by_hand
    (port,) = commands["EXPOSE"]
    assert f"--publish 8000:{port}" in by_hand and f"http://127.0.0.1:{port}/predict" in by_hand


def test_the_tutorial_serves_in_the_same_way():
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (install,) = re.findall(r"^pip install (onnxruntime .*)$", tutorial, re.M)
    assert f"pip install {install}\n" in PAGE.read_text(encoding="utf-8")
    assert "uvicorn serve:app --host 127.0.0.1 --port 8000" in tutorial
