"""The report of a run: its numbers are those of the stored predictions, and nothing of it can lose a run."""

import json
import os
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss, precision_recall_fscore_support
from test_bad_input import refused

import families
import salience as package
from labelled import FILLER, WORDS, labelled_rows, write_csv
from pages import HOSTILE, Content
from salience.cli.main import main
from salience.data.words import word_spans
from salience.errors import InputError
from salience.explainers.class_words import read_kept_words
from salience.scores.calibration import with_temperature
from salience.scores.labels import ONE_LABEL

pytestmark = pytest.mark.usefixtures("reported")
RUNS = {
    "test": ["--estimate", "none", "--test"],
    "estimate": ["--estimate", "folds:2"],
    "calibrated": ["--estimate", "folds:2", "--set", "calibrate=true", "--test"],
    "validation": ["--set", "validation_share=0.4"],
    "none": ["--estimate", "none"],
    "attention": ["--model", "attention:dot", "--set-model", "encoder=lstm", "--estimate", "none", "--test"],
}
WHOLE = ("attention", "calibrated", "validation")


@pytest.fixture(scope="module")
def runs(place, tmp_path_factory):
    """One finished run of each kind, and what it printed."""
    folder = tmp_path_factory.mktemp("runs")

    def run(kind: str):
        if not (folder / kind).exists():
            options = [*RUNS[kind], *([place.test] if RUNS[kind][-1:] == ["--test"] else [])]
            with redirect_stdout(StringIO()) as printed:
                assert main(place.train("--output", folder / kind, *options)) == 0
            (folder / f"{kind}.txt").write_text(printed.getvalue(), encoding="utf-8")
        return folder / kind

    return run


def stored(folder, name="probabilities.npz"):
    with np.load(folder / name) as arrays:
        return arrays["probabilities"], arrays["labels"], [str(label) for label in arrays["names"]]


def metrics_of(folder) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def page_of(folder) -> Content:
    return Content((folder / "report.html").read_text(encoding="utf-8"))


def row_of(page: Content, name: str) -> list[str]:
    """The cells of a row in the table of scores, and in that which is folded away."""
    return [cell for row in page.rows_of(name)[:2] for cell in row]


def figures(cells: list[str]) -> list[str]:
    """The value before the interval of each cell."""
    return [re.match(r"\d+\.\d{3}", cell).group() for cell in cells]


def check_rows(page: Content, probabilities, labels, names) -> None:
    """The confusion matrix and the numbers of each class, by scikit-learn."""
    predicted = probabilities.argmax(1)
    matrix = confusion_matrix(labels, predicted, labels=range(len(names)))
    by_class = precision_recall_fscore_support(labels, predicted, labels=range(len(names)), zero_division=0)
    for number, name in enumerate(names):
        counts, scores = page.rows_of(name)[:2]
        assert [int(count or 0) for count in counts] == matrix[number].tolist()
        for cell, value in zip(scores, np.array(by_class)[:, number], strict=True):
            assert cell == "-" or float(cell) == pytest.approx(value, abs=6e-4)
        assert (scores[0] == "-") == (number not in predicted)


@pytest.mark.parametrize(
    "kind", ["test", *(pytest.param(kind, marks=pytest.mark.whole) for kind in ("validation", "attention"))]
)
def test_every_score_is_that_of_the_stored_predictions(kind, runs):
    probabilities, labels, names = stored(runs(kind))
    page = page_of(runs(kind))
    expected = [
        accuracy_score(labels, probabilities.argmax(1)), f1_score(labels, probabilities.argmax(1), average="macro"),
        log_loss(labels, probabilities, labels=range(len(names))), ONE_LABEL.calibration_error(probabilities, labels),
    ]  # fmt: skip
    assert figures(row_of(page, "this model")) == [f"{value:.3f}" for value in expected]
    for name, scores in metrics_of(runs(kind))["baselines"].items():
        assert row_of(page, name) == [
            f"{scores[score]:.3f}" for score in ("accuracy", "macro_f1", "log_loss", "calibration_error")
        ]
    check_rows(page, probabilities, labels, names)
    after = ONE_LABEL.cross_scaled(probabilities, labels)
    for name, values in (("before calibration", probabilities), ("after calibration", after)):
        errors = (
            ONE_LABEL.calibration_error(values, labels),
            ONE_LABEL.calibration_error(values, labels, equal_mass=True),
        )
        assert page.rows_of(name)[0] == [f"{error:.3f}" for error in errors]
    said = {"validation": "the checkpoint was chosen by the same"}.get(
        kind, "Expect such scores on new rows like these:"
    )
    assert f"{said} {len(labels)} {'validation' if kind == 'validation' else 'test'} rows" in page.text


