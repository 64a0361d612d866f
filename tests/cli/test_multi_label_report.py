"""The report of a run whose texts have several labels: its numbers are those of the stored predictions."""

import json
import re
import shutil
from collections import defaultdict

import numpy as np
import pytest
import sklearn.metrics as sk
from scipy.special import expit, logit

import salience as library
from pages import Content
from salience.cli.main import main
from salience.explainers.class_words import read_kept_words
from salience.explainers.explain import explain_texts
from salience.explainers.integrated import IntegratedGradients
from salience.report.run_page import POINTS, spread_rows
from salience.scores.labels import SEVERAL_LABELS


@pytest.fixture(scope="module")
def estimated(several_files, place, tmp_path_factory):
    """A run without test rows, which is judged on its estimate."""
    folder = tmp_path_factory.mktemp("estimated") / "run"
    options = ["--estimate", "folds:2", "--steps", "40", "--learning-rate", "0.005", "--output", folder]
    assert main(place.train(*options, data=several_files[0])) == 0
    return folder


@pytest.fixture
def judged_run(request):
    """The run that is judged on test rows, or on its estimate."""
    return lambda judged: request.getfixturevalue("several_run" if judged == "test" else "estimated")


def stored(folder, name="probabilities.npz"):
    with np.load(folder / name) as arrays:
        return arrays["probabilities"], arrays["labels"], arrays["decided"]


def metrics_of(folder) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def file_of_rows(judged: str) -> str:
    return "predictions.jsonl" if judged == "test" else "out_of_fold.jsonl"


def page_of(folder) -> Content:
    return Content((folder / "report.html").read_text(encoding="utf-8"))


def figures(cells: list[str]) -> list[str]:
    """The value before the interval of each cell."""
    return [re.match(r"\d+\.\d{3}", cell).group() for cell in cells]


def scores_of(probabilities, labels, decided) -> list[str]:
    """The scores of the table by scikit-learn."""
    found = [
        sk.f1_score(labels, decided, average="micro", zero_division=0),
        sk.f1_score(labels, decided, average="macro", zero_division=0),
        sk.accuracy_score(labels, decided), sk.label_ranking_average_precision_score(labels, probabilities),
        SEVERAL_LABELS.calibration_error(probabilities, labels),
    ]  # fmt: skip
    return [f"{value:.3f}" for value in found]


def test_the_scores_are_those_of_the_stored_predictions(several_run):
    page, (probabilities, labels, decided) = page_of(several_run), stored(several_run)
    assert (decided != (probabilities >= 0.5)).any()
    at_half, at_thresholds = (
        [cell for row in page.rows_of(name) for cell in row]  # the calibration error is folded away
        for name in ("this model", "this model, thresholds of the labels")
    )
    assert figures(at_half) == scores_of(probabilities, labels, probabilities >= 0.5)
    assert figures(at_thresholds) == scores_of(probabilities, labels, decided)
    assert all(" to " in cell for cell in at_thresholds)
    for name, scores in metrics_of(several_run)["baselines"].items():
        assert page.rows_of(name)[0][3] == f"{scores['ranking_precision']:.3f}"


@pytest.mark.whole
def test_the_intervals_of_an_estimate_are_those_of_its_metrics(estimated):
    found = metrics_of(estimated)["estimate"]
    cells, _ = page_of(estimated).rows_of("models like this one, thresholds of the labels")
    for cell, name in zip(cells, ("micro_f1_at_thresholds", "macro_f1_at_thresholds"), strict=False):
        low, high = found[f"{name}_interval"]
        assert cell == f"{found[name]:.3f}{low:.3f} to {high:.3f}"


@pytest.mark.whole
def test_the_reliability_is_before_and_after_the_temperature(several_run, estimated):
    probabilities, labels, _ = stored(several_run)
    temperature = metrics_of(several_run)["estimate"]["temperature_scaling"]["temperature"]
    before, page = expit(logit(probabilities.astype(float)) * temperature), page_of(several_run)
    for name, values in (("before calibration", before), ("after calibration", probabilities)):
        errors = [SEVERAL_LABELS.calibration_error(values, labels, equal_mass) for equal_mass in (False, True)]
        assert [float(cell) for cell in page.rows_of(name)[0]] == pytest.approx(errors, abs=6e-4)
    assert f"calibrated by a temperature of {temperature:.2f}" in page.text
    scaling, page = metrics_of(estimated)["estimate"]["temperature_scaling"], page_of(estimated)
    for name, end in (("before calibration", ""), ("after calibration", "_scaled")):
        errors = [scaling[f"{each}calibration_error{end}"] for each in ("", "equal_mass_")]
        assert page.rows_of(name)[0] == [f"{error:.3f}" for error in errors]
    assert "Share of the texts that have a label (accuracy) against its probability" in page.text


