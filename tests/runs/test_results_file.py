"""What a run found: the rows that it is judged on, the points of its curves, and its files."""

import json
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, distribution, version
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from salience.data.texts import Texts
from salience.errors import InputError
from salience.runs.folder import CORRECTED, FACTS, HISTORY, METRICS, OUT_OF_FOLD, PREDICTIONS, PROBABILITIES, RECIPE
from salience.runs.results import about, history_of, read_predictions, read_rows, read_run, write_results
from salience.runs.sentences import baseline_ahead, estimate_sentences, judge_of, judged_scores
from salience.scores.predictions import Predictions

BASELINES = {"majority class": {"accuracy": 0.4}}
ESTIMATE = {
    "kind": "folds:2", "rows": 1200, "accuracy": 0.8, "calibration_error": 0.2, "baselines": BASELINES,
    "calibrated": True, "temperature_scaling": {"calibration_error_scaled": 0.05},
}  # fmt: skip


def test_test_rows_come_first():
    scores = {"accuracy": 0.9, "calibration_error": 0.1}
    of_run = {"rows": {"training": 50, "test": 4000}, "test": scores, "judged_on": "test", "baselines": BASELINES}
    assert judged_scores(of_run | {"estimate": ESTIMATE}) == ("4,000 test rows", {"this model": scores} | BASELINES)


def test_validation_rows_have_chosen_the_checkpoint():
    of_run = {"rows": {"validation": 10}, "validation": {}, "judged_on": "validation", "baselines": BASELINES}
    rows, models = judged_scores(of_run)
    assert (
        rows == "10 validation rows, which chose the checkpoint: scores too high"
        and next(iter(models)) == "this model"
    )


@pytest.mark.parametrize(
    ("changed", "error"),
    [({}, 0.05), ({"calibrated": False}, 0.2), ({"temperature_scaling": {"calibration_error_scaled": None}}, 0.2)],
)
def test_an_estimate_is_of_other_models_and_scaled_as_the_model_is(changed, error):
    rows, models = judged_scores({"rows": {"training": 1200}, "estimate": ESTIMATE | changed})
    assert rows == "estimate by 2-fold cross-validation: 1,200 labelled rows, each new to its model"
    assert models == {"models like this one": ESTIMATE | changed | {"calibration_error": error}} | BASELINES


def test_what_fine_tuning_and_calibration_did_not_do_is_told():
    def lines(gain: float, temperature: float) -> str:
        scores = {"accuracy": 0.8 + gain, "macro_f1": 0.8, "accuracy_interval": [0, 1], "macro_f1_interval": [0, 1]}
        scaling = {"temperature": temperature, "calibration_error": 0.2, "calibration_error_scaled": 0.1}
        estimate = ESTIMATE | scores | {"training_rows": [600], "head_alone": {"accuracy": 0.8, "macro_f1": 0.8}}
        return "\n".join(estimate_sentences({
            "rows": {"training": 1200}, "estimate": estimate | {"temperature_scaling": scaling},
        }))  # fmt: skip

    for gain, enough in ((0.02, False), (0.0, True), (-0.05, True)):
        assert ("--trained-layers 0 trains it alone" in lines(gain, 0.9)) == enough
    for temperature, failed in ((0.05, True), (0.051, False), (19, False), (20.000000000000004, True)):
        assert ("calibration failed" in lines(0.02, temperature)) == failed
        assert ("calibrated, temperature" in lines(0.02, temperature)) != failed


def test_a_baseline_that_is_ahead_is_named():
    own = {"accuracy": 0.6, "macro_f1": 0.5}
    models = {"this model": own, "majority class": {"accuracy": 0.4}, "TF-IDF": {"accuracy": 0.74}}
    higher = "The baseline TF-IDF scores higher (accuracy 0.740, model 0.600). "
    assert baseline_ahead(models).startswith(f"{higher}Try more rows")
    assert baseline_ahead(models, True).startswith(f"{higher}Try fine-tuning (no --trained-layers 0), more rows")
    assert baseline_ahead(models | {"TF-IDF": {"accuracy": 0.6}}) == ""


def test_of_several_labels_the_rankings_are_compared():
    """The decisions by thresholds are those of the same model, and have the same rankings."""
    own = {"subset_accuracy": 0.1, "ranking_precision": 0.6}
    models = {
        "this model": own, "this model, thresholds of the labels": own | {"ranking_precision": 0.9},
        "shares": {"ranking_precision": 0.5}, "TF-IDF": {"ranking_precision": 0.7},
    }  # fmt: skip
    assert "TF-IDF scores higher (ranking precision 0.700, model 0.600)" in baseline_ahead(models)
    assert baseline_ahead(models | {"TF-IDF": own}) == ""


def test_nothing_is_measured():
    assert judged_scores({"rows": {"training": 3}}) is None


def test_an_estimate_comes_before_validation_rows_which_have_chosen_something():
    of_run = {"rows": {"validation": 10}, "validation": {}, "judged_on": "validation", "baselines": BASELINES}
    assert judge_of(of_run) == "validation" and judge_of(of_run | {"estimate": ESTIMATE}) == "estimate"
    assert judged_scores(of_run | {"estimate": ESTIMATE})[0].startswith("estimate by 2-fold cross-validation: ")
    assert judge_of(of_run | {"judged_on": "test", "estimate": ESTIMATE}) == "test"
    assert judge_of({"rows": {"training": 50}}) is None


