"""The server of docs/howto/serve.md answers with the probabilities of the run."""

import json
import re
from http.server import ThreadingHTTPServer
from threading import Thread
from urllib.request import Request, urlopen

import pytest

import salience as package
from documents import ROOT, blocks_of

PAGE = ROOT / "docs" / "howto" / "serve.md"
TEXTS = ["a match and a cup", "a lovely song of the band, and one more"]


def test_the_server_answers_as_the_run(salience, run, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    assert salience("export", run, "--output", tmp_path / "exported").code == 0
    (program,) = (block.text for block in blocks_of(PAGE) if block.language == "python")
    stated = re.search(r"enable_truncation\((\d+)\)", (tmp_path / "exported" / "README.md").read_text("utf-8"))[1]
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "serve"}
    exec(program.replace("enable_truncation(512)", f"enable_truncation({stated})"), names)
    server = ThreadingHTTPServer(("127.0.0.1", 0), names["Handler"])
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        with urlopen(Request(address, json.dumps(TEXTS).encode()), timeout=60) as answer:
            served = json.load(answer)
    finally:
        server.shutdown()
        server.server_close()
    classifier = package.load(run)
    for row, expected in zip(served, classifier.predict_proba(TEXTS), strict=True):
        assert list(row) == list(classifier.labels)
        assert list(row.values()) == pytest.approx(expected.tolist(), abs=1e-5)
