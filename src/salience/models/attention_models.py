"""From a name and a few settings to an attention classifier: `attention:dot`, and the presets of two papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from salience.errors import InputError, nearest, quoted, unknown
from salience.models.attention_classifier import AttentionClassifier, without_pooler
from salience.models.attention_config import AttentionClassifierConfig
from salience.models.loading import load_encoder, load_tokenizer
from salience.models.poolings import ATTENDING, POOLINGS
from salience.models.sources import model_source
from salience.models.vocabulary import SPECIAL, word_tokenizer
from salience.models.word_vectors import fill, read_word_vectors, word_piece_vectors
from salience.settings import BOOL, COUNT, POSITIVE, SHARE, TEXT, check_fields

WORD_ENCODERS = ("embeddings", "affine", "lstm")
PREFIX = "attention:"


@dataclass(frozen=True)
class AttentionOptions:
    """What can be set of an attention classifier. None stands for what suits the encoder."""

    encoder: str = "minilm"  # or "embeddings", "affine", "lstm"; or any encoder by folder or name
    pooling: str = "additive"
    scale: float = 1.0  # lambda, which divides attention scores
    pooling_heads: int = 1
    head: str = "linear"  # or "perceptron"
    embeddings: str | None = None  # a file of word vectors, or "minilm": its word pieces' rows
    width: int | None = None  # of embeddings that no file gives, and of the affine layer and the LSTM: 100
    bidirectional: bool = False
    minimum_frequency: int = 1  # rarer words are unknown
    embedding_dropout: float | None = None  # 0.5 of word encoders; a transformer has its own
    dropout: float | None = None  # of the pooled vector: 0.5, over a transformer 0.1
    latent_size: int | None = None  # of VAT's compressed vector: the encoder's width
    shared_head: bool = False  # VAT's compressor classifies by the learner's head
    inference: str = "learner"  # or "compressor": by which of VAT's two texts are classified

    def __post_init__(self):
        try:
            check_fields(self, KINDS)
        except ValueError as error:
            raise InputError(str(error)) from error
        if self.pooling not in POOLINGS:
            raise unknown("pooling", self.pooling, POOLINGS)
        if self.pooling not in ATTENDING and (idle := self.changed(OF_ATTENTION)):
            raise InputError(f"{idle} would have no effect: {self.pooling} pooling has no attention scores")
        if self.pooling != "variational" and (idle := self.changed(OF_COMPRESSOR)):
            raise InputError(f"{idle} would have no effect: only variational pooling (VAT) compresses")
        if self.encoder in WORD_ENCODERS:
            return
        if idle := self.changed(OF_WORDS):
            raise InputError(
                f"{idle} would have no effect: {self.encoder!r} is a transformer, and this is for "
                f"{', '.join(WORD_ENCODERS)}"
            )
        if (near := nearest(self.encoder, WORD_ENCODERS)) and not Path(self.encoder).is_dir():
            raise InputError(f"unknown encoder {quoted(self.encoder)}.{near}")

    def changed(self, names: Sequence[str]) -> str:
        """Those of the fields that are set to something else than their default, between commas."""
        return ", ".join(
            field.name for field in fields(self) if field.name in names and getattr(self, field.name) != field.default
        )


KINDS = {
    "encoder": TEXT, "pooling": TEXT, "head": TEXT, "embeddings": TEXT.or_none(),
    "scale": POSITIVE, "pooling_heads": COUNT, "width": COUNT.or_none(), "minimum_frequency": COUNT,
    "latent_size": COUNT.or_none(), "embedding_dropout": SHARE.or_none(), "dropout": SHARE.or_none(),
    "bidirectional": BOOL, "shared_head": BOOL, "inference": TEXT,
}  # fmt: skip
OF_WORDS = ("embeddings", "width", "bidirectional", "minimum_frequency", "embedding_dropout")
OF_ATTENTION, OF_COMPRESSOR = ("scale", "pooling_heads"), ("latent_size", "shared_head", "inference")


# Zhou et al., Findings of ACL 2021, Table 2; "bert" is the default model, or whatever `encoder` names.
PRESETS = {
    "lstm-base": AttentionOptions("lstm", "max", head="perceptron"),
    "lstm-att": AttentionOptions("lstm", "additive", head="perceptron"),
    "lstm-vat": AttentionOptions("lstm", "variational", head="perceptron"),
    "bert-base": AttentionOptions("minilm", "first", head="perceptron"),
    "bert-att": AttentionOptions("minilm", "additive", head="perceptron"),
    "bert-vat": AttentionOptions("minilm", "variational", head="perceptron"),
}


def attention_options(model: str, options: dict) -> AttentionOptions | None:
    """What `--model` and its options stand for; None if the model is none of ours.

    Raises:
        InputError: an unknown pooling or option; names the nearest.
    """
    if model in PRESETS:
        preset = PRESETS[model]
    elif model.startswith(PREFIX):
        name = model.removeprefix(PREFIX)
        if name not in POOLINGS:
            raise unknown(f"--model {PREFIX}", name, POOLINGS)
        preset = AttentionOptions(pooling=name)
    elif options:
        raise InputError(
            f"--model {model} takes no {', '.join(options)}: these are for {PREFIX}dot, its relatives, and the "
            f"presets {', '.join(PRESETS)}"
        )
    else:
        return None
    names = [field.name for field in fields(AttentionOptions) if field.name != "pooling"]
    if "pooling" in options:
        raise InputError(f"--model {model} says how to pool already; another way is --model {PREFIX}NAME")
    for name in options:
        if name not in names:
            raise unknown(f"option of --model {model}:", name, names)
    return replace(preset, **options)


def build_attention_classifier(
    options: AttentionOptions,
    labels: Sequence[str],
    texts: Iterable[str],
    note: Callable[[str], None] = print,
    split: bool = True,
) -> tuple[AttentionClassifier, object]:
    """A fresh attention classifier for `labels`, and its tokenizer.

    Args:
        texts: the training texts, from which a word encoder's vocabulary is taken.
        split: False where words are what stands between spaces in `texts`.

    Raises:
        InputError: an option that does not fit, or a file that is at fault.
    """
    common = {
        "pooling": options.pooling, "scale": options.scale, "pooling_heads": options.pooling_heads,
        "head": options.head, "latent_size": options.latent_size, "shared_head": options.shared_head,
        "inference": options.inference, "num_labels": len(labels),
        "id2label": dict(enumerate(labels)), "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": "single_label_classification",
    }  # fmt: skip
    if options.encoder in WORD_ENCODERS:
        return over_words(options, common, texts, note, split)
    return over_transformer(options, common)


def over_words(options: AttentionOptions, common: dict, texts: Iterable[str], note: Callable, split: bool):
    tokenizer = word_tokenizer(texts, options.minimum_frequency, split)
    vocabulary = {word: number for word, number in tokenizer.get_vocab().items() if word not in SPECIAL}
    width, vectors = 100 if options.width is None else options.width, {}
    if options.embeddings == "minilm":
        vectors, embedded = minilm_vectors(vocabulary)
    elif options.embeddings is not None:
        vectors, embedded = read_word_vectors(options.embeddings, vocabulary)
        note(f"{options.embeddings}: vectors of width {embedded} for {len(vectors)} of {len(vocabulary)} words")
    else:
        embedded = width
    model = configured(
        common
        | {
            "encoder": options.encoder, "vocab_size": len(tokenizer), "embedding_size": embedded,
            "hidden_size": width, "bidirectional": options.bidirectional,
            "embedding_dropout": 0.5 if options.embedding_dropout is None else options.embedding_dropout,
            "dropout": 0.5 if options.dropout is None else options.dropout,
            "special_token_ids": [tokenizer.sep_token_id], "pad_token_id": tokenizer.pad_token_id,
        }
    )  # fmt: skip
    if vectors:
        fill(model.get_input_embeddings().weight, vectors)
    return model, tokenizer


def over_transformer(options: AttentionOptions, common: dict):
    encoder, tokenizer = load_encoder(options.encoder)
    special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
    model = configured(
        common
        | {
            "encoder": "transformer", "encoder_config": encoder.config, "special_token_ids": special,
            "dropout": 0.1 if options.dropout is None else options.dropout,
            "pad_token_id": tokenizer.pad_token_id,
        }
    )  # fmt: skip
    model.encoder = without_pooler(encoder)
    return model, tokenizer


def configured(settings: dict) -> AttentionClassifier:
    try:
        return AttentionClassifier(AttentionClassifierConfig(**settings))
    except ValueError as error:
        raise InputError(f"--model {PREFIX}{settings['pooling']}: {error}") from error
    except (MemoryError, RuntimeError) as error:  # torch says that there is not enough memory as a RuntimeError
        reason = " ".join(str(error).split())
        raise InputError(f"--model {PREFIX}{settings['pooling']} cannot be built: {reason[:300]}") from error


def minilm_vectors(vocabulary: dict[str, int]):
    from safetensors import safe_open

    with safe_open(f"{model_source('minilm')}/model.safetensors", "pt") as weights:
        name = next(name for name in weights.keys() if name.endswith("word_embeddings.weight"))  # noqa: SIM118
        table = weights.get_tensor(name)
    return word_piece_vectors(vocabulary, load_tokenizer("minilm"), table), table.shape[1]
