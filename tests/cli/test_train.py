"""`salience train`: what it prints, what it leaves behind, and that a recipe repeats a run to the last bit."""

import hashlib
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pytest
import yaml
from transformers import pipeline

import families
import salience as package
from labelled import labelled_rows, write_csv
from salience.cli.main import main
from salience.cli.train import seconds_of

FILES = {"README.md", "config.json", "metrics.json", "model.safetensors", "predictions.jsonl", "recipe.yaml",
         "tokenizer.json", "tokenizer_config.json"}  # fmt: skip


def weights(folder) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def run(place):
    """A run, and all that was printed."""
    folder, out, err = place.folder / "printed", StringIO(), StringIO()
    options = ["--test", place.test, "--method", "ssmix", "--set", "validation_share=0.2", "--steps", "60",
               "--learning-rate", "0.01", "--output", folder]  # fmt: skip
    with redirect_stdout(out), redirect_stderr(err):
        assert main(place.train(*options)) == 0
    return folder, SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue())


def test_it_says_what_it_guessed_and_what_it_found(run):
    folder, done = run
    for line in (
        'text column: "text" (guessed)',
        'label column: "label" (guessed)',
        "validation: 12 of the 60 rows are held out (stratified)",
        "recipe: ssmix on",
        "step 20 of 60: validation accuracy",
        "30 test rows",
        "majority class",
        "TF-IDF + logistic regression",
        f"saved: {folder}",
    ):
        assert line in done.stdout
    assert done.stderr == ""


def test_three_test_texts_are_shown_with_their_decisive_words(run):
    _, done = run
    shown = [
        line for line in done.stdout.splitlines() if line.startswith("  ") and ("right" in line or "wrong" in line)
    ]
    assert len(shown) == 3
    assert all(line.count("*") >= 2 for line in shown)


def test_the_folder_is_whole_and_nothing_else_is_left(run, place):
    folder, _ = run
    assert {file.name for file in folder.iterdir()} >= FILES
    assert not list(place.folder.glob(".run*"))


