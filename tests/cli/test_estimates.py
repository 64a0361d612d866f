"""`salience train --estimate` and `--group`, as a user meets them."""

import json

import pytest
import yaml

from labelled import labelled_rows, write_csv


@pytest.fixture
def authors(tmp_path):
    """60 rows of 12 authors."""
    rows = [(*row, f"author {number % 12}") for number, row in enumerate(labelled_rows(60))]
    return write_csv(tmp_path / "authors.csv", rows, ("text", "label", "author"))


def estimated(folder) -> tuple[dict, list[dict]]:
    lines = (folder / "out_of_fold.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads((folder / "metrics.json").read_text()), [json.loads(line) for line in lines]


def test_a_run_of_all_rows_is_estimated_and_says_so(place, salience, tmp_path):
    command = place.train("--set", "calibrate=false", "--output", tmp_path / "run")
    at = command.index("--estimate")
    answer = salience(*command[:at], *command[at + 2 :])  # as a user leaves it open
    assert answer.code == 0, answer.err
    metrics, lines = estimated(tmp_path / "run")
    found = metrics["estimate"]
    (low, high), (least, most) = found["accuracy_interval"], found["macro_f1_interval"]
    scores = (
        f"stimated on 60 labelled rows by 2-fold cross-validation: accuracy {found['accuracy']:.3f} "
        f"[{low:.3f}, {high:.3f}], macro-F1 {found['macro_f1']:.3f} [{least:.3f}, {most:.3f}] (95 % intervals over "
        "rows)"
    )
    rows = "he models of the estimate were trained on 30 rows; the saved model was trained on 60 and is likely better"
    printed = answer.out.splitlines()
    assert printed[printed.index(f"e{scores}") + 1] == f"  t{rows}"
    assert f"\nE{scores}. T{rows}.\n" in (tmp_path / "run" / "README.md").read_text()
    assert len(lines) == 60 and metrics["rows"] == {"training": 60}
    assert "2-fold cross-validation: model 1 of 2 is trained on 30 rows and predicts 30" in answer.out


def test_a_run_with_test_rows_has_both_on_request(place, salience, tmp_path):
    options = ["--test", place.test, "--estimate", "holdout", "--output", tmp_path / "run"]
    assert salience(*place.train(*options)).code == 0
    card = (tmp_path / "run" / "README.md").read_text()
    assert "by one held-out part: accuracy" in card and "| this model |" in card
    metrics, _ = estimated(tmp_path / "run")
    # Four fifths of the 60 labelled rows; the model is trained on all.
    assert metrics["estimate"]["training_rows"] == [48] and metrics["rows"]["training"] == 60
    assert "likely better" in card


def test_a_model_with_validation_rows_has_seen_as_many_as_that_of_a_holdout(place, salience, tmp_path):
    options = ["--set", "validation_share=0.2", "--estimate", "holdout", "--output", tmp_path / "run"]
    assert salience(*place.train(*options)).code == 0
    metrics, _ = estimated(tmp_path / "run")
    assert metrics["estimate"]["training_rows"] == [48] and metrics["rows"]["training"] == 48
    assert "likely better" not in (tmp_path / "run" / "README.md").read_text()


def test_groups_are_not_divided(authors, place, salience, tmp_path):
    """Test files need no column of groups."""
    options = ["--group", "author", "--estimate", "folds:3", "--test", place.test]
    answer = salience(*place.train(*options, "--output", tmp_path / "run", data=authors))
    assert answer.code == 0, answer.err
    metrics, lines = estimated(tmp_path / "run")
    folds = {}
    for line in lines:
        folds.setdefault((line["row"] - 1) % 12, set()).add(line["fold"])
    assert len(folds) == 12 and all(len(found) == 1 for found in folds.values())
    assert {line["fold"] for line in lines} == {1, 2, 3} and metrics["estimate"]["groups"] == 12
    assert (
        "on 60 labelled rows of 12 groups by 3-fold cross-validation" in answer.out
        and "intervals over groups" in answer.out
    )
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["group"] == "author"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", "autor", "--estimate", "folds:2"], 'no column "autor" (--group); the columns are "text", '
         '"label", "author". Did you mean "author"?'),
        (["--group", "label", "--label", "label", "--estimate", "folds:2"], "--group and --label must each name"),
        (["--group", "author", "--estimate", "none"],
         '--group "author" has no effect without an estimate: add --estimate folds:2'),
        (["--estimate", "folds:20"], ""),
        (["--estimate", "folds:21"], "--estimate is 'folds:21': give none, holdout, or folds:K"),
        (["--estimate", "folds:20", "--group", "author"], "into 20 parts, but the rows have only 12 groups"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_trained(options, message, authors, place, salience, tmp_path):
    if not message:  # 60 rows can be divided into 20 parts; that would take a while
        options, message = [*options, "--set", "size=9"], "into 20 parts, but no class has more than 3 rows"
    answer = salience(*place.train(*options, "--output", tmp_path / "run", data=authors))
    assert answer.code == 2 and message in answer.err and len(answer.err.strip().splitlines()) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"authors.csv"}


def test_a_row_without_a_group(place, salience, tmp_path):
    rows = [(*row, "a" if number else "") for number, row in enumerate(labelled_rows(12))]
    file = write_csv(tmp_path / "rows.csv", rows, ("text", "label", "author"))
    answer = salience(*place.train("--group", "author", "--estimate", "holdout", data=file))
    assert answer.code == 2 and '1 row of 12 with an empty or missing value: 1 in "author" (row 1)' in answer.err


@pytest.mark.parametrize("setting", ["estimate: folds:2", "group: text", "calibrate: true"])
def test_a_comparison_makes_no_estimate(setting, place, salience, tmp_path):
    (tmp_path / "config.yaml").write_text(f"{setting}\n")
    (tmp_path / "variants.yaml").write_text(f"one: {{}}\ntwo: {{{setting}}}\n")
    usual = ["compare", place.data, "--test", place.test, "--model", place.model, "--output", tmp_path / "out"]
    for options in (["--config", tmp_path / "config.yaml"], ["--variants", tmp_path / "variants.yaml"]):
        answer = salience(*usual, *options)
        assert answer.code == 2 and "has no effect in a comparison" in answer.err
        assert setting.partition(":")[0] in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.whole
def test_the_runs_of_a_comparison_have_none_whatever_the_usual_estimate_is(place, salience, tmp_path, monkeypatch):
    monkeypatch.setattr("salience.training.estimate.usual_estimate", lambda task: "holdout")
    (tmp_path / "config.yaml").write_text("estimate: none\n")
    answer = salience("compare", place.data, "--test", place.test, "--model", place.model, "--steps", "2", "--seeds",
                      "0,1", "--methods", "plain,embedmix", "--references", "none", "--device", "cpu", "--config",
                      tmp_path / "config.yaml", "--output", tmp_path / "out")  # fmt: skip
    assert answer.code == 0, answer.err
    run = tmp_path / "out" / "plain-0"
    assert "estimate" not in json.loads((run / "metrics.json").read_text())
    assert yaml.safe_load((run / "recipe.yaml").read_text())["estimate"] is None  # as in runs of earlier versions
