"""Which pooling a classifier gets: what the files of sentence-transformers say, names, and what is already there."""

import json

import pytest
import torch

import families
from salience.errors import InputError
from salience.hooks.stages import encoder_of
from salience.models.loading import embedded_folder, load_classifier, load_trained, sentence_pooling
from salience.models.mean_pooling import NARROW
from salience.models.sentence_modules import PooledClassifier, declared_modes
from salience.training.head import can_begin, used_head_start, used_pooling, with_pooling

MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def sentence_model(folder, settings, modules=MODULES, family="bert", classes=2):
    families.save_tiny_model(folder, ["a good film"], family=family, classes=classes)
    if modules is not None:
        (folder / "modules.json").write_text(json.dumps(modules))
    path = next((module["path"] for module in modules or [] if module["type"].endswith("Pooling")), "1_Pooling")
    (folder / path).mkdir(exist_ok=True)
    (folder / path / "config.json").write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return str(folder)


@pytest.mark.parametrize(
    ("settings", "modes", "pooling"),
    [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, {"mean"}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, {"cls_token"}, "first"),
        ({"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True}, {"max", "mean"}, None),
        ({"embedding_dimension": 16, "pooling_mode": "mean", "include_prompt": True}, {"mean"}, "mean"),
        ({"pooling_mode": "cls"}, {"cls"}, "first"),
        ({"pooling_mode": ["mean", "max"]}, {"max", "mean"}, None),
        ("{", None, None),
        ("[]", None, None),
    ],
)
def test_what_sentence_transformers_writes(settings, modes, pooling, tmp_path):
    """Flags in earlier versions, one setting in version 6 (6.2, `Pooling.config_keys`)."""
    name = sentence_model(tmp_path, settings)
    assert declared_modes(name) == modes and sentence_pooling(name) == pooling


def test_the_folder_is_named_in_modules_and_lies_in_the_model(tmp_path):
    kind = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
    renamed = [MODULES[0], {**MODULES[1], "path": "2_Pooling", "type": kind}]
    assert declared_modes(sentence_model(tmp_path / "renamed", {"pooling_mode": "mean"}, renamed)) == {"mean"}
    assert declared_modes(sentence_model(tmp_path / "without", {"pooling_mode": "mean"}, None)) == {"mean"}
    elsewhere = [MODULES[0], {**MODULES[1], "path": "../renamed/2_Pooling"}]
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "modules.json").write_text(json.dumps(elsewhere))
    assert declared_modes(str(tmp_path / "outside")) is None
    (tmp_path / "outside" / "modules.json").write_text('{"not": "a list"}')
    assert declared_modes(str(tmp_path / "outside")) is None


def test_the_packaged_model_says_mean():
    assert declared_modes(str(embedded_folder("minilm"))) == {"mean"}
    model, _ = load_classifier("minilm", ["a", "b"])
    assert used_pooling(with_pooling(model, "minilm", "cls")) == "cls"
    assert used_pooling(with_pooling(model, "minilm", "auto")) == "mean"


def test_known_names_where_no_file_says_it(tmp_path):
    """A folder with nothing but the encoder; a trained classifier of such a name reads its first token."""
    for kind, expected in (("BertModel", "mean"), ("BertForSequenceClassification", None)):
        folder = tmp_path / kind / "all-MiniLM-L12-v2"
        families.save_tiny_model(folder, ["a"])
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"architectures": [kind]}))
        assert sentence_pooling(str(folder)) == expected
    other = families.save_tiny_model(tmp_path / "other", ["a"])
    assert sentence_pooling(str(other)) is None


@pytest.mark.parametrize(
    ("family", "settings", "expected"),
    [
        ("bert", {"pooling_mode": "mean"}, "mean"),
        ("roberta", {"pooling_mode": "cls"}, "first"),
        ("modernbert", {"pooling_mode": "mean"}, "mean"),
        ("bert", {"pooling_mode": "max"}, "cls"),
    ],
)
def test_auto_in_a_plain_checkpoint(family, settings, expected, tmp_path):
    name = sentence_model(tmp_path, settings, family=family)
    model, _ = load_classifier(name, ["a", "b"])
    before = {key: value.clone() for key, value in model.state_dict().items()}
    chosen = with_pooling(model, name, "auto")
    assert used_pooling(chosen) == expected and not isinstance(chosen, PooledClassifier)
    if expected == "cls":
        assert all(torch.equal(value, before[key]) for key, value in chosen.state_dict().items())


def test_the_first_token_through_a_pooler_that_is_nearly_the_identity(tmp_path):
    """Logits are a linear map of the first token's state, up to the cubic term of tanh; no pooler is trained."""
    name = sentence_model(tmp_path / "encoder", {"pooling_mode": "cls"}, classes=3)
    loaded, tokenizer = load_classifier(name, ["a", "b"])
    model = with_pooling(loaded, name, "auto").eval()
    assert not any(weight.requires_grad for weight in model.bert.pooler.parameters())
    inputs = tokenizer(["a good film", "film"], padding=True, return_tensors="pt")
    first = encoder_of(model)(**inputs).last_hidden_state[:, 0]
    expected = NARROW * first @ model.classifier.weight.T + model.classifier.bias
    torch.testing.assert_close(model(**inputs).logits, expected, rtol=0, atol=2e-3 * expected.abs().max().item())
    model.save_pretrained(tmp_path / "run")
    tokenizer.save_pretrained(tmp_path / "run")
    again, _ = load_classifier(str(tmp_path / "run"), ["a", "b"])
    again = with_pooling(again, str(tmp_path / "run"), "auto")
    assert used_pooling(again) == "first" and torch.equal(again.classifier.weight, model.classifier.weight)
    assert not any(weight.requires_grad for weight in again.bert.pooler.parameters())