def test_without_test_rows_the_scores_are_those_of_the_estimate(runs):
    probabilities, labels, names = stored(runs("estimate"), "out_of_fold.npz")
    page, estimate = page_of(runs("estimate")), metrics_of(runs("estimate"))["estimate"]
    assert "60 labelled rows of the estimate" in page.text
    check_rows(page, probabilities, labels, names)
    own = row_of(page, "models like this one")
    low, high = estimate["accuracy_interval"]
    assert own[0] == f"{estimate['accuracy']:.3f}{low:.3f} to {high:.3f}"
    low, high = estimate["macro_f1_interval"]
    assert own[1] == f"{estimate['macro_f1']:.3f}{low:.3f} to {high:.3f}"
    scaling = estimate["temperature_scaling"]
    names = ("calibration_error", "equal_mass_calibration_error")
    assert page.rows_of("before calibration")[0] == [f"{scaling[name]:.3f}" for name in names]
    assert page.rows_of("after calibration")[0] == [f"{scaling[f'{name}_scaled']:.3f}" for name in names]
    assert estimate["calibrated"]  # so that the scores are those after the temperature
    scaled = ONE_LABEL.cross_scaled(probabilities, labels)
    assert figures(own)[2:] == [f"{log_loss(labels, scaled):.3f}", f"{scaling['calibration_error_scaled']:.3f}"]
    raw = row_of(page, "models like this one, uncalibrated")
    assert figures(raw)[2:] == [f"{estimate['log_loss']:.3f}", f"{estimate['calibration_error']:.3f}"]


@pytest.mark.whole
def test_a_temperature_in_the_model_is_taken_out_again(runs):
    probabilities, labels, _ = stored(runs("calibrated"))
    temperature = metrics_of(runs("calibrated"))["estimate"]["temperature_scaling"]["temperature"]
    before, page = with_temperature(probabilities, 1 / temperature), page_of(runs("calibrated"))
    assert page.rows_of("before calibration")[0][0] == f"{ONE_LABEL.calibration_error(before, labels):.3f}"
    assert page.rows_of("after calibration")[0][0] == f"{ONE_LABEL.calibration_error(probabilities, labels):.3f}"
    assert "30 test rows" in page.text and f"calibrated by a temperature of {temperature:.2f}" in page.text


@pytest.mark.parametrize("kind", ["test", "estimate", "validation"])
def test_it_begins_with_what_the_run_is_worth(kind, runs):
    """In a sentence, counted from the stored predictions; then what it is of, when and how it was made."""
    probabilities, labels, names = stored(runs(kind), "out_of_fold.npz" if kind == "estimate" else "probabilities.npz")
    right = probabilities.argmax(1) == labels
    interval = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    metrics, page = metrics_of(runs(kind)), (runs(kind) / "report.html").read_text(encoding="utf-8")
    baselines = metrics["estimate"]["baselines"] if kind == "estimate" else metrics["baselines"]
    (said,) = re.findall('<p class="worth">(.*?)</p>', page)
    found = f"{100 * right.mean():.0f} of 100 right, {100 * interval.low:.0f} to {100 * interval.high:.0f}"
    best = max(baselines, key=lambda name: baselines[name]["accuracy"])
    assert said.startswith(f"{found}; {best.split(' + ')[0]} {100 * baselines[best]['accuracy']:.0f}")
    matrix = confusion_matrix(labels, probabilities.argmax(1), labels=range(len(names)))
    recalls = matrix.diagonal() / matrix.sum(1)
    weakest = int(recalls.argmin())
    assert f"; weakest: {names[weakest]} ({100 * recalls[weakest]:.0f})" in said
    np.fill_diagonal(matrix, 0)
    if matrix[weakest].max() >= 2:
        assert said.endswith(f", often taken for {names[int(matrix[weakest].argmax())]}")
    head = dict(re.findall("<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", page.split("<section")[0]))
    assert head["data"].endswith(f".csv: {metrics['rows']['training']} rows, 3 classes")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", head["when"]) and "steps of at most" in head["model"]
    assert head[kind].startswith(found)
    order = ["scores", "errors", "confusions", "thresholds", "reliability", "words", "curves", "data"]
    assert Content(page).sections == [name for name in order if f'<section id="{name}">' in page]
    folded = re.findall("<details><summary>(.*?)</summary>", page)
    assert {"Log loss and calibration error", "The calibration error", "How the words were found"} <= {*folded}