@pytest.mark.parametrize("judged", ["test", pytest.param("estimate", marks=pytest.mark.whole)])
def test_the_errors_are_the_decisions_farthest_from_the_thresholds(judged, judged_run):
    folder, file = judged_run(judged), "probabilities.npz" if judged == "test" else "out_of_fold.npz"
    probabilities, labels, decided = stored(folder, file)
    rows = [json.loads(line) for line in (folder / file_of_rows(judged)).read_text().splitlines()]
    content = (folder / "report.html").read_text(encoding="utf-8")
    shown = content.split('<div class="card">')[1:]
    wrong = {(row, label) for row, label in np.argwhere(decided != labels).tolist()}
    assert len(shown) == min(len(wrong), 20) > 0 and f"of {len(wrong)} " in content
    names, distances = sorted(metrics_of(folder)["labels"]), []
    for part in shown:
        predicted, name, probability = re.search(r"<strong>(not )?(\w+)</strong> (\d\.\d{3})", part).groups()
        number, threshold = re.search(r"row (\d+), threshold (\d\.\d{3})", part).groups()
        place, label = int(number) - 1, names.index(name)
        wrong.remove((place, label))
        assert float(probability) == pytest.approx(probabilities[place, label], abs=6e-4)
        assert (predicted is None) == decided[place, label]
        assert (float(probability) >= float(threshold)) == decided[place, label]
        assert f"wrong: it has {', '.join(rows[place]['label']) or 'no label'}<" in part
        words = re.findall(r'<span class="word [^>]*>([^<]*)</span>', part)
        assert words == rows[place]["text"].split()
        if judged == "test":
            assert float(threshold) == pytest.approx(metrics_of(folder)["labels"][name]["threshold"], abs=6e-4)
        distances.append(abs(float(probability) - float(threshold)))
    assert distances == pytest.approx(sorted(distances, reverse=True), abs=2e-3)
    if judged == "test":  # the thresholds are those of the model, so that no other decision is farther
        own = [metrics_of(folder)["labels"][name]["threshold"] for name in names]
        assert all(abs(probabilities[row, label] - own[label]) <= distances[-1] + 2e-3 for row, label in wrong)


def test_heat_maps_are_of_the_label_of_the_error(several_run):
    classifier = library.load(several_run, device="cpu", precision="fp32")
    content = (several_run / "report.html").read_text(encoding="utf-8")
    for part in content.split('<div class="card">')[1:4]:
        name = re.search(r"<strong>(?:not )?(\w+)</strong>", part)[1]
        found = re.findall(r'<span class="word [^>]*title="([^"]*)">([^<]*)</span>', part)
        text = " ".join(word for _, word in found)
        (own,) = library.explain(classifier, [text], target=classifier.labels.index(name))
        assert [float(score) for score, _ in found] == pytest.approx(own.scores["gradient"], rel=0.02, abs=1e-6)


@pytest.mark.whole
def test_without_its_model_the_errors_are_there_without_heat_maps(several_run, salience, tmp_path):
    folder = shutil.copytree(several_run, tmp_path / "run")
    (folder / "model.safetensors").unlink()
    assert salience("report", folder).code == 0
    page = page_of(folder)
    assert "the folder has no model" in page.text and "wrong: it has" in page.text
    assert "errors" in page.sections and "words" not in page.sections


@pytest.mark.parametrize("judged", ["test", pytest.param("estimate", marks=pytest.mark.whole)])
def test_the_words_of_a_label_are_means_over_the_rows_that_get_it(judged, judged_run):
    folder = judged_run(judged)
    rows = [json.loads(line)["text"] for line in (folder / file_of_rows(judged)).read_text().splitlines()]
    classifier = library.load(folder, device="cpu", precision="fp32")
    kept, predicted = read_kept_words(folder), classifier.predict(rows)
    _, _, decided = stored(folder, "probabilities.npz" if judged == "test" else "out_of_fold.npz")
    assert kept.explained == decided.any(1).sum()  # fewer than 200, so that all are explained
    explainer = {kept.explainer: IntegratedGradients(POINTS)}
    page = (folder / "report.html").read_text(encoding="utf-8").split('<section id="words">')[1]
    assert kept.words and "Words that speak for a label" in page
    for label, words in kept.words.items():
        scores = defaultdict(list)
        for text, names, gets in zip(rows, predicted, decided, strict=True):
            if gets.any() and label in names:
                texts = library.Texts([text])
                (own,) = explain_texts(classifier, texts, explainer, classifier.labels.index(label))
                for word in set(own.words):
                    places = [place for place, each in enumerate(own.words) if each == word]
                    scores[word].append(own.scores[kept.explainer][places].sum())
        means = {word: np.mean(of_word) for word, of_word in scores.items() if len(of_word) >= 3}
        best = sorted((word for word in means if means[word] > 0), key=lambda word: -means[word])[:8]
        assert [word for word, _, _ in words] == best
        assert [score for _, score, _ in words] == pytest.approx([means[word] for word in best], rel=1e-3, abs=1e-6)
        (part,) = re.findall(rf"<h3>{label}</h3>\s*<ul>(.*?)</ul>", page, re.DOTALL)
        assert re.findall(r"<li dir=.auto.>(\S+) <small>", part) == best


def test_rows_are_drawn_evenly_from_the_predicted_labels():
    decisions = np.zeros((100, 3), bool)
    decisions[:80, 0] = decisions[[5, 81, 82, 83], 1] = True  # a frequent label, a rare one, and one that none gets
    drawn = spread_rows(decisions, 8)
    assert {81, 82, 83} <= set(drawn) and drawn == sorted(set(drawn)) and len(drawn) == 8
    assert decisions[drawn].any(1).all() and len(spread_rows(decisions, 200)) == 83


def test_the_intervals_of_the_test_rows_are_in_the_metrics_and_on_the_card(several_run):
    scores, page = metrics_of(several_run)["test"], page_of(several_run)
    decided = page.rows_of("this model, thresholds of the labels") or page.rows_of("this model")
    card = " ".join((several_run / "README.md").read_text(encoding="utf-8").split())
    for cell, title, name in zip(decided[0], ("micro-F1", "macro-F1"), ("micro_f1", "macro_f1"), strict=False):
        value, (low, high) = scores[f"{name}_at_thresholds"], scores[f"{name}_at_thresholds_interval"]
        assert cell == f"{value:.3f}{low:.3f} to {high:.3f}"
        assert f"{title} {value:.3f} [{low:.3f}, {high:.3f}]" in card
