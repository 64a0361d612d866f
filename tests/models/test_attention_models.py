"""Attention classifiers by name: what names and options stand for, what is built of them, and what is refused."""

import pytest
import torch
from transformers import AutoModelForSequenceClassification

import families
from reference import close
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.models.architectures import NAMES, own_settings
from salience.models.loading import longest_text
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.layers import Additive, Dot, First, Max
from salience.papers.attention_classifiers.options import (
    POOLINGS,
    PREFIX,
    PRESETS,
    WORD_ENCODERS,
    AttentionOptions,
    attention_options,
)
from word_models import bits

TEXTS = ["a good film", "a bad film", "bad bad acting, don't go"]
LABELS = ["bad", "good"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return families.save_tiny_model(tmp_path_factory.mktemp("tiny"), TEXTS, dropout=0.1)


def built(name: str, labels=LABELS, split: bool = True, **options):
    """The model and the tokenizer of a name and options, and what was said."""
    notes = []
    torch.default_generator.manual_seed(0)
    model, tokenizer = build_attention_classifier(
        attention_options(name, options), labels, TEXTS, notes.append, split=split
    )
    return model, tokenizer, notes


# -------------------------------------------------------------------------------------------------- names and options


@pytest.mark.parametrize("name", POOLINGS)
def test_every_pooling_has_a_name(name):
    assert attention_options(f"attention:{name}", {}) == AttentionOptions(pooling=name)


@pytest.mark.parametrize(
    ("name", "encoder", "pooling"),
    [
        ("lstm-base", "lstm", "max"),
        ("lstm-att", "lstm", "additive"),
        ("lstm-vat", "lstm", "variational"),
        ("bert-base", "minilm", "first"),
        ("bert-att", "minilm", "additive"),
        ("bert-vat", "minilm", "variational"),
    ],
)
def test_presets_are_the_rows_of_the_papers_table(name, encoder, pooling):
    found = own_settings(name, {})
    assert (found.encoder, found.pooling, found.head, found.scale) == (encoder, pooling, "perceptron", 1.0)
    assert [PREFIX, *PRESETS] == list(NAMES)


def test_options_replace_what_a_name_stands_for():
    found = attention_options("lstm-att", {"head": "linear", "scale": 10, "bidirectional": True})
    assert found == AttentionOptions("lstm", "additive", head="linear", scale=10, bidirectional=True)


@pytest.mark.parametrize("name", ["minilm", "./folder", "distilbert-base-uncased", "attention"])
def test_other_models_are_none_of_ours_and_take_no_options(name):
    assert own_settings(name, {}) is None
    with pytest.raises(InputError, match=f"--model {name} takes no encoder, scale") as refusal:
        own_settings(name, {"encoder": "lstm", "scale": 2})
    assert "attention:dot" in str(refusal.value) and "lstm-vat" in str(refusal.value)


@pytest.mark.parametrize(("name", "nearest"), [("dott", "dot"), ("aditive", "additive"), ("Mean", "mean")])
def test_an_unknown_pooling_names_the_nearest(name, nearest):
    with pytest.raises(InputError, match=f'unknown --model attention: "{name}"') as refusal:
        attention_options(f"attention:{name}", {})
    assert f'Did you mean "{nearest}"?' in str(refusal.value)
    assert "additive, dot, first, max, mean, variational" in str(refusal.value)


@pytest.mark.parametrize("model", ["attention:dot", "lstm-vat"])
@pytest.mark.parametrize(("name", "nearest"), [("scal", "scale"), ("heads", "head"), ("widht", "width")])
def test_an_unknown_option_names_the_nearest(model, name, nearest):
    with pytest.raises(InputError, match=f'unknown option of --model {model}: "{name}"') as refusal:
        attention_options(model, {"encoder": "lstm", name: 1})
    assert f'Did you mean "{nearest}"?' in str(refusal.value)


# ------------------------------------------------------------------------------------------------------ over words


@pytest.mark.parametrize("encoder", WORD_ENCODERS)
def test_options_reach_a_model_over_words(encoder):
    model, tokenizer, notes = built(
        "attention:dot", encoder=encoder, scale=10, pooling_heads=2, width=8, dropout=0.2, embedding_dropout=0.3
    )
    config = model.config
    assert (config.encoder, config.pooling, config.scale, config.pooling_heads) == (encoder, "dot", 10, 2)
    assert (config.embedding_size, config.hidden_size) == (8, 8)
    assert (config.dropout, config.embedding_dropout) == (0.2, 0.3)
    assert (config.vocab_size, config.pad_token_id) == (len(tokenizer), tokenizer.pad_token_id)
    assert config.special_token_ids == [tokenizer.sep_token_id]
    assert config.id2label == {0: "bad", 1: "good"} and config.label2id == {"bad": 0, "good": 1}
    assert config.problem_type == "single_label_classification"
    assert isinstance(model.pooling, Dot) and notes == []
    assert set(tokenizer.get_vocab()) >= {"a", "good", "bad", "film", "acting", ",", "don't", "go"}
    assert longest_text(model, tokenizer) == 512
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    assert model(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask).logits.shape == (3, 2)


def test_what_is_not_set_follows_the_papers():
    model, *_ = built("lstm-vat")
    config = model.config
    assert (config.embedding_size, config.hidden_size, config.bidirectional) == (100, 100, False)
    assert (config.dropout, config.embedding_dropout, config.latent_size) == (0.5, 0.5, None)
    assert model.compressor is not None and isinstance(model.pooling, Additive)
    assert isinstance(built("lstm-base")[0].pooling, Max)


def test_vectors_from_a_file_fill_the_table(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("film 1 2 3\nGood 4 5 6\nunheard 7 8 9\n")
    model, tokenizer, notes = built("attention:dot", encoder="lstm", embeddings=str(file), width=4)
    table, vocabulary = model.get_input_embeddings().weight, tokenizer.get_vocab()
    assert (model.config.embedding_size, model.config.hidden_size) == (3, 4)
    assert table[vocabulary["film"]].tolist() == [1, 2, 3]
    assert table[vocabulary["good"]].tolist() == [4, 5, 6]
    assert table[vocabulary["bad"]].abs().max() <= 0.1
    assert (table[tokenizer.pad_token_id] == 0).all()
    assert table.requires_grad
    assert notes == [f"{file}: vectors of width 3 for 2 of 8 words"]
    bare, *_ = built("attention:dot", encoder="embeddings", embeddings=str(file), width=4)
    assert bare.config.hidden_size == 3  # nothing lies over them


def test_vectors_that_are_read_can_be_scaled(tmp_path):
    """Not those that are drawn: words without a vector begin as before."""
    file = tmp_path / "vectors.txt"
    file.write_text("film 1 2 3\n")
    tables = []
    for factor in (1, 2.5):
        torch.manual_seed(0)
        model, tokenizer, _ = built("attention:dot", encoder="lstm", embeddings=str(file), embedding_scale=factor)
        tables.append(model.get_input_embeddings().weight.detach())
    film = tokenizer.get_vocab()["film"]
    assert tables[1][film].tolist() == [2.5, 5, 7.5]
    tables[1][film] = tables[0][film]
    assert torch.equal(*tables)


def test_vectors_of_minilm_fill_the_table():
    model, tokenizer, _ = built("attention:dot", encoder="embeddings", embeddings="minilm")
    assert model.config.hidden_size == 384
    table, vocabulary = model.get_input_embeddings().weight.detach(), tokenizer.get_vocab()
    near = torch.cosine_similarity(table[vocabulary["good"]], table[vocabulary["bad"]], dim=0)
    far = torch.cosine_similarity(table[vocabulary["good"]], table[vocabulary["go"]], dim=0)
    assert near > far


def test_rare_words_are_left_out():
    _, tokenizer, _ = built("attention:dot", encoder="embeddings", minimum_frequency=2)
    assert set(tokenizer.get_vocab()) == {"[PAD]", "[UNK]", "[SEP]", "a", "bad", "film"}


def test_texts_that_are_tokenised_already():
    _, tokenizer, _ = built("attention:dot", encoder="embeddings", split=False)
    assert "acting," in tokenizer.get_vocab()


def test_the_same_seed_builds_the_same_model():
    assert bits(built("lstm-vat")[0]) == bits(built("lstm-vat")[0])


@pytest.mark.parametrize(
    ("name", "normal"),
    [("lstm-att", False), ("lstm-vat", False), ("attention:variational", False), ("attention:additive", True),
     ("attention:dot", True)],
)  # fmt: skip
def test_attention_begins_as_in_its_paper(name, normal):
    """Sun and Lu's V from N(0, 1); VAT's, and that of its iteration 0, from U(-.1, .1)."""
    query = built(name, encoder="lstm", width=400)[0].pooling.query.detach()
    deviation = 1.0 if normal else 0.2 / 12**0.5
    assert query.std().item() == pytest.approx(deviation, rel=0.15)
    assert (query.abs().max() > 2) if normal else (query.abs().max() <= 0.1)


def test_three_labels():
    assert built("attention:dot", list("xyz"), encoder="affine")[0].head.weight.shape == (3, 100)


# ------------------------------------------------------------------------------------------------- over a transformer


def test_a_transformer_from_a_folder(tiny):
    model, tokenizer, _ = built("attention:additive", encoder=str(tiny))
    original = AutoModelForSequenceClassification.from_pretrained(tiny).bert
    assert model.encoder.pooler is None
    kept = {name: weight for name, weight in original.state_dict().items() if not name.startswith("pooler.")}
    assert model.encoder.state_dict().keys() == kept.keys()
    assert all(torch.equal(weight, kept[name]) for name, weight in model.encoder.state_dict().items())
    config = model.config
    assert (config.encoder, config.hidden_size, config.vocab_size) == ("transformer", 16, len(tokenizer))
    assert config.special_token_ids == [0, 2, 3, 4]  # all but [UNK], which stands for a word
    assert config.pad_token_id == tokenizer.pad_token_id
    assert config.dropout == 0.1 and config.encoder_config.hidden_dropout_prob == 0.1
    assert longest_text(model, tokenizer) == families.POSITIONS


@pytest.mark.parametrize("name", ["attention:dot", "attention:first", "bert-base", "bert-att", "bert-vat"])
def test_models_over_a_transformer_are_saved_and_loaded(name, tiny, tmp_path):
    model, tokenizer, _ = built(name, encoder=str(tiny), dropout=0.3)
    assert model.config.dropout == 0.3
    model.eval().save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert bits(loaded) == bits(model)
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert close(loaded(**encoded).logits, model(**encoded).logits, 1e-6)


def test_bert_base_reads_the_first_token_alone(tiny):
    model, tokenizer, _ = built("bert-base", encoder=str(tiny))
    assert isinstance(model.pooling, First)
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        model.eval()
        states = model.encoder(**encoded).last_hidden_state
        assert close(model(**encoded).logits, model.head(states[:, 0]), 1e-6)


def test_the_default_encoder_is_the_packaged_one():
    model, tokenizer, _ = built("bert-vat", latent_size=8)
    assert (model.config.hidden_size, model.config.encoder_config.num_hidden_layers) == (384, 6)
    assert model.compressor.mean[-1].out_features == 8
    encoded = encode_texts(tokenizer, TEXTS)
    assert encoded.segments[encoded.ids == tokenizer.cls_token_id].tolist() == [0] * 3
    assert tokenizer.cls_token_id in model.config.special_token_ids
    assert tokenizer.unk_token_id not in model.config.special_token_ids


def test_other_families_are_encoders_too(tmp_path):
    for family in ("roberta", "distilbert", "modernbert"):
        folder = families.save_tiny_model(tmp_path / family, TEXTS, family=family)
        model, tokenizer, _ = built("attention:dot", encoder=str(folder))
        encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
        found = model.eval()(**encoded)
        special = torch.isin(encoded.input_ids, torch.tensor(model.config.special_token_ids))
        assert found.logits.shape == (3, 2)
        assert (found.attentions[0][:, 0][special] == 0).all()
        assert longest_text(model, tokenizer) == families.POSITIONS


# ---------------------------------------------------------------------------------------------------- what is refused

BAD = {
    "head": ("mlp", 'unknown head "mlp"; known: linear, perceptron'),
    "scale": (0, "scale=0: give a number above 0"),
    "pooling_heads": (3, "divisible by pooling_heads 3"),
    "dropout": (2, "from 0 to below 1"),
    "embedding_dropout": (-1, "from 0 to below 1"),
    "embedding_scale": (2, "no effect on random embeddings"),
    "embeddings": ("./nowhere.txt", "nowhere.txt: the file cannot be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_options_that_do_not_fit_are_one_line(name):
    value, message = BAD[name]
    with pytest.raises(InputError, match=message) as refusal:
        built("attention:dot", encoder="lstm", **{name: value})
    assert "\n" not in str(refusal.value)


# Numbers that are none, or of no use; from a yaml file or `--set-model` they come as yaml reads them.
WRONG = [
    ("scale", "large"),
    ("pooling_heads", 0),
    ("pooling_heads", -1),
    ("pooling_heads", "two"),
    ("width", "wide"),
    ("width", -8),
    ("width", 8.5),
    ("minimum_frequency", "often"),
    ("dropout", "half"),
    ("latent_size", -1),
    ("bidirectional", "perhaps"),
    ("embeddings", 3),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_options_of_a_wrong_kind_are_one_line_too(name, value):
    with pytest.raises(InputError, match=name):
        built("attention:variational", encoder="lstm", **{name: value})


def test_a_missing_encoder_is_one_line(tiny):
    with pytest.raises(InputError, match="no model at"):
        built("attention:dot", encoder=str(tiny / "nowhere"))
