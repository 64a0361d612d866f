"""A run knows which columns it was trained on: its commands take them again, and refuse pairs for single texts."""

import json

import pytest
import yaml
from test_bad_input import refused

import salience as package
from labelled import labelled_rows, write_csv
from salience.classify.predictor import Predictor
from salience.cli.main import main
from salience.data.columns import Columns
from salience.errors import InputError
from salience.runs.folder import trained_columns, trained_on_pairs
from salience.training.recipe import Recipe
from salience.training.run import train

ROWS = [(f"note {number}", text, label) for number, (text, label) in enumerate(labelled_rows(30))]
SINGLE = ("note", "body", "topic")
PAIRS = ("first", "second", "topic")
TAKEN = 'text column: "body" (as in training)'


def trained(place, folder, header, *options):
    data = write_csv(folder / "train.csv", ROWS, header)
    output = folder / "run"
    assert main(place.train(*options, "--label", "topic", "--method", "plain", "--output", output, data=data)) == 0
    return output


@pytest.fixture(scope="module")
def single(place, tmp_path_factory):
    return trained(place, tmp_path_factory.mktemp("single"), SINGLE, "--text", "body")


@pytest.fixture(scope="module")
def pairs(place, tmp_path_factory):
    return trained(place, tmp_path_factory.mktemp("pairs"), PAIRS, "--text", "first", "--text-pair", "second")


def test_predict_takes_the_columns_of_training(single, pairs, salience, tmp_path):
    for run, header, named in (
        (single, SINGLE, ["--text", "body"]),
        (pairs, PAIRS, ["--text", "first", "--text-pair", "second"]),
    ):
        data = write_csv(tmp_path / "new.csv", ROWS, header)
        found, expected = salience("predict", run, data), salience("predict", run, data, *named)
        assert found.code == 0, found.err
        assert found.out == expected.out
        assert "as in training" in found.err
        assert "as in training" not in expected.err


def test_explain_and_faithfulness_do_too(single, salience, tmp_path):
    data = write_csv(tmp_path / "new.csv", ROWS, SINGLE)
    answer = salience("explain", single, data, "--format", "jsonl")
    assert answer.code == 0, answer.err
    assert TAKEN in answer.err
    for line, (_, text, label) in zip(answer.out.splitlines(), ROWS, strict=True):
        assert (json.loads(line)["words"], json.loads(line)["label"]) == (text.split(), label)
    answer = salience("faithfulness", single, data, "--explainer", "gradient", "--most", "2", "--at", "1")
    assert answer.code == 0, answer.err
    assert TAKEN in answer.err
    assert 'label column: "topic" (as in training)' in answer.err


def test_single_texts_are_refused_by_a_model_of_pairs(pairs, salience, tmp_path):
    data = write_csv(tmp_path / "new.csv", [("a cup", "sport")], ("text", "topic"))
    for command, text in (("predict", "--text"), ("explain", "--text-column"), ("faithfulness", "--text")):
        refused(
            salience(command, pairs, data), f"{data}: the model was trained on pairs of texts; name both with {text}"
        )
    refused(salience("explain", pairs, "--text", "a cup"), "was trained on pairs of texts: give them in a file")


def test_pairs_are_refused_by_a_model_of_single_texts(single, salience, tmp_path):
    data = write_csv(tmp_path / "new.csv", [("a cup", "a song", "sport")], ("premise", "hypothesis", "topic"))
    for command in ("predict", "explain", "faithfulness"):
        refused(salience(command, single, data), "the model was trained on single texts, not on pairs; name one with")
    assert salience("predict", single, data, "--text", "premise").code == 0


def classify(model, texts):
    return package.load(model, device="cpu").predict(texts)


def predictor(model, texts):
    parts = [texts] if isinstance(texts[0], str) else zip(*texts, strict=True)
    columns = dict(zip(("text", "pair"), parts, strict=False))
    named = dict(zip(("text", "text_pair"), columns, strict=False))
    return Predictor(model, **named, device="cpu")(columns)["predicted"]


