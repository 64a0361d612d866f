"""Whatever door a text enters by, whatever stands beside it, and whatever computes it: it gets what it gets alone."""

import csv
import importlib.util
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import salience as package
from labelled import FILLER, WORDS, write_csv
from salience import Predictor, SalienceClassifier
from salience.cli.main import main

pytestmark = pytest.mark.whole

EXAMPLES = int(os.environ.get("SALIENCE_EXAMPLES", 25))
VOCABULARY = [*" ".join(WORDS.values()).split(), *FILLER, "unknown", "\U0001f642", "[SEP]", "[MASK]", "\u0627", "é"]
TEXTS = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=40).map(" ".join), min_size=1, max_size=12)
TOLERANCES = {"auto": 1e-5, "bf16": 2e-2}  # of probabilities, by precision


def by_classifier(folder, texts, precision, window, place):
    classifier = package.load(folder, device="cpu", precision=precision)
    parts = [texts[start : start + window] for start in range(0, len(texts), window)]
    return np.concatenate([classifier.predict_proba(part) for part in parts])


def by_predictor(folder, texts, precision, window, place):
    found = Predictor(folder, device="cpu", precision=precision)({"text": texts})
    return np.stack([values for name, values in found.items() if name.startswith("probability_")], 1)


def by_estimator(folder, texts, precision, window, place):
    return SalienceClassifier.load(folder).set_params(precision=precision).predict_proba(texts)


def by_command(folder, texts, precision, window, place):
    data, written = write_csv(place / "texts.csv", [(text,) for text in texts], ("text",)), place / "found.csv"
    options = ["--precision", precision, "--window", str(window), "--device", "cpu", "--overwrite"]
    assert main(["predict", str(folder), str(data), "--output", str(written), *options]) == 0
    with written.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    return np.array([[float(row[name]) for name in row if name.startswith("probability_")] for row in rows])


def by_server(folder, texts, precision, window, place):
    specification = importlib.util.spec_from_file_location("serve", folder / "serve.py")
    server = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(server)
    return np.array([list(said["probabilities"].values()) for said in server.predictions(texts)])


DOORS = {
    "run": [by_classifier, by_predictor, by_command, by_estimator],
    "float32": [by_classifier, by_predictor, by_command, by_server],
    "int8": [by_classifier, by_predictor, by_command, by_server],
}
CASES = [(kind, door, "auto") for kind, doors in DOORS.items() for door in doors]
CASES += [("run", door, "bf16") for door in DOORS["run"][:3]]


@pytest.mark.parametrize(("kind", "door", "precision"), CASES)
def test_a_text_alone_and_in_any_company(kind, door, precision, run, exported, tmp_path_factory):
    place, folder = tmp_path_factory.mktemp("company"), exported.get(kind, run)
    alone = package.load(folder, device="cpu", precision=precision)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(TEXTS, st.integers(1, 9))
    def holds(texts, window):
        found = door(folder, texts, precision, window, place)
        expected = np.concatenate([alone.predict_proba([text]) for text in texts])
        np.testing.assert_allclose(found, expected, atol=TOLERANCES[precision])

    holds()