def test_without_any_rows_it_says_why_there_are_no_scores(runs):
    page = page_of(runs("none"))
    assert "There are no scores" in page.text and "leave out --estimate none" in page.text
    assert page.sections == ["scores", "curves", "data"]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.whole] * (kind in WHOLE)) for kind in RUNS],
)
def test_facts_and_curves_are_there_and_it_is_made_again_as_it_was(kind, runs, salience):
    folder = runs(kind)
    before, manifest = (folder / "report.html").read_bytes(), (folder / "manifest.json").read_bytes()
    page = page_of(folder)
    training = 36 if kind == "validation" else 60
    assert page.rows_of("rows")[-1][0] == str(training)
    assert page.rows_of("sport")[-1][0] == str(training // 3)
    assert "Loss over the steps" in page.text
    assert ("Scores on the validation rows" in page.text) == (kind == "validation")
    assert not page.addresses or all(address.startswith(("#", "data:")) for address in page.addresses)
    answer = salience("report", folder)
    assert answer.code == 0 and answer.out.splitlines()[-1] == f"report: {folder}/report.html", answer.err
    assert (folder / "report.html").read_bytes() == before
    assert (folder / "manifest.json").read_bytes() == manifest
    assert set(json.loads(manifest)["files"]) == set(os.listdir(folder))


def test_the_errors_are_the_most_confident_ones(runs):
    probabilities, labels, _ = stored(runs("test"))
    wrong = np.flatnonzero(probabilities.argmax(1) != labels)
    order = wrong[np.argsort(-probabilities[wrong].max(1), kind="stable")][:20]
    rows = [json.loads(line) for line in (runs("test") / "predictions.jsonl").read_text().splitlines()]
    content = (runs("test") / "report.html").read_text(encoding="utf-8")
    shown = content.split('<div class="card">')[1:]
    assert len(shown) == len(order) > 0
    for part, number in zip(shown, order.tolist(), strict=True):
        own = rows[number]
        words = re.findall(r'<span class="word [^>]*>([^<]*)</span>', part.split('<div dir="auto">')[1])
        assert words[: len(own["text"].split())] == [own["text"][start:end] for start, end in word_spans(own["text"])]
        assert f"<strong>{own['predicted']}</strong> {probabilities[number].max():.3f}" in part
        assert f"wrong: it is {own['label']}" in part


def test_the_terminal_names_the_most_confused_classes_and_the_report(runs):
    probabilities, labels, names = stored(runs("test"))
    printed = (runs("test").parent / "test.txt").read_text(encoding="utf-8")
    matrix = confusion_matrix(labels, probabilities.argmax(1), labels=range(3))
    np.fill_diagonal(matrix, 0)
    row, column = divmod(int(matrix.argmax()), 3)
    confused, report = printed.splitlines()[-2:]
    low, high = metrics_of(runs("test"))["test"]["accuracy_interval"]
    right = (probabilities.argmax(1) == labels).mean()
    first = next(line for line in printed.splitlines() if line.startswith("trained; "))
    shares = f"{100 * right:.0f} % right on unseen rows ({100 * low:.0f} to {100 * high:.0f} %)"
    assert first == f"trained; {shares}" and printed.index(first) < printed.index("test rows")
    assert confused.startswith(f"most confused: {names[row]} as {names[column]}: {matrix.max()} of 10 rows")
    assert confused.count(" rows") <= 3
    assert report == f"report: {runs('test')}/report.html"


def test_hostile_texts_and_labels_stay_texts_in_pairs_too(place, salience, tmp_path):
    rows = [(f"{HOSTILE[n % 5]} {n}", HOSTILE[n % 3], HOSTILE[n * 2 % 5].replace("\n", " ")) for n in range(40)]
    data = write_csv(tmp_path / "pairs.csv", rows, ("text", "other", "label"))
    options = ["--text-pair", "other", "--test", data, "--estimate", "none", "--steps", "2"]
    answer = salience(*place.train("--output", tmp_path / "run", *options, data=data))
    assert answer.code == 0, answer.err
    page = page_of(tmp_path / "run")
    assert not {"script", "img", "b"} & set(page.tags)
    assert "{{ 7 * 7 }}" in page.text and 'class="word svg' in (tmp_path / "run" / "report.html").read_text()
    assert "second" in (tmp_path / "run" / "report.html").read_text().split("<body>")[1]
    assert page.rows_of("text is in the training rows too")[0] == ["", "40 (100.0%)"]


def test_a_report_that_fails_loses_no_run(place, salience, tmp_path, monkeypatch):
    def fails(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("salience.cli.report.add_report", fails)
    options = ["--test", place.test, "--estimate", "none", "--steps", "2", "--output", tmp_path / "run"]
    answer = salience(*place.train(*options))
    assert answer.code == 0
    assert "the run is finished, but its report is not (MemoryError: no room)" in answer.out.splitlines()[-1]
    assert (tmp_path / "run" / "model.safetensors").is_file() and not (tmp_path / "run" / "report.html").exists()
    monkeypatch.undo()
    assert salience("report", tmp_path / "run").code == 0
    # It is a file of the run, which `--overwrite` may replace.
    assert "report.html" in json.loads((tmp_path / "run" / "manifest.json").read_text())["files"]


@pytest.mark.whole
@pytest.mark.parametrize("kind", families.OTHERS)
def test_a_run_of_any_model_ends_and_has_its_report_and_suggestions(kind, place, salience, tmp_path):
    """Bart and T5 have no gradient at one place: what is explained unasked is explained by occlusion, or left out."""
    model = families.save_other(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)], kind)
    options = ["--model", model, "--test", place.test, "--steps", "2", "--output", tmp_path / "run"]
    answer = salience(*place.train(*options))
    assert answer.code == 0, answer.err
    assert "3 test texts; the words that decided most" in answer.out and "\nreport: " in answer.out
    answer = salience("report", tmp_path / "run")
    assert answer.code == 0, answer.err
    page, twice = page_of(tmp_path / "run"), kind in ("Bart", "T5")
    assert (
        ("Words by the explainer occlusion" in page.text) == twice == ("No words were found: ValueError:" in page.text)
    )
    pool = write_csv(tmp_path / "pool.csv", labelled_rows(10, seed=7))
    answer = salience("suggest", tmp_path / "run", pool, "--count", "3")
    assert answer.code == 0, answer.err