def test_what_is_measured_at_one_step_is_one_point():
    logs = [
        {"loss": 0.7, "learning_rate": 1e-4, "epoch": 0.5, "step": 2},
        {"eval_accuracy": 0.5, "eval_macro_f1": 0.4, "eval_log_loss": 0.9, "eval_runtime": 3.1, "step": 2},
        {"loss": nan, "step": 4},
        {"eval_log_loss": inf, "step": 5},
        {"train_runtime": 8.0, "train_loss": 0.6, "step": 5},
    ]
    scores = {"validation_accuracy": 0.5, "validation_macro_f1": 0.4, "validation_log_loss": 0.9}
    assert history_of(logs) == [
        {"step": 2, "loss": 0.7} | scores,
        {"step": 4, "loss": None},
        {"step": 5, "validation_log_loss": None},
    ]
    assert history_of([]) == []


NAMES = ["joy", "fear"]
TEXTS = Texts(["so\u2028fun", "b", "c"], ["1", "2", "3"], rows=[3, 4, 9])
ONE = Predictions(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]], np.float32), np.array([0, 1, 1]))
SEVERAL = Predictions(
    ONE.probabilities, np.array([[1, 0], [0, 0], [1, 1]]), ONE.probabilities >= 0.5,
    np.array([7, 7, 8]), np.array([1, 2, 1]),
)  # fmt: skip
MEASURED = {"rows": {"training": 5, "test": 3}, "judged_on": "test", "test": {"accuracy": 1}, "baselines": {}}


def write_run(folder):
    """A run with test rows, each of which has one label; and the rows of an estimate, in another form."""
    metrics = MEASURED | about("cpu", 1) | {"abstention": {"target_precision": 0.9, "certainty": 0.95,
                                                          "thresholds": {"joy": 0, "fear": 1}}}  # fmt: skip
    write_results(folder, {"seed": 3}, metrics, NAMES, (TEXTS, ONE), (TEXTS, SEVERAL))
    (folder / FACTS).write_text(json.dumps({"parts": {"training": {"classes": {"joy": 2, "fear": 3}}}}))
    (folder / HISTORY).write_text('[{"step": 1}]')
    return folder


def test_versions_are_known_where_salience_is_not_installed(tmp_path, monkeypatch):
    """Its sources on the path, as in an archive that is sent to a cluster, have no metadata."""
    for name in ("torch", "transformers", "datasets", "tokenizers"):
        place = Path(distribution(name)._path)
        (tmp_path / place.name).symlink_to(place)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(PackageNotFoundError):
        version("salience")
    assert about("cpu", 1)["versions"].keys() == {
        "salience",
        "torch",
        "transformers",
        "datasets",
        "tokenizers",
        "python",
    }


def test_what_is_written_is_read(tmp_path):
    folder = write_run(tmp_path / "run")
    run = read_run(folder)
    assert (run.recipe, run.labels, run.judge, run.judged_file) == ({"seed": 3}, NAMES, "test", PREDICTIONS)
    assert run.metrics["machine"]["threads"] == 1 and "torch" in run.metrics["versions"] and run.history
    assert np.array_equal(run.predictions.probabilities, ONE.probabilities) and run.predictions.decided is None
    assert run.predictions.decisions.tolist() == [[True, False], [True, False], [False, True]]
    names, found = read_predictions(folder, OUT_OF_FOLD, with_rows=True)
    assert names == NAMES and found.rows.tolist() == TEXTS.rows and len(found) == 3
    for name in ("probabilities", "labels", "decided", "groups", "folds"):
        assert np.array_equal(getattr(found, name), getattr(SEVERAL, name))
    (last, first) = read_rows(folder, [2, 0], OUT_OF_FOLD[0])
    assert (last["label"], last["predicted"], last["fold"], last["group"]) == (NAMES, ["fear"], 1, 8)
    assert (first["row"], first["text"], first["text_pair"]) == (3, "so\u2028fun", "1")
    assert read_rows(folder, [1])[0] | {"text": ""} == {
        "row": 4, "text": "", "text_pair": "2", "label": "fear", "predicted": "joy", "probabilities": [0.5, 0.5],
    }  # fmt: skip
    with pytest.raises(InputError, match=PREDICTIONS):
        read_rows(folder, [3])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (METRICS, "{"), (METRICS, "[]"), (METRICS, json.dumps(MEASURED | {"rows": {"test": 4}})),
        (METRICS, json.dumps(MEASURED | {"test": None})), (RECIPE, "[1]"), (PROBABILITIES, "PK"), (FACTS, "{}"),
        (FACTS, "[]"), (HISTORY, "null"), (HISTORY, "[1]"), (HISTORY, "[" * 100_000), (CORRECTED, "{}"),
        (CORRECTED, "["),
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_run_is_one_line(name, content, tmp_path):
    folder = write_run(tmp_path / "run")
    (folder / name).write_text(content)
    with pytest.raises(InputError, match="damaged") as error:
        read_run(folder)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600
    (folder / name).unlink()
    with pytest.raises(InputError) if name in (METRICS, RECIPE, PROBABILITIES) else nullcontext():
        read_run(folder)


def test_arrays_that_do_not_fit_are_no_predictions():
    probabilities, labels, three = ONE.probabilities, ONE.labels, np.arange(3)
    for arrays in (
        (probabilities[0], labels), (probabilities.astype(int), labels), (probabilities, labels[:2]),
        (probabilities, labels / 2), (probabilities, labels + 1), (probabilities, labels - 2),
        (probabilities, labels, probabilities[:2] > 0), (probabilities, labels, None, three[:2]),
        (probabilities, labels, None, three, three[:, None]), (probabilities, labels, None, None, None, three[:1]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"label|probabilities|decision|one for each row"):
            Predictions(*arrays)
