"""Building attention classifiers from their settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from salience.errors import InputError, one_line
from salience.models.attention_classifier import AttentionClassifier, without_pooler
from salience.models.attention_config import AttentionClassifierConfig
from salience.models.attention_options import PREFIX, PRESETS, WORD_ENCODERS, AttentionOptions, attention_options
from salience.models.loading import load_encoder, load_tokenizer
from salience.models.sources import model_source
from salience.models.vocabulary import SPECIAL, word_tokenizer
from salience.models.word_vectors import fill, glove_vectors, read_word_vectors, word_piece_vectors

__all__ = ["PRESETS", "WORD_ENCODERS", "AttentionOptions", "attention_options", "build_attention_classifier"]


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
        split: whether a word encoder separates words and punctuation marks. False is for tokenised texts, whose
            words are separated by white space.

    Raises:
        InputError: settings that do not go together, or a file that cannot be read.
    """
    common = {
        "pooling": options.pooling, "scale": options.scale, "pooling_heads": options.pooling_heads,
        "head": options.head, "latent_size": options.latent_size, "shared_head": options.shared_head,
        "inference": options.inference, "num_labels": len(labels),
        "id2label": dict(enumerate(labels)), "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": "single_label_classification",
    }  # fmt: skip
    if options.encoder in WORD_ENCODERS:
        return _over_words(options, common, texts, note, split)
    return _over_transformer(options, common)


def _over_words(
    options: AttentionOptions, common: dict[str, Any], texts: Iterable[str], note: Callable[[str], None], split: bool
) -> tuple[AttentionClassifier, PreTrainedTokenizerBase]:
    tokenizer = word_tokenizer(texts, options.minimum_frequency, split)
    vocabulary = {word: number for word, number in tokenizer.get_vocab().items() if word not in SPECIAL}
    width = 100 if options.width is None else options.width
    vectors: dict[int, Tensor] = {}
    if options.embeddings == "minilm":
        vectors, embedding_size = minilm_vectors(vocabulary)
    elif options.embeddings is not None:
        read = glove_vectors if options.embeddings == "glove" else partial(read_word_vectors, options.embeddings)
        vectors, embedding_size = read(vocabulary)
        note(f"{options.embeddings}: vectors of width {embedding_size} for {len(vectors)} of {len(vocabulary)} words")
    else:
        embedding_size = width
    model = _configured(
        common
        | {
            "encoder": options.encoder, "vocab_size": len(tokenizer), "embedding_size": embedding_size,
            "hidden_size": width, "bidirectional": options.bidirectional,
            "embedding_dropout": 0.5 if options.embedding_dropout is None else options.embedding_dropout,
            "dropout": 0.5 if options.dropout is None else options.dropout,
            "special_token_ids": [tokenizer.sep_token_id], "pad_token_id": tokenizer.pad_token_id,
        }
    )  # fmt: skip
    if vectors:
        scaled = {token: options.embedding_scale * vector for token, vector in vectors.items()}
        fill(model.get_input_embeddings().weight, scaled)
    return model, tokenizer


def _over_transformer(
    options: AttentionOptions, common: dict[str, Any]
) -> tuple[AttentionClassifier, PreTrainedTokenizerBase]:
    encoder, tokenizer = load_encoder(options.encoder)
    special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
    model = _configured(
        common
        | {
            "encoder": "transformer", "encoder_config": encoder.config, "special_token_ids": special,
            "dropout": 0.1 if options.dropout is None else options.dropout,
            "pad_token_id": tokenizer.pad_token_id,
        }
    )  # fmt: skip
    model.encoder = without_pooler(encoder)
    return model, tokenizer


def _configured(settings: dict[str, Any]) -> AttentionClassifier:
    try:
        return AttentionClassifier(AttentionClassifierConfig(**settings))
    except ValueError as error:
        raise InputError(f"--model {PREFIX}{settings['pooling']}: {error}") from error
    except (MemoryError, RuntimeError) as error:  # torch raises a RuntimeError when there is not enough memory
        reason = one_line(error)
        raise InputError(f"--model {PREFIX}{settings['pooling']} cannot be built: {reason[:300]}") from error


def minilm_vectors(vocabulary: dict[str, int]) -> tuple[dict[int, Tensor], int]:
    """Vectors of words from the word-piece embeddings of the default model.

    Args:
        vocabulary: word to token id.

    Returns:
        Token id to vector (E,), and the width E.
    """
    from safetensors import safe_open

    with safe_open(f"{model_source('minilm')}/model.safetensors", "pt") as weights:
        name = next(name for name in weights.keys() if name.endswith("word_embeddings.weight"))  # noqa: SIM118
        table = weights.get_tensor(name)
    return word_piece_vectors(vocabulary, load_tokenizer("minilm"), table), table.shape[1]