def test_a_part_that_is_not_needed_loses_no_run(place, salience, tmp_path, monkeypatch):
    def fails(*_, **named):
        raise ImportError("no metadata")

    for part in ("about", "data_facts", "model_card"):
        monkeypatch.setattr(f"salience.training.run.{part}", fails)
    answer = salience(*place.train("--test", place.test, "--steps", "2", "--output", tmp_path / "run"))
    assert answer.code == 0
    for part in ("the list of versions in metrics.json", "data_facts.json", "its card, README.md,"):
        assert f"the run is finished, but {part} is not (ImportError: no metadata)" in answer.out + answer.err
    assert package.load(tmp_path / "run", device="cpu").labels and (tmp_path / "run" / "report.html").is_file()


def test_what_fails_after_the_training_leaves_its_weights(place, salience, tmp_path, monkeypatch):
    def fails(*_):
        raise ValueError("of predictions")

    monkeypatch.setattr("salience.training.run.run_metrics", fails)
    assert salience(*place.train("--steps", "2", "--output", tmp_path / "run")).code == 1
    assert package.load(tmp_path / ".run.partial" / "model", device="cpu").predict(["a text"])


@pytest.mark.whole
def test_a_file_that_the_report_may_not_read_ends_the_run_which_goes_on(place, salience, tmp_path, monkeypatch):
    def fails(*_):
        raise InputError("recipe.yaml cannot be read") from PermissionError(13, "Permission denied")

    options = ["--test", place.test, "--steps", "2", "--output", tmp_path / "run"]
    with monkeypatch.context() as patch:
        patch.setattr("salience.cli.report.add_report", fails)
        refused(salience(*place.train(*options)), "recipe.yaml cannot be read")
    assert not (tmp_path / "run").exists()
    assert salience(*place.train(*options, "--resume")).code == 0
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_run_without_its_model_has_a_report_without_heat_maps(runs, salience, tmp_path):
    shutil.copytree(runs("test"), tmp_path / "run")
    (tmp_path / "run" / "model.safetensors").unlink()
    (tmp_path / "run" / "data_facts.json").unlink()
    assert salience("report", tmp_path / "run").code == 0
    page = page_of(tmp_path / "run")
    assert "the folder has no model" in page.text and "no facts about the training data" in page.text
    assert "words" not in page.sections


def test_what_is_no_run_is_refused_in_one_line(place, salience, runs, tmp_path):
    refused(salience("report", tmp_path), "is no run: name a folder that `salience train` has written")
    refused(salience("report", place.model), "is no run")
    refused(salience("report", tmp_path / "nothing"), "is no run")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["metrics.json", "probabilities.npz", "predictions.jsonl", "history.json"])