def explain(model, texts):
    return package.explain(package.load(model, device="cpu"), texts)


def evaluate(model, texts):
    return package.evaluate(package.load(model, device="cpu"), texts, metrics=["comprehensiveness"])


def suggest(model, texts):
    return package.suggest(package.load(model, device="cpu"), texts, 1)


def estimate(model, texts):
    return package.SalienceClassifier.load(model).predict(texts)


DOORS = [classify, predictor, explain, evaluate, suggest, estimate]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_what_the_model_was_trained_on(door, single, pairs):
    """Pairs for a model of single texts, and the reverse, are refused; half of a character is replaced."""
    of_texts, of_pairs = ["a cup \ud83d", "a song"], [("a cup \ud83d", "b"), ("a song", "a \ud83d")]
    assert door(single, of_texts) is not None and door(pairs, of_pairs) is not None
    for model, texts, trained in ((single, of_pairs, "single texts"), (pairs, of_texts, "pairs of texts")):
        with pytest.raises(InputError, match=f"the model was trained on {trained}"):
            door(model, texts)


@pytest.mark.whole
def test_an_export_takes_what_its_run_was_trained_on(single, pairs, tmp_path):
    pytest.importorskip("onnxruntime")
    of_texts, of_pairs = ["a cup \ud83d"], [("a cup \ud83d", "b")]
    for run, texts, others in ((single, of_texts, of_pairs), (pairs, of_pairs, of_texts)):
        export = tmp_path / run.parent.name
        assert main(["export", str(run), "--output", str(export)]) == 0
        (export / "recipe.yaml").unlink()  # as of an estimator that was saved
        loaded = package.load(export)
        assert loaded.predict(texts) == classify(run, texts)
        with pytest.raises(InputError, match="the model was trained on"):
            loaded.predict(others)


def test_a_run_that_was_just_made_takes_what_it_was_trained_on(place, tmp_path):
    data = write_csv(tmp_path / "train.csv", ROWS, SINGLE)
    recipe = Recipe(str(data), text="body", label="topic", model=str(place.model), steps=1, estimate="none")
    run = train(recipe, tmp_path / "run", note=lambda line: None)
    with pytest.raises(InputError, match="the model was trained on single texts, and these are pairs of texts"):
        run.classifier.predict([("a", "b")])


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("salience.json", {"pairs": True}, True), ("salience.json", {"pairs": None}, None),
        ("export.json", {"reads": {"pairs": False}}, False), ("export.json", {"reads": None}, None),
        ("export.json", [], None),
    ],
)  # fmt: skip
def test_what_a_saved_estimator_and_an_export_say(file, content, expected, tmp_path):
    (tmp_path / file).write_text(json.dumps(content))
    assert trained_on_pairs(tmp_path) is expected


def test_models_that_are_no_run_take_either(place, salience, tmp_path):
    assert trained_columns(place.model) is None
    for header in (("text", "label"), ("premise", "hypothesis")):
        assert salience("predict", place.model, write_csv(tmp_path / "a.csv", [("a", "b")], header)).code == 0


@pytest.mark.parametrize(
    "recipe",
    ["", "text: [1", "- text", "text: body", "{text: null, text_pair: null, label: y}",
     "{text: t, text_pair: 3, label: y}",
     "!!python/object/apply:os.getcwd []", b"\xff\xfe\x00"],
)  # fmt: skip
def test_a_recipe_that_does_not_say_is_as_none(recipe, tmp_path):
    (tmp_path / "recipe.yaml").write_bytes(recipe if isinstance(recipe, bytes) else recipe.encode())
    assert trained_columns(tmp_path) is None


def test_a_recipe_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    with pytest.raises(PermissionError):
        trained_columns(tmp_path)


def test_what_a_recipe_says(tmp_path):
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({"text": "a", "text_pair": None, "label": "c", "seed": 0}))
    assert trained_columns(str(tmp_path)) == Columns("a", None, "c")
