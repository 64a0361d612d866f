"""Attention classifiers as a user meets them: the command line, a recipe that repeats a run, and the estimator."""

import csv
import gc
import hashlib
import io
import json

import numpy as np
import pytest
import yaml
from sklearn.base import clone
from test_bad_input import refused

from labelled import labelled_rows, write_csv
from salience import SalienceClassifier
from salience.models.loading import load_trained
from salience.papers.attention_classifiers.classifier import AttentionClassifier
from salience.training.procedures import Turns

TEXTS, LABELS = zip(*labelled_rows(60), strict=True)


@pytest.fixture(scope="module", autouse=True)
def quick():
    """The Trainer collects garbage whenever it has trained; what was imported need not be looked through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def weights(folder) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def arguments(place, output, *options, model: str = "attention:dot", encoder: str | None = "embeddings") -> list[str]:
    """A run of a second."""
    named = [] if encoder is None else ["--set-model", f"encoder={encoder}"]
    return ["train", str(place.data), "--model", model, *named, "--steps", "5", "--set", "evaluations=2", "--device",
            "cpu", "--output", str(output), *map(str, options)]  # fmt: skip


@pytest.fixture(scope="module")
def run(place, tmp_path_factory):
    """`salience train ... --model attention:dot --set-model scale=10`, and what it printed."""
    from salience.cli.main import main

    folder = tmp_path_factory.mktemp("attention") / "run"
    options = ("--set-model", "scale=10", "--set-model", "width=8", "--test", place.test)
    assert main(arguments(place, folder, *options)) == 0
    return folder


# ------------------------------------------------------------------------------------------------------- command line


def test_a_run_leaves_an_attention_classifier(run):
    model, tokenizer = load_trained(run)
    assert isinstance(model, AttentionClassifier)
    config = model.config
    assert (config.encoder, config.pooling, config.scale, config.hidden_size) == ("embeddings", "dot", 10, 8)
    assert config.id2label == {0: "food", 1: "music", 2: "sport"}
    assert "goal" in tokenizer.get_vocab()
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["steps"] == 5 and "iterations" not in metrics
    assert not list(run.parent.glob(".run*"))


def test_the_vocabulary_is_that_of_the_training_rows(place, salience, tmp_path):
    """Not of those held out for validation or testing."""
    words = write_csv(tmp_path / "other.csv", [("unheardof goal", "sport"), ("nowhere song", "music")])
    answer = salience(*arguments(place, tmp_path / "run", "--test", words, "--validation", words))
    assert answer.code == 0, answer.err
    _, tokenizer = load_trained(tmp_path / "run")
    assert not {"unheardof", "nowhere"} & set(tokenizer.get_vocab())


def test_it_predicts(run, place, salience):
    answer = salience("predict", run, place.test)
    assert answer.code == 0, answer.err
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    expected = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    assert [row["predicted"] for row in rows] == [row["predicted"] for row in expected]


def test_the_recipe_repeats_the_run_exactly(run, salience, tmp_path):
    recipe = yaml.safe_load((run / "recipe.yaml").read_text())
    assert recipe["model"] == "attention:dot"
    assert recipe["model_options"] == {"encoder": "embeddings", "scale": 10.0, "width": 8}
    answer = salience("train", "--config", run / "recipe.yaml", "--output", tmp_path / "again")
    assert answer.code == 0, answer.err
    assert weights(tmp_path / "again") == weights(run)
    assert yaml.safe_load((tmp_path / "again" / "recipe.yaml").read_text()) == recipe


def test_options_change_the_run(run, place, salience, tmp_path):
    found = {weights(run)}
    for number, options in enumerate((["scale=1"], ["scale=10", "--set", "alignment=5"])):
        folder = tmp_path / str(number)
        answer = salience(*arguments(place, folder, "--set-model", "width=8", "--set-model", *options))
        assert answer.code == 0, answer.err
        found.add(weights(folder))
    assert len(found) == 3


def test_vectors_from_a_file(place, salience, tmp_path):
    vectors = tmp_path / "glove.txt"
    vectors.write_text("goal 1 2 3\nsong 4 5 6\nunheardof 7 8 9\n")
    answer = salience(*arguments(place, tmp_path / "run", "--set-model", f"embeddings={vectors}", encoder="lstm"))
    assert answer.code == 0, answer.err
    assert f"{vectors}: vectors of width 3 for 2 of 25 words" in answer.out
    model, _ = load_trained(tmp_path / "run")
    assert (model.config.embedding_size, model.config.hidden_size) == (3, 100)


def test_vat_by_turns(place, salience, tmp_path):
    options = ["--set", "iterations=1", "--set", "beta=0.5", "--set-model", "width=8", "--estimate", "none"]
    answer = salience(*arguments(place, tmp_path / "run", *options, model="lstm-vat", encoder=None))
    assert answer.code == 0, answer.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert [row["iteration"] for row in metrics["iterations"]] == [0, 1]
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())
    assert recipe["procedure_options"] == {"iterations": 1, "beta": 0.5}
    turns = [line for line in answer.out.splitlines() if line.startswith("iteration")]
    assert turns == [
        "iteration 0 of 1: encoder, attention and head are trained",
        "iteration 1 of 1: the compressor trains the attention",
        "iteration 1 of 1: encoder and head are trained",
    ]
    card = (tmp_path / "run" / "README.md").read_text()
    (kept,) = (row["iteration"] for row in metrics["iterations"] if row["kept"])
    steps = " + ".join(str(row["steps"]) for row in metrics["iterations"])
    assert "on `lstm-vat`: " in card
    assert (
        f"{steps} steps of 16 texts in iterations 0 to 1 of VAT, beta 0.5, of which iteration {kept} was selected"
        in card
    )


def test_over_a_transformer_from_a_folder(place, salience, tmp_path):
    folder = tmp_path / "run"
    answer = salience(*arguments(place, folder, model="bert-att", encoder=str(place.model)))
    assert answer.code == 0, answer.err
    assert load_trained(folder)[0].config.encoder_config.model_type == "bert"
    assert salience("predict", folder, place.test).code == 0


def test_the_card_says_what_the_checkpoint_needs(place, salience, tmp_path):
    """transformers loads a plain checkpoint by itself, and ours when it has been told of it."""
    needed = "import salience.papers.attention_classifiers.classifier"
    assert salience(*arguments(place, tmp_path / "ours")).code == 0
    card = (tmp_path / "ours" / "README.md").read_text()
    assert needed in card and "on `attention:dot`: " in card and "VAT" not in card
    assert salience(*place.train("--output", tmp_path / "plain")).code == 0
    card = (tmp_path / "plain" / "README.md").read_text()
    assert needed not in card
    assert "plain Hugging Face checkpoint" in card


def test_no_path_of_this_machine_is_published(place, salience, tmp_path):
    folder = tmp_path / "run"
    assert salience(*arguments(place, folder, encoder=str(place.model))).code == 0
    for name in ("config.json", "tokenizer_config.json"):
        assert str(place.folder) not in (folder / name).read_text()


@pytest.mark.parametrize(
    "method", ["senmixup", *(pytest.param(each, marks=pytest.mark.whole) for each in ("randomunk", "plain"))]
)
def test_methods_train_over_bare_embeddings(method, place, salience, tmp_path):
    answer = salience(*arguments(place, tmp_path / "run", "--method", method))
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("method", ["tmix", pytest.param("senmixup", marks=pytest.mark.whole)])
def test_methods_train_over_an_lstm(method, place, salience, tmp_path):
    answer = salience(
        *arguments(place, tmp_path / "run", "--method", method, "--set-model", "width=8", encoder="lstm")
    )
    assert answer.code == 0, answer.err


def test_pairs_of_texts_train_and_are_predicted(place, salience, tmp_path):
    rows = [(text, other, label) for text, other, label in zip(TEXTS, TEXTS[::-1], LABELS, strict=True)]
    data = write_csv(tmp_path / "pairs.csv", rows, ("premise", "hypothesis", "label"))
    answer = salience("train", data, *arguments(place, tmp_path / "run", "--test", data, encoder="lstm")[2:])
    assert answer.code == 0, answer.err
    assert 'second text column: "hypothesis" (guessed)' in answer.out
    assert salience("predict", tmp_path / "run", data).code == 0


# --------------------------------------------------------------------------------------------------- what is refused

BAD = {  # what is asked for: the options, and what the line says
    "an unknown pooling": (["--model", "attention:dott"], ['"dott"', 'Did you mean "dot"?']),
    "no pooling": (["--model", "attention:"], ["unknown --model attention:"]),
    "an unknown field": (["--set-model", "widht=8"], ['"widht"', 'Did you mean "width"?']),
    "no assignment": (["--set-model", "width"], ["--set-model width: write it as field=value"]),
    "a scale of nothing": (["--set-model", "scale=0"], ["scale=0: give a number above 0"]),
    "an unknown head": (["--set-model", "head=mlp"], ['unknown head "mlp"; known: linear, perceptron']),
    "no number": (["--set-model", "width=wide"], ["width"]),
    "no heads": (["--set-model", "pooling_heads=0"], ["pooling_heads"]),
    "a negative width": (["--set-model", "width=-3"], ["width"]),
    "a missing file of vectors": (["--set-model", "embeddings=nowhere.txt"], ["nowhere.txt: the file cannot be read"]),
    "a missing encoder": (["--set-model", "encoder=./nowhere"], ["no model at ./nowhere"]),
    "a method without its layer": (["--method", "tmix"], ["TMix cannot be used with this model", "has no level 1"]),
    "a method without its attention": (["--method", "attentionmix"], ["no self-attention to read"]),
    "alignment of two heads": (["--set", "alignment=1", "--set-model", "pooling_heads=2"], ["V^T W is defined"]),
    "alignment of a mean": (["--set", "alignment=1", "--model", "attention:mean"], ["V^T W is defined"]),
    "a form without a price": (
        ["--set", "alignment_form=square"],
        ["square has no effect without a weight"],
    ),
    "an unknown form": (
        ["--set", "alignment=1", "--set", "alignment_form=cube"],
        ['unknown --set alignment_form "cube"; known: absolute, square'],
    ),
    "a negative price": (["--set", "beta=-1"], ["--set beta is -1: give a number from 0"]),
    "turns of a model that takes none": (["--set", "beta=1"], ["beta would have no effect", "attention:variational"]),
    "a scale without scores": (["--model", "lstm-base", "--set-model", "scale=2"], ["scale would have no effect"]),
    "heads of a mean": (["--model", "attention:mean", "--set-model", "pooling_heads=2"], ["would have no effect"]),
    "a latent size without VAT": (["--set-model", "latent_size=8"], ["latent_size would have no effect"]),
    "a shared head of another width": (
        ["--model", "lstm-vat", "--set-model", "shared_head=true", "--set-model", "latent_size=8"],
        ["a shared head reads vectors of the width"],
    ),
    "a shared head without VAT": (["--set-model", "shared_head=true"], ["shared_head would have no effect"]),
    "an unknown inference": (
        ["--model", "lstm-vat", "--set-model", "inference=both"],
        ['unknown inference "both"; known: compressor, learner'],
    ),
    "a compressor that is never trained": (
        ["--model", "lstm-vat", "--set-model", "inference=compressor", "--set", "iterations=0"],
        ["iterations=0 trains no compressor"],
    ),
    "alignment by turns": (
        ["--set", "alignment=1", "--model", "attention:variational"],
        ["VAT is trained by turns"],
    ),
    "two ways to pool": (["--set-model", "pooling=mean"], ["--model attention:dot says how to pool already"]),
    "turns without a number": (["--set", "iterations=-1"], ["--set iterations is -1: give a whole number"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_one_line(case, place, salience, tmp_path):
    options, parts = BAD[case]
    refused(salience(*arguments(place, tmp_path / "run", *options)), *parts)
    assert not list(tmp_path.iterdir())  # and nothing is left, not even to be resumed


@pytest.mark.parametrize("option", ["scale=2", "encoder=lstm", "width=8"])
def test_other_models_take_no_such_options(option, place, salience, tmp_path):
    refused(salience(*place.train("--output", tmp_path / "run", "--set-model", option)), "takes no", "attention:dot")
    assert not list(tmp_path.iterdir())


def test_other_models_have_no_alignment(place, salience, tmp_path):
    refused(salience(*place.train("--output", tmp_path / "run", "--set", "alignment=1")), "V^T W is defined")
    assert not list(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------------------------- estimator


def estimator(**settings) -> SalienceClassifier:
    usual = {"model": "attention:dot", "model_options": {"encoder": "embeddings", "width": 16}, "steps": 40,
             "learning_rate": 0.02, "device": "cpu"}  # fmt: skip
    return SalienceClassifier(**(usual | settings))


@pytest.fixture(scope="module")
def fitted():
    return estimator().fit(TEXTS, LABELS)


def test_the_estimator_learns(fitted):
    texts, labels = zip(*labelled_rows(30, seed=5), strict=True)
    assert isinstance(fitted.model_, AttentionClassifier)
    assert fitted.score(texts, labels) > 0.6
    assert fitted.predict_proba(texts).sum(1) == pytest.approx(np.ones(30), abs=1e-5)


def test_the_estimator_is_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path)
    loaded = SalienceClassifier.load(tmp_path)
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert loaded.predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()


def test_a_run_of_the_command_line_is_an_estimator(run):
    loaded = SalienceClassifier.load(run)
    expected = [json.loads(line)["predicted"] for line in (run / "predictions.jsonl").read_text().splitlines()]
    texts = [text for text, _ in labelled_rows(30, seed=1)]
    assert loaded.predict(texts).tolist() == expected


def test_parameters_are_set_and_cloned():
    copy = clone(estimator()).set_params(model_options={"encoder": "lstm"})
    assert copy.get_params() == estimator().get_params() | {"model_options": {"encoder": "lstm"}}


@pytest.mark.parametrize("model", ["lstm-att", "lstm-vat"])
def test_presets_fit(model):
    found = estimator(model=model, model_options={"width": 8}, steps=3).fit(TEXTS, LABELS)
    assert found.predict(TEXTS[:4]).shape == (4,)


def test_the_same_seed_gives_the_same_model():
    one, other, third = (estimator(steps=4, random_state=seed).fit(TEXTS, LABELS) for seed in (3, 3, 4))
    assert np.array_equal(one.predict_proba(TEXTS), other.predict_proba(TEXTS))
    assert not np.array_equal(one.predict_proba(TEXTS), third.predict_proba(TEXTS))


def test_the_estimator_takes_pairs():
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    found = estimator(steps=3, model_options={"encoder": "lstm", "width": 8}).fit(pairs, LABELS)
    assert found.predict(np.array(pairs)).shape == (60,)


@pytest.mark.parametrize("encoder", ["embeddings", "lstm"])
def test_texts_that_say_nothing_are_predicted_too(encoder):
    """Empty, blank, and unknown words only; alone and among others."""
    found = estimator(steps=3, model_options={"encoder": encoder, "width": 8}).fit(TEXTS, LABELS)
    together = found.predict_proba(["", "goal", "   ", "unheardof"])
    assert np.isfinite(together).all()
    for place, text in ((0, ""), (2, "   "), (3, "unheardof")):
        assert found.predict_proba([text])[0] == pytest.approx(together[place], abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "attention:dott"}, 'Did you mean "dot"'),
        ({"model_options": {"widht": 3}}, 'Did you mean "width"'),
        ({"model": "minilm"}, "takes no encoder, width"),
        ({"procedure": Turns(iterations=2)}, "Turns|turns"),
        ({"model_options": {"encoder": "lstm", "pooling_heads": 3}}, "pooling_heads 3"),
    ],
)
def test_bad_settings_are_a_value_error(settings, message):
    with pytest.raises(ValueError, match=message):
        estimator(**settings).fit(TEXTS, LABELS)