def test_damaged_files_are_refused_in_one_line(name, runs, salience, tmp_path):
    file = shutil.copytree(runs("test"), tmp_path / "run") / name
    file.write_bytes(file.read_bytes()[:37] + b"\0")
    refused(salience("report", tmp_path / "run"), "is damaged")


@pytest.mark.parametrize(
    ("name", "content"),
    [("data_facts.json", "{}"), ("data_facts.json", "[]"), ("history.json", "null"), ("history.json", "[1]"),
     ("metrics.json", '{"rows": {"test": 60}, "test": {}, "judged_on": "test"}')],
)  # fmt: skip
def test_files_with_other_content_are_refused_in_one_line(name, content, runs, salience, tmp_path):
    folder = shutil.copytree(runs("test"), tmp_path / "run")
    (folder / name).write_text(content)
    refused(salience("report", folder), "is damaged")


def test_a_report_of_somebody_else_is_not_replaced(place, salience, tmp_path, monkeypatch):
    monkeypatch.setattr("salience.cli.report.add_report", lambda *_: None)
    options = ["--test", place.test, "--estimate", "none", "--steps", "2", "--output", tmp_path / "run"]
    assert salience(*place.train(*options)).code == 0
    (tmp_path / "run" / "report.html").write_text("mine")
    refused(salience("report", tmp_path / "run"), "was not written by salience and is not replaced")
    assert (tmp_path / "run" / "report.html").read_text() == "mine"


def test_the_words_of_the_page_are_kept_for_the_local_page(run, salience):
    assert salience("report", run).code == 0
    kept = read_kept_words(run)
    page = (run / "report.html").read_text(encoding="utf-8")
    shown = page[page.index('<section id="words">') :]
    assert f"{kept.explained} rows were explained" in shown and kept.explainer in shown
    assert kept.words and set(kept.words) <= set(package.load(run, device="cpu").labels)
    for label, words in kept.words.items():
        (part,) = re.findall(rf"<h3>{label}</h3>\s*<ul>(.*?)</ul>", shown, re.DOTALL)
        assert re.findall(r"<li dir=.auto.>(\S+) <small>", part) == [each.word for each in words]


def test_test_rows_that_are_training_rows_are_not_called_new(place, tmp_path):
    rows = labelled_rows(60)
    test = write_csv(tmp_path / "test.csv", [*rows[:7], *labelled_rows(5, seed=1)])
    assert main(place.train("--estimate", "none", "--test", test, "--output", tmp_path / "run")) == 0
    known = {text for text, _ in rows}
    shared = sum(text in known for text, _ in [*rows[:7], *labelled_rows(5, seed=1)])
    expected = f"Scores are too high: {shared} of the 12 test rows are in the training rows too."
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert expected in page and "no part in the training" not in page
    assert expected in " ".join((tmp_path / "run" / "README.md").read_text(encoding="utf-8").split())


def test_test_rows_that_are_new_had_no_part_in_the_training(runs):
    folder = runs("test")
    assert json.loads((folder / "data_facts.json").read_text())["parts"]["test"]["in_training"] == 0
    assert "that had no part in the training" in (folder / "report.html").read_text(encoding="utf-8")
    assert "Scores are too high" not in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "part"), [
    ("test", "test"), pytest.param("calibrated", "test", marks=pytest.mark.whole), ("validation", "validation"),
])  # fmt: skip
def test_the_intervals_of_the_page_are_those_of_the_metrics_and_of_the_card(kind, part, runs):
    probabilities, labels, _ = stored(runs(kind))
    scores, right = metrics_of(runs(kind))[part], int((probabilities.argmax(1) == labels).sum())
    # Wilson's interval, by scipy
    wilson = binomtest(right, len(labels)).proportion_ci(0.95, "wilson")
    assert scores["accuracy_interval"] == pytest.approx([wilson.low, wilson.high])
    page, card = page_of(runs(kind)), " ".join((runs(kind) / "README.md").read_text(encoding="utf-8").split())
    cells = page.rows_of("this model")[0]
    for cell, title, name in zip(cells, ("accuracy", "macro-F1"), ("accuracy", "macro_f1"), strict=False):
        low, high = scores[f"{name}_interval"]
        assert low <= scores[name] <= high
        assert cell == f"{scores[name]:.3f}{low:.3f} to {high:.3f}"
        assert f"{title} {scores[name]:.3f} [{low:.3f}, {high:.3f}]" in card
    assert "no confidence interval" not in card
