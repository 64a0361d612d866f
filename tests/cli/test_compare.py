"""`salience compare`: runs over seeds, kept and taken up again, and differences counted again by hand."""

import json
import shutil

import numpy as np
import pytest
from scipy.stats import t

from labelled import labelled_rows, write_csv
from salience.comparison.results import comparison_of

SEEDS = (0, 1)


@pytest.fixture
def compare(place, salience, tmp_path):
    def run(*options, test=True):
        return salience("compare", place.data, *(["--test", place.test] if test else []), "--model", place.model,
                        "--steps", "4", "--device", "cpu", "--output", tmp_path / "out", *options)  # fmt: skip

    return run


def test_methods_are_compared_over_seeds(compare, tmp_path):
    answer = compare("--methods", "plain,embedmix,ssmix", "--seeds", "0,1")
    assert answer.code == 0, answer.err
    out = tmp_path / "out"
    right = {}
    for method in ("plain", "embedmix", "ssmix"):
        for seed in SEEDS:
            folder = out / f"{method}-{seed}"
            assert {path.name for path in folder.iterdir()} == {
                "metrics.json",
                "predictions.jsonl",
                "recipe.yaml",
                "manifest.json",
            }
            rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
            right[method, seed] = np.array([row["label"] == row["predicted"] for row in rows])
            assert f"{method}, seed {seed}: accuracy {right[method, seed].mean():.3f}" in answer.out
    found = json.loads((out / "comparison.json").read_text())
    assert (found["seeds"], found["rows"]) == ([0, 1], 30)
    assert list(found["scores"]) == ["plain", "embedmix", "ssmix"]
    for method in ("embedmix", "ssmix"):
        apart = np.array([100 * (right[method, seed].mean() - right["plain", seed].mean()) for seed in SEEDS])
        half = t.ppf(1 - 0.025 / 2, 1) * apart.std(ddof=1) / 2**0.5  # two comparisons
        own = found["differences"][method]["accuracy"]
        assert own["mean"] == pytest.approx(apart.mean())
        if half:  # seeds that all differ by the same give no interval
            assert [own["low"], own["high"]] == pytest.approx([apart.mean() - half, apart.mean() + half])
            verdict = f"{method}: no difference to plain beyond chance"
        else:
            assert own["low"] is own["high"] is None
            verdict = f"{method}: the same difference to plain with every seed, so no interval can be computed"
        assert f"{own['mean']:+.2f}" in answer.out and verdict in answer.out


def test_rows_with_faults_are_left_out_when_asked(place, salience, tmp_path):
    data = tmp_path / "cp1252.csv"
    rows = [*labelled_rows(40), ("café", "sport"), ("", "sport")]
    data.write_bytes("".join(f"{text},{label}\n" for text, label in [("text", "label"), *rows]).encode("cp1252"))
    asked = ["compare", data, "--test", place.test, "--model", place.model, "--methods", "plain,wordmixup",
             "--seeds", "0,1", "--steps", "2", "--device", "cpu", "--output", tmp_path / "out",
             "--encoding", "cp1252"]  # fmt: skip
    answer = salience(*asked)
    assert answer.code == 2 and "--bad-rows skip" in answer.err
    answer = salience(*asked, "--bad-rows", "skip")
    assert answer.code == 0, answer.err
    assert "left out 1 row of 42" in answer.out


def test_runs_are_kept_and_one_that_is_gone_is_run_again(compare, tmp_path):
    first = compare("--seeds", "0,1")
    assert first.code == 0, first.err
    out = tmp_path / "out"
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    weights = (out / "comparison.json").read_text()
    shutil.rmtree(out / "ssmix-1")
    again = compare("--seeds", "0,1")
    assert again.code == 0, again.err
    assert (out / "comparison.json").read_text() == weights
    after = {path: path.stat().st_mtime_ns for path in out.glob("*/metrics.json")}
    assert {path.parent.name for path in after if after[path] != before[path]} == {"ssmix-1"}

    other = compare("--seeds", "0,1", "--steps", "5")
    assert other.code == 2
    assert "plain-0 was run with steps=4, not 5: choose another --output" in other.err


def test_a_model_that_was_there_before_is_not_touched(compare, place, salience, tmp_path):
    folder = tmp_path / "out" / "plain-0"
    trained = salience("train", place.data, "--test", place.test, "--method", "plain", "--model", place.model,
                       "--steps", "4", "--device", "cpu", "--output", folder)  # fmt: skip
    assert trained.code == 0, trained.err
    answer = compare("--seeds", "0,1")
    assert answer.code == 0, answer.err
    assert (folder / "model.safetensors").exists()


def test_texts_with_ends_of_lines_of_all_kinds(place, salience, tmp_path):
    rows = [(f"{text} \u2028 and \x85 \x1c on", label) for text, label in labelled_rows(12, seed=1)]
    test = write_csv(tmp_path / "test.csv", rows)
    answer = salience("compare", place.data, "--test", test, "--model", place.model, "--steps", "2", "--device", "cpu",
                      "--output", tmp_path / "out", "--seeds", "0,1")  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads((tmp_path / "out" / "comparison.json").read_text())["rows"] == 12


def test_an_interrupted_run_of_other_settings_is_named_too(compare, tmp_path):
    work = tmp_path / "out" / ".plain-0.partial"
    work.mkdir(parents=True)
    (work / "recipe.yaml").write_text("steps: 3\n")
    answer = compare("--seeds", "0,1")
    assert answer.code == 2 and "plain-0 was run with" in answer.err and "--output" in answer.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "0"], "at least two"),
        (["--seeds", "1,1"], "two different seeds"),
        (["--seeds", "a,b"], "--seeds 0,1,2"),
        (["--methods", "ssmix"], "at least two"),
        (["--methods", "plain,plain"], "two different methods"),
        (["--methods", "plain,smix"], "ssmix"),
    ],
)
def test_what_cannot_be_compared(compare, tmp_path, options, said):
    answer = compare(*options)
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_rows_that_chose_the_checkpoint_do_not_judge(compare, tmp_path):
    answer = compare(test=False)
    assert answer.code == 2 and "--test" in answer.err
    assert not (tmp_path / "out").exists()


def runs(right: dict[str, np.ndarray]) -> dict:
    """Results of two seeds each with the same rows right, but for a tenth of a point by which ssmix does better."""
    return {
        (method, seed): {
            "right": own,
            "metrics": {"test": dict.fromkeys(("macro_f1", "calibration_error", "log_loss"), 0.5)
                        | {"accuracy": own.mean() + 0.001 * seed * (method == "ssmix")}},
        }
        for method, own in right.items() for seed in SEEDS
    }  # fmt: skip


def test_a_gain_on_few_rows_is_not_believed():
    """Nearly the same at every seed: beyond chance on 1,000 rows, not on ten, for other ten might say otherwise."""
    for rows, verdict in ((10, "no difference to plain beyond chance"), (1000, "better than plain beyond chance")):
        right = {"plain": np.arange(rows) < rows // 2, "ssmix": np.arange(rows) < 0.6 * rows}
        found = comparison_of(runs(right), list(right), list(SEEDS))
        assert found.verdict("ssmix") == f"ssmix: {verdict}"
        assert found.by_rows["ssmix"] == pytest.approx(100 * 1.959964 * (0.1 * 0.9 / rows) ** 0.5, rel=1e-5)
    found = comparison_of(runs(right), ["ssmix", "plain"], list(SEEDS))
    assert found.verdict("plain") == "plain: worse than ssmix beyond chance"