@pytest.mark.parametrize(
    ("family", "settings", "pooling"),
    [("mpnet", {"pooling_mode": "mean"}, "mean"), ("distilbert", {"pooling_mode": "cls"}, "first")],
)
def test_auto_in_modules(family, settings, pooling, tmp_path):
    """The logits are those of sentence-transformers, which loads the folder as it loads any other model."""
    from sentence_transformers import SentenceTransformer

    name = sentence_model(tmp_path / "encoder", settings, family=family, classes=3)
    loaded, tokenizer = load_classifier(name, ["a", "b"])
    model = with_pooling(loaded, name, "auto")
    assert used_pooling(model) == pooling and can_begin(model)
    assert used_head_start(name, model, pooled=True) == "logistic"
    saved = str(tmp_path / "run")
    model.save_pretrained(saved)
    tokenizer.save_pretrained(saved)
    texts = ["a good film", "film"]
    for classifier in (model.eval(), load_trained(saved)[0].eval()):
        logits = classifier(**tokenizer(texts, padding=True, return_tensors="pt")).logits
        theirs = SentenceTransformer(saved, device="cpu").encode(texts, convert_to_tensor=True)
        torch.testing.assert_close(logits, theirs, rtol=1e-4, atol=1e-5)


def test_a_head_in_modules_is_trained_further_and_drawn_anew_for_other_labels(tmp_path):
    model = families.MODELS["mpnet, mean"](0, 3)
    families.save_tiny_model(tmp_path, ["a"], family="mpnet, mean", classes=3)
    stored = load_trained(str(tmp_path))[0].classifier.weight
    for labels in (["0", "1", "2"], ["0", "1"]):
        loaded, _ = load_classifier(str(tmp_path), labels)
        model = with_pooling(loaded, str(tmp_path), "cls")  # the pooling is kept
        same = model.classifier.weight.shape == stored.shape
        assert same == (len(labels) == 3) == (used_head_start(str(tmp_path), model, pooled=True) == "random")
        assert not same or torch.equal(model.classifier.weight, stored)


def test_modules_that_are_damaged_or_another_models(tmp_path):
    families.save_tiny_model(tmp_path, ["a"], family="mpnet, mean", classes=3)
    weights = tmp_path / "2_Dense" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:40])
    with pytest.raises(InputError, match="cannot load the model"):
        load_trained(str(tmp_path))
    weights.unlink()
    with pytest.raises(InputError, match="holds no trained classifier"):
        load_trained(str(tmp_path))
    weights.write_bytes(whole)
    settings = tmp_path / "2_Dense" / "config.json"
    settings.write_text(settings.read_text().replace('"out_features": 3', '"out_features": 16'))
    with pytest.raises(InputError, match="holds no trained classifier"):
        load_trained(str(tmp_path))


@pytest.mark.parametrize("pooling", ["cls", "auto", "mean"])
def test_a_pooling_layer_is_kept_and_never_doubled(pooling, tmp_path):
    families.save_tiny_model(tmp_path, ["a"], family="bert, mean", classes=2, dropout=0.5)
    loaded, _ = load_classifier(str(tmp_path), ["0", "1"])
    stored = loaded.classifier.weight.clone()
    model = with_pooling(loaded, str(tmp_path), pooling)
    assert model.config.num_hidden_layers == 3 and used_pooling(model) == "mean"
    assert torch.equal(model.classifier.weight, stored)
    layer = model.bert.encoder.layer[-1]
    assert not any(weight.requires_grad for weight in layer.parameters())
    assert layer.attention.output.dropout.p == 0 and model.bert.encoder.layer[0].attention.output.dropout.p == 0.5


def test_a_pooling_layer_under_a_new_head(tmp_path):
    """The head is drawn as wide as on the mean: 1 / NARROW times as wide as transformers draws it."""
    families.save_tiny_model(tmp_path, ["a"], family="bert, mean", classes=2)
    torch.manual_seed(0)
    loaded, _ = load_classifier(str(tmp_path), [str(number) for number in range(200)])
    model = with_pooling(loaded, str(tmp_path), "mean")
    assert used_pooling(model) == "mean"
    assert model.classifier.weight.std().item() == pytest.approx(model.config.initializer_range / NARROW, rel=0.05)


def test_a_layer_that_learnt_to_attend_is_not_trained_further(tmp_path):
    """As in runs with the retired pooling trained-mean."""
    families.save_tiny_model(tmp_path, ["a"], family="bert, mean", classes=2)
    model, _ = load_classifier(str(tmp_path), ["a", "b"])
    model.config.pooling_layer = "trained-mean"
    with pytest.raises(InputError, match="trained-mean, which is retired"):
        with_pooling(model, str(tmp_path), "auto")