@pytest.mark.whole
def test_the_checkpoint_loads_without_salience(run, place):
    """In a process that cannot import it."""
    folder, _ = run
    script = (
        "import sys; sys.modules['salience'] = None\n"
        "from transformers import pipeline, AutoModelForSequenceClassification\n"
        f"classify = pipeline('text-classification', model={str(folder)!r})\n"
        "print(classify('a very new soup oven')[0]['label'])\n"
        f"print(AutoModelForSequenceClassification.from_pretrained({str(folder)!r}).config.label2id)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    label, numbers = done.stdout.splitlines()[-2:]
    assert label in ("food", "music", "sport")
    assert numbers == "{'food': 0, 'music': 1, 'sport': 2}"


def test_metrics_are_those_of_the_predictions(run):
    folder, _ = run
    metrics = json.loads((folder / "metrics.json").read_text())
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [row["row"] for row in rows] == list(range(1, 31))
    assert [(row["text"], row["label"]) for row in rows] == labelled_rows(30, seed=1)
    right = [row["label"] == row["predicted"] for row in rows]
    assert metrics["test"]["accuracy"] == pytest.approx(sum(right) / 30)
    assert metrics["baselines"]["majority class"]["accuracy"] == pytest.approx(1 / 3)
    assert metrics["rows"] == {"training": 48, "validation": 12, "test": 30}
    assert all(abs(sum(row["probabilities"]) - 1) < 1e-4 for row in rows)


def test_no_path_of_this_machine_is_published(run, place):
    folder, _ = run
    for name in ("README.md", "config.json", "tokenizer_config.json"):
        assert str(place.folder) not in (folder / name).read_text()


@pytest.mark.whole
def test_the_recipe_repeats_the_run_exactly(run, place, salience):
    folder, _ = run
    again = place.folder / "again"
    assert salience("train", "--config", folder / "recipe.yaml", "--output", again).code == 0
    assert weights(again) == weights(folder)
    assert yaml.safe_load((again / "recipe.yaml").read_text()) == yaml.safe_load((folder / "recipe.yaml").read_text())


@pytest.mark.whole
def test_another_seed_is_another_run(run, place, salience):
    folder, _ = run
    other = place.folder / "other"
    assert salience("train", "--config", folder / "recipe.yaml", "--output", other, "--seed", "1").code == 0
    assert weights(other) != weights(folder)


@pytest.mark.whole
@pytest.mark.parametrize("method", ["embedmix", "tmix", "plain"])
def test_every_method_trains(method, place, salience, tmp_path):
    assert salience(*place.train("--method", method, "--output", tmp_path / "run")).code == 0
    assert (tmp_path / "run" / "model.safetensors").is_file()


def test_options_of_a_method_reach_it(place, salience, tmp_path):
    found = {}
    for window in ("0.1", "0.9"):
        folder = tmp_path / window
        assert salience(*place.train("--method", f"ssmix:window={window}", "--output", folder)).code == 0
        found[window] = weights(folder)
        assert yaml.safe_load((folder / "recipe.yaml").read_text())["method_options"] == {"window": float(window)}
    assert found["0.1"] != found["0.9"]


def test_pairs_of_texts_train(place, salience, tmp_path):
    rows = [
        (text, other, label) for (text, label), (other, _) in zip(labelled_rows(60), labelled_rows(60, 5), strict=True)
    ]
    data = write_csv(tmp_path / "pairs.csv", rows, ("premise", "hypothesis", "label"))
    done = salience(*place.train("--output", tmp_path / "run", "--test", data, data=data))
    assert done.code == 0, done.err
    assert 'second text column: "hypothesis" (guessed)' in done.out
    assert "text_pair" in json.loads((tmp_path / "run" / "predictions.jsonl").read_text().splitlines()[0])


def test_class_weights_and_label_smoothing_change_the_training(place, salience, tmp_path):
    found = set()
    for number, options in enumerate([[], ["--class-weights", "sport=5,food=1"], ["--set", "label_smoothing=0.3"]]):
        folder = tmp_path / str(number)
        assert salience(*place.train(*options, "--output", folder)).code == 0
        found.add(weights(folder))
    assert len(found) == 3


@pytest.mark.whole
def test_class_weights_in_a_yaml_file_are_names_and_weights(run, place, salience, tmp_path):
    recipe = yaml.safe_load((run[0] / "recipe.yaml").read_text())
    config = tmp_path / "weighted.yaml"
    config.write_text(yaml.safe_dump(recipe | {"class_weights": {"sport": 5, "food": 1}}))
    options = ["--class-weights", "sport=5,food=1"]
    assert salience("train", "--config", config, "--output", tmp_path / "one").code == 0
    assert salience("train", "--config", run[0] / "recipe.yaml", *options, "--output", tmp_path / "two").code == 0
    assert weights(tmp_path / "one") == weights(tmp_path / "two") != weights(run[0])
    written = yaml.safe_load((tmp_path / "one" / "recipe.yaml").read_text())
    assert written["class_weights"] == {"sport": 5, "food": 1}


def test_without_validation_it_trains_to_the_end(place, salience, tmp_path):
    done = salience(*place.train("--estimate", "folds:2", "--set", "validation_share=0", "--output", tmp_path / "run"))
    assert done.code == 0, done.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["rows"] == {"training": 60}
    assert metrics["steps"] == 6
    assert "No rows were held out" not in (tmp_path / "run" / "README.md").read_text()


def test_without_rows_and_estimate_nothing_is_measured(place, salience, tmp_path):
    options = ["--set", "validation_share=0", "--estimate", "none", "--output", tmp_path / "run"]
    assert salience(*place.train(*options)).code == 0
    assert "No rows were held out, so nothing was measured." in (tmp_path / "run" / "README.md").read_text()


def test_an_older_run_is_replaced_when_asked(place, salience, tmp_path):
    folder = tmp_path / "run"
    assert salience(*place.train("--output", folder)).code == 0
    first = weights(folder)
    assert salience(*place.train("--output", folder, "--seed", "7", "--overwrite")).code == 0
    assert weights(folder) != first
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(("options", "name"), [([], "train-default"), (["--method", "ssmix"], "train-ssmix")])
def test_the_folder_without_output_is_named_by_the_data_and_the_method(
    options, name, place, salience, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    arguments = place.train("--estimate", "none", *options)
    done = salience(*arguments)
    assert done.code == 0 and f"\nsaved: runs/{name}\n" in done.out  # as a person would write it
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [name]
    again = salience(*arguments, "--resume")
    assert f"runs/{name}" in again.out + again.err
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [name]


def test_the_help_names_the_folder_without_output(salience):
    assert "runs/DATA-METHOD" in " ".join(salience("train", "--help").out.split())


@pytest.mark.parametrize("limit", ["soon", "-5", "0s", "nan", "m"])
def test_a_limit_that_is_no_time_is_one_line(place, limit, capsys):
    assert main(place.train(f"--time-limit={limit}", "--output", place.folder / "none")) == 2
    assert capsys.readouterr().err == f'salience: --time-limit "{limit}" is no time: give seconds, or 90s, 10m, 2h\n'


@pytest.mark.parametrize(("limit", "seconds"), [("45", 45), ("90s", 90), ("2m", 120), ("1.5h", 5400)])
def test_limits_of_time(limit, seconds):
    assert seconds_of(limit) == seconds


@pytest.mark.whole
@pytest.mark.parametrize(("of_tokenizer", "of_config"), [(None, None), ("<fill>", None), (None, "<end>")])
def test_a_decoder_is_trained_whoever_names_its_padding(of_tokenizer, of_config, tmp_path):
    """With the default estimate; the pipeline gives the labels of the run."""
    rows = labelled_rows(40)
    texts = [text for text, _ in rows]
    data, tiny = write_csv(tmp_path / "train.csv", rows), tmp_path / "tiny"
    families.save_tiny_decoder(tiny, texts, "GPT2", of_tokenizer, of_config, classes=3)
    options = ["train", data, "--model", tiny, "--steps", "4", "--device", "cpu", "--output", tmp_path / "run"]
    assert main([str(option) for option in options]) == 0
    classify = pipeline("text-classification", model=str(tmp_path / "run"), truncation=True)
    found = [answer["label"] for answer in classify(texts, batch_size=8)]
    assert found == package.load(tmp_path / "run", device="cpu").predict(texts)
